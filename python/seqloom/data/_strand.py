"""The other strand, and padding beyond the ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged, offsets_of
from seqloom._rust import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LETTERS = b"ACGTURYSWKMBDHVNacgturyswkmbdhvn"
_OTHERS = b"TGCAAYRSWMKVHDBNtgcaayrswmkvhdbn"
_PAD = ord("N")


# What is no nucleotide stays what it is.
_TABLE = bytes.maketrans(_LETTERS, _OTHERS)


def turn(letters: Ragged, is_minus: NDArray[np.bool_]) -> None:
    """Turns rows, in place, into what stands on the other strand, from its beginning."""
    _native.turn_rows(letters.data, letters.offsets, is_minus.view(np.uint8), _TABLE)


def padded(letters: Ragged, before: NDArray[np.int64], after: NDArray[np.int64]) -> Ragged:
    """Puts N before and behind rows."""
    if not (before.any() or after.any()):
        return letters
    offsets = offsets_of(letters.lengths + before + after)
    data = np.full(int(offsets[-1]), _PAD, np.uint8)
    starts: list[int] = (offsets[:-1] + before).tolist()
    for start, row in zip(starts, letters, strict=True):
        data[start : start + row.size] = row
    return Ragged(data, offsets)
