"""Linear maps and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``.

    Args:
        x: ``(..., in)``.
        weight: ``(out, in)``.
        bias: ``(out,)``.

    Returns:
        ``(..., out)``.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> linear(B.tensor([[1.0, 2.0]]), B.tensor([[3.0, 4.0]])).item()
        11.0
    """
    return apply("linear", x, weight, bias)


def dropout(x: Tensor, p: float = 0.5, key: Any = None, training: bool = True) -> Tensor:
    """Zeros a share of the values and scales up the others (Srivastava et al. 2014).

    Args:
        x: A tensor of any shape.
        p: The share, in [0, 1).
        key: Decides which; the same key gives the same mask on every machine.
        training: Whether to do anything.

    Returns:
        A tensor of that shape.

    Raises:
        ArgumentError: There is no key, or the share is none.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0] * 1000)
        >>> 400 < int((dropout(x, 0.5, sl.Key(0)).numpy() == 2).sum()) < 600
        True
    """
    if not training or p == 0:
        return x
    if not 0 < p < 1:
        raise ArgumentError(f"the share to drop must lie in [0, 1), got {p}")
    if key is None:
        raise ArgumentError("dropout needs a key: pass key=sl.Key(seed, epoch, batch)")
    return apply("dropout", x, key, p)
