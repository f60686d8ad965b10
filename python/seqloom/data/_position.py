"""Positions in a dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import OutOfRangeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def positions(indices: ArrayLike, size: int) -> NDArray[np.int64]:
    """Checks positions; those below 0 count from the end."""
    rows = np.array(indices, np.int64, ndmin=1)
    wrong = rows[(rows < -size) | (rows >= size)]
    if wrong.size:
        raise OutOfRangeError(f"sequence {wrong[0]} of {size}")
    return np.where(rows < 0, rows + size, rows)
