"""Mean and maximum over positions, without the padding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn.functional._operands import as_operand
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# Lower than any activation, and finite, so that it does not cause NaN.
_LOWEST = -3.0e38


def masked_mean(x: Tensor, mask: object = None) -> Tensor:
    """Computes the mean over the real positions of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real positions and 0 for padding; default: all real.

    Returns:
        ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_mean(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        3.0
    """
    if mask is None:
        return x.mean(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    count = apply("maximum", mask.sum(axis=-1, keepdims=True), 1.0)
    wide = apply("expand_dims", mask, axis=1)
    real = apply("where", wide > 0, x * wide, 0.0)  # padding may be NaN
    return real.sum(axis=-1) / count


def masked_max(x: Tensor, mask: object = None) -> Tensor:
    """Computes the maximum over the real positions of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real positions and 0 for padding; default: all real.

    Returns:
        ``(n, c)``; 0 for a record without real positions.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_max(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        4.0
    """
    if mask is None:
        return x.max(axis=-1)
    mask = as_operand(x, mask, x.dtype)
    wide = apply("expand_dims", mask, axis=1)
    highest = apply("where", wide > 0, x, _LOWEST).max(axis=-1)
    return apply("where", mask.sum(axis=-1, keepdims=True) > 0, highest, 0.0)
