"""Random numbers by key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._filling import fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._key import Key

    Floats = NDArray[Any]


class Randomness(Backend):
    """What depends on a key."""

    def dropout(self, x: Floats, key: Key, rate: float) -> Floats:
        """Zeros a share `rate` of the values by the key and scales up the others."""
        return fill(_native.dropout, x, *key.words, rate, threads=self.threads)
