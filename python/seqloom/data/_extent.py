"""Where letters stand in a batch, and where there is padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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


def extents_of(encoder: Any, sequences: Ragged) -> NDArray[np.int64]:
    """Counts the places that sequences fill, which is less where a stop is left out."""
    count = getattr(encoder, "extents", None)
    return places_of(encoder, sequences.lengths) if count is None else count(sequences)


def place_axis(encoder: Any) -> int:
    """Tells which axis of a batch is the place."""
    return 2 if encoder.channels == "first" else 1


def padded_length(
    lengths: NDArray[np.int64], names: Any, *, length: int | None, multiple: int
) -> int:
    """Decides how many places a batch has."""
    longest = int(lengths.max(initial=0))
    if length is None:
        return -(-longest // multiple) * multiple
    if longest > length:
        raise ShapeError(
            f"sequence {names()[int(lengths.argmax())]!r} has {longest:,} letters, "
            f"more than {length:,}"
        )
    return length
