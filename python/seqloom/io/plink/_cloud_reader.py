"""Read genotypes of a .bed in the cloud by byte ranges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom._rust import _native
from seqloom._warning import warn_user
from seqloom.errors import ArgumentError, FormatError, NumberRangeError
from seqloom.io.plink._cloud_bed import HEADER_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._cloud_bed import RemoteBed
    from seqloom.io.plink._selection import Positions

_MAX_DECODED_BYTES = 8 << 20  # bytes of genotypes that are decoded at a time
_MIN_NONZERO_LINES = 8
# If a file has at least this number of rows and all end with a 0, the 0 may be padding.
_MIN_ZERO_LINES = 64
_SKIP_CHECK_HINT = "skip_format_check=True (--skip-format-check) reads without this warning"


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Maximum number of simultaneous requests, and maximum number of bytes of a request."""

    at_once: int = 10
    chunk: int = 8_000_000

    def with_overrides(self, at_once: int | None, chunk: int | None) -> RequestLimits:
        """Return the limits, with the caller's values in place of the defaults."""
        _check_request_limit("max_concurrent_requests", at_once)
        _check_request_limit("max_chunk_bytes", chunk)
        return RequestLimits(at_once or self.at_once, chunk or self.chunk)


@dataclass(frozen=True, slots=True)
class LineSelection:
    """The selected rows of a .bed, and the selected positions in each row."""

    lines: NDArray[np.int64]
    index: Positions
    width: int  # number of genotypes in a row
    by_variant: bool

    @classmethod
    def of(
        cls, major: str, shape: tuple[int, int], *, iid: Positions, sid: Positions
    ) -> Self:
        """Return the selected rows and positions for the layout `major`."""
        by_variant = major == "SNP"
        width, count = shape if by_variant else shape[::-1]
        index, lines = (iid, sid) if by_variant else (sid, iid)
        numbers = np.arange(count, dtype=np.int64) if lines is None else lines
        return cls(numbers, index, width, by_variant)

    @property
    def stride(self) -> int:
        """Number of bytes of a row."""
        return -(-self.width // 4)

    @property
    def positions_in_range(self) -> NDArray[np.int64]:
        """Selected positions relative to the first position in the range `byte_range`."""
        if self.index is None:
            return np.arange(self.width, dtype=np.int64)
        return self.index - 4 * self.byte_range.start

    @property
    def byte_range(self) -> slice:
        """Byte range of a row that contains the selected positions."""
        if self.index is None:
            return slice(0, self.stride)
        if not len(self.index):
            return slice(0, 0)
        return slice(int(self.index.min()) // 4, int(self.index.max()) // 4 + 1)


@dataclass(frozen=True, slots=True)
class RemoteReader:
    """Reader of genotypes in the cloud, with the methods of the Rust reader of files."""

    bed: RemoteBed
    requests: RequestLimits

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
        """Decode the selected genotypes into an array."""
        wanted = LineSelection.of(self.bed.major, shape, iid=iid, sid=sid)
        self._check_size(shape, wanted)
        if not out.size:
            return
        by_line = out.T if wanted.by_variant else out
        ends: list[NDArray[np.uint8]] = []
        for first, lines in self._read_blocks(wanted, by_line.shape[1] * out.itemsize):
            ends.append(lines[:, -1].copy())
            target = by_line[first : first + len(lines)]
            _decode_block(lines, wanted, target, count_a1=count_a1, threads=threads)
        if check and wanted.byte_range.stop == wanted.stride:
            self._check_padding(np.concatenate(ends), wanted, is_whole=iid is None is sid)

    def _read_blocks(
        self, wanted: LineSelection, line_bytes: int
    ) -> Iterator[tuple[int, NDArray[np.uint8]]]:
        """Yield ranges of rows whose decoded values fit into the memory limit."""
        most = max(1, _MAX_DECODED_BYTES // line_bytes)
        fetched = self.bed.blocks(
            wanted.lines,
            wanted.stride,
            wanted.byte_range,
            requests=self.requests.at_once,
            chunk=self.requests.chunk,
        )
        for first, lines in fetched:
            for start in range(0, len(lines), most):
                yield first + start, lines[start : start + most]

    def _check_size(self, shape: tuple[int, int], wanted: LineSelection) -> None:
        """Raise if the size of the object does not match its tables."""
        expected = HEADER_SIZE + wanted.stride * shape[1 if wanted.by_variant else 0]
        found = self.bed.size()
        if found != expected:
            raise self._make_error(
                f"expected {expected} bytes for {shape[0]} individuals and {shape[1]} "
                f"variants, found {found}; the .fam or .bim belongs to another file",
                kind="cut" if found < expected else "length",
            )

    def _check_padding(
        self, last: NDArray[np.uint8], wanted: LineSelection, *, is_whole: bool
    ) -> None:
        """Raise if the padding of the rows contains genotypes."""
        name = self.bed.location.geturl()
        if not _is_padding(last, wanted.width, name):
            raise self._make_error(
                f"the last byte of a row has more than {wanted.width % 4} genotypes; "
                "the .fam or .bim is too short, or belongs to another file"
            )
        if is_whole:
            _check_last_values(last, wanted.width, name)

    def _make_error(self, message: str, *, kind: str = "format") -> FormatError:
        """Return an error whose message begins with the URL."""
        name = self.bed.location.geturl()
        return FormatError(f"{name}: {message}", kind=kind, path=name)


def _decode_block(
    lines: NDArray[np.uint8],
    wanted: LineSelection,
    out: NDArray[Any],
    *,
    count_a1: bool,
    threads: int,
) -> None:
    """Decode a block of rows into the array."""
    decoded = out if out.flags.c_contiguous else np.empty(out.shape, out.dtype)
    positions = wanted.positions_in_range
    _native.decode_lines(
        lines, positions, decoded, along=True, count_a1=count_a1, threads=threads
    )
    if decoded is not out:
        out[...] = decoded


def _check_request_limit(name: str, value: int | None) -> None:
    """Raise if a limit of requests or bytes is below 1."""
    if value is None:
        return
    if as_integer(name, value, least=-(1 << 63)) < 0:
        raise NumberRangeError(f"{name} must not be negative, got {value}")
    if value == 0:
        raise ArgumentError(f"{name} must be at least 1, got 0")


def _is_padding(last: NDArray[np.uint8], values: int, name: str) -> bool:
    """Return whether the bits after the last value are padding; warn if they are not 0."""
    used = values % 4
    padding = last >> 2 * used if used else last[:0]
    if not padding.any():
        return True
    code = padding[0] & 3
    one = sum(int(code) << 2 * i for i in range(4 - used))
    if len(last) < _MIN_NONZERO_LINES or (padding != one).any():
        return False
    warn_user(
        f"{name}: after the last of {values} genotypes, the padding bits are {code:02b} in "
        "every row, where PLINK writes 00; they are ignored, because some tools write "
        f"them, but the .fam or .bim may be too short ({_SKIP_CHECK_HINT})"
    )
    return True


def _check_last_values(last: NDArray[np.uint8], values: int, name: str) -> None:
    """Warn if the last genotype of every row is homozygous A1, like padding."""
    shift = 2 * ((values - 1) % 4)
    if shift and len(last) >= _MIN_ZERO_LINES and not (last >> shift).any():
        warn_user(
            f"{name}: the last genotype is homozygous A1 in all {len(last)} rows, which "
            "looks like padding: check that the .fam or .bim is not too long and does "
            f"not belong to another file ({_SKIP_CHECK_HINT})"
        )
