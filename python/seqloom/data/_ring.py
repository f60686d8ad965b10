"""Memory of batches that is used again once nobody looks at it."""

from __future__ import annotations

import copyreg
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

RING = _native.Ring()
# Libraries that hash a function (Hugging Face's datasets) pickle the modules it uses.
copyreg.pickle(_native.Ring, lambda _: (_native.Ring, ()))


def empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray[Any]:
    """Takes memory for one batch: it holds anything, as that of ``np.empty`` does."""
    kind = np.dtype(dtype)
    memory = RING.take(math.prod(shape) * kind.itemsize)
    return memory.view(kind).reshape(shape)
