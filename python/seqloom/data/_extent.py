"""Where letters stand in a batch, and where there is padding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.errors import ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged


def mask_of(lengths: NDArray[np.int64], places: int) -> NDArray[np.float32]:
    """Marks the places that hold a letter."""
    return (np.arange(places) < lengths[:, None]).astype(np.float32)


def places_of(encoder: Any, lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counts the places that an encoder makes of so many letters."""
    count = getattr(encoder, "places", None)
    return lengths if count is None else count(lengths)


def leaves_out(encoder: Any) -> bool:
    """Tells whether an encoder may leave letters out, such as a stop at the end."""
    return bool(getattr(encoder, "leaves_out", False))


def extents_of(encoder: Any, sequences: Ragged) -> NDArray[np.int64]:
    """Counts the places that sequences fill, which is less where a stop is left out."""
    count = getattr(encoder, "extents", None)
    return places_of(encoder, sequences.lengths) if count is None else count(sequences)


def place_axis(encoder: Any) -> int:
    """Tells which axis of a batch is the place."""
    return 2 if encoder.channels == "first" else 1


@dataclass(frozen=True, slots=True)
class Extents:
    """How many places the sequences of a dataset fill: one number where all are alike."""

    each: NDArray[np.int64] | int  # the places of each sequence, or of all of them

    @classmethod
    def of(cls, places: NDArray[np.int64]) -> Self:
        """Looks whether all are alike."""
        is_alike = places.size and (places == places[0]).all()
        return cls(int(places[0]) if is_alike else places)

    def at(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Lists the places of some sequences."""
        if isinstance(self.each, int):
            # For every batch of a loader: np.full takes three times as long.
            places = np.empty(rows.size, np.int64)
            places.fill(self.each)
            return places
        return self.each[rows]

    def longest(self, lengths: NDArray[np.int64]) -> int:
        """Finds the most places of some sequences."""
        if isinstance(self.each, int):
            return self.each if lengths.size else 0
        return int(lengths.max(initial=0))

    def mask(self, lengths: NDArray[np.int64], places: int) -> dict[str, Any]:
        """Marks the places that hold a letter, if there is padding."""
        is_full = (
            self.each == places
            if isinstance(self.each, int)
            else bool((lengths == places).all())
        )
        return {} if is_full else {"mask": mask_of(lengths, places)}


def padded_length(
    lengths: NDArray[np.int64], names: Any, *, length: int | None, multiple: int
) -> int:
    """Decides how many places a batch has."""
    longest = int(lengths.max(initial=0))
    return pad_length(
        longest,
        lambda: names()[int(lengths.argmax())],
        length=length,
        multiple=multiple,
    )


def pad_length(longest: int, name: Any, *, length: int | None, multiple: int) -> int:
    """Decides how many places a batch has whose longest sequence fills so many."""
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        raise ShapeError(
            f"sequence {name()!r} takes {longest:,} places, more than length={length}; "
            "crop it (sl.augment.Crop) or pass a longer length"
        )
    return length
