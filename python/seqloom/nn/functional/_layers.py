"""Linear maps and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import LAYER, require_floats, require_same_dtype
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``x @ weight.T + bias``.

    Args:
        x: ``(..., in)``.
        weight: ``(out, in)``; or ``(in,)`` for one output without an axis of its own, then
            with a bias of one number, ``()``.
        bias: ``(out,)``.

    Returns:
        ``(..., out)``, of the element type of all arguments.

    Raises:
        DTypeError: The arguments are not of one type of floats.
        ShapeError: The lengths differ, or the weight has another number of axes.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> linear(B.tensor([[1.0, 2.0]]), B.tensor([[3.0, 4.0]])).item()
        11.0
    """
    require_same_dtype("linear", LAYER, weight, x, bias)
    if weight.ndim != 2:  # noqa: PLR2004  # (out, in)
        return _of_one_output(x, weight, bias)
    return apply("linear", x, weight, bias)


def _of_one_output(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The sum of each row times a weight of one axis."""
    if weight.ndim != 1 or (bias is not None and bias.ndim):
        given = "no bias" if bias is None else f"a bias of shape {bias.shape}"
        raise ShapeError(
            "linear: expected a weight of shape (out, in) and a bias (out,), or a weight "
            f"(in,) and a bias (), got a weight of shape {weight.shape} and {given}"
        )
    out = apply("matmul", x, weight)
    return out if bias is None else out + bias


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
        DTypeError: `x` holds whole numbers.

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
    require_floats("dropout", x)
    return apply("dropout", x, key, p)
