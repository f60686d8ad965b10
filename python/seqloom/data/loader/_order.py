"""Orders that a key decides."""

from __future__ import annotations

from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Order:
    """The order of an epoch, of which any part can be had alone.

    Args:
        size: How many items there are.
        key: Which order; None takes them as they come.

    Examples:
        >>> Order(5, None).at(np.array([3, 4, 5])).tolist()
        [3, 4, 0]
    """

    size: int
    key: Key | None

    def at(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tells which items stand at rising places; behind the end it begins anew."""
        is_whole = not places.size or places[-1] < self.size
        wrapped = places if is_whole else places % self.size
        if self.key is None:
            return wrapped
        out = np.empty_like(wrapped)
        _native.permuted_at(self.size, self.key.words, wrapped, out)
        return out
