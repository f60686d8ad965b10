"""Summaries of a padded batch that do not see the padding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn.functional._operands import beside
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# Lower than any activation, and finite, so that no NaN comes of it.
_LOWEST = -3.0e38


def masked_mean(x: Tensor, mask: Any = None) -> Tensor:
    """The mean over the places of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real places; default all.

    Returns:
        ``(n, c)``; 0 for a record without places.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_mean(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        3.0
    """
    if mask is None:
        return x.mean(axis=-1)
    mask = beside(x, mask, x.dtype)
    places = apply("maximum", mask.sum(axis=-1, keepdims=True), 1.0)
    wide = apply("expand_dims", mask, axis=1)
    real = apply("where", wide > 0, x * wide, 0.0)  # padding may be NaN
    return real.sum(axis=-1) / places


def masked_max(x: Tensor, mask: Any = None) -> Tensor:
    """The largest value over the places of each record.

    Args:
        x: ``(n, c, l)``.
        mask: ``(n, l)``, 1 for real places; default all.

    Returns:
        ``(n, c)``; 0 for a record without places.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> masked_max(B.tensor([[[2.0, 4.0, 9.0]]]), B.tensor([[1.0, 1.0, 0.0]])).item()
        4.0
    """
    if mask is None:
        return x.max(axis=-1)
    mask = beside(x, mask, x.dtype)
    wide = apply("expand_dims", mask, axis=1)
    highest = apply("where", wide > 0, x, _LOWEST).max(axis=-1)
    return apply("where", mask.sum(axis=-1, keepdims=True) > 0, highest, 0.0)
