"""The stop at a protein's end, which is no letter of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.encode._policy import STOP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._ragged import Ragged
    from seqloom._rust import _native


def kept_lengths(letters: _native.Letters, rows: Ragged) -> NDArray[np.int64]:
    """Counts the letters of each sequence but for a stop that is taken as absent.

    Args:
        letters: What each byte means.
        rows: The sequences.

    Returns:
        One number each.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> from seqloom.encode import OneHot
        >>> from seqloom.encode._policy import letters_of
        >>> rows = Ragged.from_list(["MK*", "MK"])
        >>> kept_lengths(letters_of(OneHot("protein")), rows).tolist()
        [2, 2]
    """
    lengths = rows.lengths
    if not (letters.strips and rows.data.size):
        return lengths
    last = rows.data[np.maximum(rows.offsets[1:] - 1, 0)]
    return lengths - ((last == STOP) & (lengths > 0))
