"""Products of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Products(Backend):
    """What BLAS does."""

    def linear(self, x: Floats, weight: Floats, bias: Floats | None = None) -> Floats:
        """``x @ weight.T + bias``: ``(..., in)`` to ``(..., out)``."""
        out = np.matmul(x, weight.T)
        if bias is not None:
            out += bias
        return out
