"""Write bigWig files."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer, as_path, quote
from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

_MAX_LENGTH = 1 << 32
TRACK_SUFFIXES = (".bw", ".bigwig")


class TrackWriter:
    """Writer of a bigWig file.

    Contigs are written in any order, and the values of a contig in the order of their
    positions. Memory grows by about 150 bytes for each 1,024 ranges, and by the summaries
    that genome browsers need (at most 200 MB). The file appears at its path only if the
    ``with`` block succeeds.

    Args:
        path: The path of the file.
        contigs: Length of each contig of the genome.

    Raises:
        ArgumentError: No contigs are given, or a length is invalid.
        FileError: The file cannot be written.

    Examples:
        >>> import numpy as np
        >>> import seqloom as sl
        >>> with sl.io.TrackWriter("a.bw", {"chr1": 1000}) as writer:
        ...     writer.write("chr1", [10, 20], stops=[15, 21], values=[2.5, 1])
        ...     writer.write_values("chr1", 100, np.arange(4.0), bin=25)
        >>> sl.io.open_tracks("a.bw").values("chr1", 13, 17, missing=0).tolist()
        [[2.5, 2.5, 0.0, 0.0]]
    """

    def __init__(self, path: str | os.PathLike[str], contigs: Mapping[str, int]) -> None:
        self.path = str(as_path("path", path).expanduser())
        if not isinstance(contigs, Mapping) or not contigs:  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError(
                "contigs must be a dict from the name of each contig to its length, got "
                f"{quote(contigs)}"
            )
        pairs = [
            (str(name), as_integer(f"contigs[{name!r}]", size, least=1, limit=_MAX_LENGTH))
            for name, size in contigs.items()
        ]
        wrong = [name for name, _ in pairs if not name or "\0" in name]
        if wrong or len(dict(pairs)) < len(pairs):
            raise ArgumentError(
                "contigs must have different names of at least one character, got "
                f"{quote([*contigs])}"
            )
        self._numbers = {name: number for number, (name, _) in enumerate(pairs)}
        self._native = _native.TrackFileWriter(self.path, pairs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._native.finish()
        else:
            self._native.abandon()

    def write(
        self, chrom: str, starts: ArrayLike, *, stops: ArrayLike, values: ArrayLike
    ) -> None:
        """Write ranges of one contig, sorted and without overlaps.

        Args:
            chrom: Name of the contig.
            starts: First position of each range, zero-based.
            stops: Position after the last position of each range.
            values: Value of each range, stored as float32. NaN is not stored.

        Raises:
            ArgumentError: The contig is unknown, or another contig was written after its
                earlier values. Or ranges are not sorted, overlap, or extend beyond the
                contig.
            FileError: The file cannot be written.
        """
        numbers = _as_numbers(values)
        self._native.write(
            self._find_number(chrom),
            _as_positions("starts", starts),
            _as_positions("stops", stops),
            numbers,
        )

    def write_values(
        self,
        chrom: str,
        start: int,
        values: ArrayLike,
        *,
        bin: int = 1,
    ) -> None:
        """Write the values of neighbouring bins.

        Args:
            chrom: Name of the contig.
            start: First position of the first bin, zero-based.
            values: Value of each bin. Neighbouring bins with equal values are stored as one
                range. NaN is not stored.
            bin: Number of bases of a bin.

        Raises:
            ArgumentError: The contig is unknown, or the bins overlap earlier values or
                extend beyond the contig.
            FileError: The file cannot be written.
        """
        first = as_integer("start", start, limit=_MAX_LENGTH)
        width = as_integer("bin", bin, least=1, limit=_MAX_LENGTH)
        numbers = _as_numbers(values)
        edges = np.flatnonzero(numbers[1:] != numbers[:-1]) + 1
        rows = np.concatenate([[0], edges]) if numbers.size else edges
        starts = first + width * rows.astype(np.int64)
        stops = np.append(starts[1:], first + width * numbers.size)[: rows.size]
        self.write(chrom, starts, stops=stops, values=numbers[rows])

    def _find_number(self, chrom: str) -> int:
        if chrom not in self._numbers:
            raise ArgumentError(
                f"the file has no contig {chrom!r}; add it to the contigs of the writer"
            )
        return self._numbers[chrom]


def _as_numbers(values: ArrayLike) -> NDArray[np.float32]:
    """Return one-dimensional float32 values; raise if they are infinite."""
    given = np.asarray(values)
    if given.ndim != 1 or given.dtype.kind not in "iufb":
        raise ArgumentError(
            f"values must be a list of numbers, got an array {given.shape} of {given.dtype}"
        )
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(given, np.float32)
    if np.isinf(numbers).any():
        raise ArgumentError(
            "values must be below 3.4e38 (float32) or NaN, but some are larger or infinite"
        )
    return numbers


def _as_positions(name: str, values: ArrayLike) -> Any:
    """Return positions as 32-bit integers."""
    numbers = np.asarray(values).reshape(-1)
    if numbers.size and (
        numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= _MAX_LENGTH
    ):
        raise ArgumentError(
            f"{name} must be integers from 0 to {_MAX_LENGTH - 1:,}, got {quote(values)}"
        )
    return numbers.astype(np.uint32)
