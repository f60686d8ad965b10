"""Rows of unequal length in one flat array."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom.errors import OutOfRangeError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, slots=True, eq=False)
class Ragged:
    """Rows of unequal length in one array; row i is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]

    def __post_init__(self) -> None:
        covered = self.offsets.size and self.offsets[0] == 0
        if not covered or self.offsets[-1] != self.data.size:
            raise ShapeError(
                f"offsets must range from 0 to {self.data.size}, the number of bytes of "
                "data"
            )

    @staticmethod
    def from_list(rows: Iterable[bytes | str]) -> Ragged:
        """Join byte strings (or ASCII strings) into one array."""
        parts = [row.encode("ascii") if isinstance(row, str) else row for row in rows]
        data = np.frombuffer(bytearray(b"".join(parts)), np.uint8)
        return Ragged(
            data, lengths_to_offsets(np.fromiter(map(len, parts), np.int64, len(parts)))
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Lengths of all rows."""
        return np.diff(self.offsets)

    def __len__(self) -> int:
        return self.offsets.size - 1

    @overload
    def __getitem__(self, index: int) -> NDArray[np.uint8]: ...
    @overload
    def __getitem__(self, index: slice) -> Ragged: ...
    def __getitem__(self, index: int | slice) -> NDArray[np.uint8] | Ragged:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                return self.take(np.arange(start, stop, step))
            # A slice of adjacent rows is a view of the data, not a copy.
            offsets = self.offsets[start : max(start, stop) + 1]
            return Ragged(self.data[offsets[0] : offsets[-1]], offsets - offsets[0])
        if not -len(self) <= index < len(self):
            raise OutOfRangeError(f"no row {index}: there are {len(self)} rows")
        row = index % len(self)
        return self.data[self.offsets[row] : self.offsets[row + 1]]

    def __iter__(self) -> Iterator[NDArray[np.uint8]]:
        bounds: list[int] = self.offsets.tolist()
        return (self.data[a:b] for a, b in pairwise(bounds))

    def take(self, indices: ArrayLike) -> Ragged:
        """Copy rows by index, in the order of `indices`; an index may be repeated."""
        rows = np.asarray(indices, np.int64)
        if rows.size and not (rows.min() >= 0 and rows.max() < len(self)):
            raise OutOfRangeError(
                f"rows {rows.min()} to {rows.max()} requested, but {len(self)} exist"
            )
        starts = self.offsets[rows]
        lengths = self.offsets[rows + 1] - starts
        offsets = lengths_to_offsets(lengths)
        positions = np.arange(int(offsets[-1]))
        positions += np.repeat(starts - offsets[:-1], lengths)
        return Ragged(self.data[positions], offsets)

    def to_list(self) -> list[bytes]:
        """Copy the rows as byte strings."""
        whole = self.data.tobytes()
        bounds: list[int] = self.offsets.tolist()
        return [whole[a:b] for a, b in pairwise(bounds)]


def lengths_to_offsets(lengths: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """Compute the offsets of rows from their lengths."""
    offsets = np.zeros(lengths.size + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets
