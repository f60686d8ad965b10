"""Genotypes of a .bed in the cloud: only the bytes that are asked for are fetched."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom._rust import _native
from seqloom.errors import ArgumentError, FormatError, NumberRangeError
from seqloom.io.plink._padding import is_filled_up, look_at_last_places

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._index import Positions
    from seqloom.io.plink._remote import RemoteBed

_HEADER = 3
# How many bytes of numbers are decoded before they are put where they belong.
_AT_ONCE = 8 << 20


@dataclass(frozen=True, slots=True)
class Requests:
    """Says how many requests run at once, and how much each asks for at most."""

    at_once: int = 10
    chunk: int = 8_000_000

    def changed(self, at_once: int | None, chunk: int | None) -> Requests:
        """Gives these settings with those that a caller gave."""
        _check_request("max_concurrent_requests", at_once)
        _check_request("max_chunk_bytes", chunk)
        return Requests(at_once or self.at_once, chunk or self.chunk)


@dataclass(frozen=True, slots=True)
class Selection:
    """Says which lines of a .bed are read, and which places of each line."""

    lines: NDArray[np.int64]
    index: Positions
    places: int
    by_variant: bool

    @classmethod
    def of(
        cls, major: str, shape: tuple[int, int], *, iid: Positions, sid: Positions
    ) -> Self:
        """Takes variants for lines, or individuals, as the file has it."""
        by_variant = major == "SNP"
        places, count = shape if by_variant else shape[::-1]
        index, lines = (iid, sid) if by_variant else (sid, iid)
        numbers = np.arange(count, dtype=np.int64) if lines is None else lines
        return cls(numbers, index, places, by_variant)

    @property
    def stride(self) -> int:
        """How many bytes a line has."""
        return -(-self.places // 4)

    @property
    def places_in_part(self) -> NDArray[np.int64]:
        """The places, counted from the first of the part."""
        if self.index is None:
            return np.arange(self.places, dtype=np.int64)
        return self.index - 4 * self.part.start

    @property
    def part(self) -> slice:
        """The bytes of a line that hold the places."""
        if self.index is None:
            return slice(0, self.stride)
        if not len(self.index):
            return slice(0, 0)
        return slice(int(self.index.min()) // 4, int(self.index.max()) // 4 + 1)


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """Reads genotypes of an object in the cloud as the native class does those of a file.

    Args:
        bed: The object.
        requests: How it is asked.
    """

    bed: RemoteBed
    requests: Requests

    def read(
        self,
        shape: tuple[int, int],
        iid: Positions,
        sid: Positions,
        out: NDArray[Any],
        *,
        count_a1: bool,
        check: bool,
        threads: int,
    ) -> None:
        """Fills an array with the genotypes of the chosen individuals and variants."""
        wanted = Selection.of(self.bed.major, shape, iid=iid, sid=sid)
        self._check_size(shape, wanted)
        if not out.size:
            return
        by_line = out.T if wanted.by_variant else out
        ends: list[NDArray[np.uint8]] = []
        for first, lines in self._blocks(wanted, by_line.shape[1] * out.itemsize):
            ends.append(lines[:, -1].copy())
            target = by_line[first : first + len(lines)]
            _decode(lines, wanted, target, count_a1=count_a1, threads=threads)
        if check and wanted.part.stop == wanted.stride:
            self._check_ends(np.concatenate(ends), wanted, is_whole=iid is None is sid)

    def _blocks(
        self, wanted: Selection, line_bytes: int
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Fetches the lines, and cuts them into blocks whose numbers take little memory."""
        most = max(1, _AT_ONCE // line_bytes)
        fetched = self.bed.blocks(
            wanted.lines,
            wanted.stride,
            wanted.part,
            requests=self.requests.at_once,
            chunk=self.requests.chunk,
        )
        for first, lines in fetched:
            for start in range(0, len(lines), most):
                yield first + start, lines[start : start + most]

    def _check_size(self, shape: tuple[int, int], wanted: Selection) -> None:
        """Compares the object's size with what its tables say."""
        expected = _HEADER + wanted.stride * shape[1 if wanted.by_variant else 0]
        found = self.bed.size()
        if found != expected:
            raise self._fault(
                f"expected {expected} bytes for {shape[0]} individuals and {shape[1]} "
                f"variants, found {found}; the .fam or .bim belongs to another file",
                kind="cut" if found < expected else "length",
            )

    def _check_ends(
        self, last: NDArray[np.uint8], wanted: Selection, *, is_whole: bool
    ) -> None:
        """Refuses lines that hold more places than the tables say."""
        name = self.bed.location.geturl()
        if not is_filled_up(last, wanted.places, name):
            raise self._fault(
                f"the last byte of a line holds more than its {wanted.places % 4} places; "
                "the .fam or .bim is short, or belongs to another file"
            )
        if is_whole:
            look_at_last_places(last, wanted.places, name)

    def _fault(self, message: str, *, kind: str = "format") -> FormatError:
        """Makes an error that names the object."""
        name = self.bed.location.geturl()
        return FormatError(f"{name}: {message}", kind=kind, path=name)


def _decode(
    lines: NDArray[np.uint8],
    wanted: Selection,
    out: NDArray[Any],
    *,
    count_a1: bool,
    threads: int,
) -> None:
    """Makes numbers of parts of lines, and puts them where they belong."""
    held = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
    places = wanted.places_in_part
    _native.decode_lines(
        lines, places, held, along=True, count_a1=count_a1, threads=threads
    )
    if held is not out:
        out[...] = held


def _check_request(name: str, value: int | None) -> None:
    """Refuses a number of requests or bytes that is none."""
    if value is None:
        return
    if as_integer(name, value, least=-(1 << 63)) < 0:
        raise NumberRangeError(f"{name} must not be negative, got {value}")
    if value == 0:
        raise ArgumentError(f"{name} must be at least 1, got 0")
