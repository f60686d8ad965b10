"""Products of matrices with something behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def linear(b: Functions, x: Array, weight: Array, bias: Array | None = None) -> Array:
    """``x @ weight.T + bias``: ``(..., in)`` with ``(out, in)`` to ``(..., out)``."""
    out = b.matmul(x, b.matrix_transpose(weight))
    return out if bias is None else b.add(out, bias)
