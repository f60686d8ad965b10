"""Orders that a key decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._key import Key


def permutation(n: int, key: Key) -> NDArray[np.int64]:
    """Shuffles 0 to n - 1 as a key says."""
    out = np.empty(n, np.int64)
    _native.permutation(n, *key.words, out)
    return out
