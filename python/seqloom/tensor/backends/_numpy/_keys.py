"""Keys from keys, in one call each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._defaults._threefry import counter
from seqloom.tensor.backends._numpy._random import words_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.uint32]

_SPLITS = 1 << 31  # the high word of the counters that keys are split by


def fold_in(key: Any, word: Any) -> Words:
    """The words of the key of one thing below a key, as ``Key.fold``."""
    high, low = (int(part) for part in counter(word))
    return np.array(_native.threefry(*words_of(key), high, low), np.uint32)


def split(key: Any, n: int) -> Words:
    """Keys below a key, one for each row of ``(n, 2)``, as ``Key.split``."""
    words = words_of(key)
    rows = [_native.threefry(*words, _SPLITS, position) for position in range(n)]
    return np.array(rows, np.uint32).reshape(n, 2)
