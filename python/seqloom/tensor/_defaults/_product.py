"""Products of matrices with something behind them."""

from __future__ import annotations

from seqloom.tensor._defaults._standard import Array, Standard


class Products(Standard):
    """What a matrix product does for a layer.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.linear(B.asarray([[1.0, 2.0]]), B.asarray([[3.0, 4.0]])).tolist()
        [[11.0]]
    """

    def linear(self, x: Array, weight: Array, bias: Array | None = None) -> Array:
        """``x @ weight.T + bias``: ``(..., in)`` with ``(out, in)`` to ``(..., out)``."""
        out = self.matmul(x, self.matrix_transpose(weight))
        return out if bias is None else self.add(out, bias)
