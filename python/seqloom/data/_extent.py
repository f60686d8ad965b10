"""Where letters stand in a batch, and where there is padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged


def mask_of(lengths: NDArray[np.int64], positions: int) -> NDArray[np.float32]:
    """Marks the positions that hold a letter."""
    return (np.arange(positions) < lengths[:, None]).astype(np.float32)


def count_positions(encoder: Any, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts the positions that an encoder makes of so many letters."""
    count = getattr(encoder, "places", None)
    return lengths if count is None else count(lengths)


def leaves_out(encoder: Any) -> bool:
    """Tells whether an encoder may leave letters out, such as a stop at the end."""
    return bool(getattr(encoder, "leaves_out", False))


def extents_of(encoder: Any, sequences: Ragged) -> NDArray[np.int64]:
    """Counts the positions that sequences fill, which is less where a stop is left out."""
    count = getattr(encoder, "extents", None)
    return (
        count_positions(encoder, sequences.lengths) if count is None else count(sequences)
    )


def position_axis(encoder: Any) -> int:
    """Tells which axis of a batch is the position."""
    return 2 if encoder.channels == "first" else 1


@dataclass(frozen=True, slots=True)
class Extents:
    """How many positions the sequences of a dataset fill; one number if all agree."""

    each: NDArray[np.int64] | int  # the positions of each sequence, or of all of them

    @classmethod
    def of(cls, positions: NDArray[np.int64]) -> Self:
        """Looks whether all are alike."""
        is_alike = positions.size and (positions == positions[0]).all()
        return cls(int(positions[0]) if is_alike else positions)

    def at(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lists the positions of some sequences."""
        if isinstance(self.each, int):
            # For every batch of a loader: np.full takes three times as long.
            positions = np.empty(rows.size, np.int64)
            positions.fill(self.each)
            return positions
        return self.each[rows]

    def longest(self, lengths: NDArray[np.int64]) -> int:
        """Finds the most positions of some sequences."""
        if isinstance(self.each, int):
            return self.each if lengths.size else 0
        return int(lengths.max(initial=0))

    def mask(self, lengths: NDArray[np.int64], positions: int) -> dict[str, Any]:
        """Marks the positions that hold a letter, if there is padding."""
        is_full = (
            self.each == positions
            if isinstance(self.each, int)
            else bool((lengths == positions).all())
        )
        return {} if is_full else {"mask": mask_of(lengths, positions)}


def padded_length(
    lengths: NDArray[np.int64], names: Any, *, length: int | None, multiple: int
) -> int:
    """Decides how many positions a batch has."""
    longest = int(lengths.max(initial=0))
    return pad_length(
        longest,
        lambda: names()[int(lengths.argmax())],
        length=length,
        multiple=multiple,
    )


def pad_length(longest: int, name: Any, *, length: int | None, multiple: int) -> int:
    """Decides how many positions a batch has whose longest sequence fills so many."""
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        raise ShapeError(
            f"sequence {name()!r} takes {longest:,} positions, more than length={length}; "
            "crop it (sl.augment.Crop) or pass a longer length"
        )
    return length
