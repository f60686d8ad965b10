"""Linear maps and dropout."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import LAYER, require_floats, require_same_dtype
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Computes ``x @ weight.T + bias``.

    Args:
        x: ``(..., in)``.
        weight: ``(out, in)``; or ``(in,)`` for one output without an axis, with a bias of
            shape ``()``.
        bias: ``(out,)``.

    Returns:
        ``(..., out)``, of the dtype of the arguments.

    Raises:
        DTypeError: The arguments do not have the same float type.
        ShapeError: The lengths do not fit, or `weight` has another number of axes.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> linear(B.tensor([[1.0, 2.0]]), B.tensor([[3.0, 4.0]])).item()
        11.0
    """
    require_same_dtype("linear", LAYER, weight, x, bias)
    if weight.ndim != 2:  # noqa: PLR2004  # (out, in)
        return _apply_to_one_output(x, weight, bias)
    return apply("linear", x, weight, bias)


def _apply_to_one_output(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """Multiplies each row by a weight of one axis, and sums."""
    if weight.ndim != 1 or (bias is not None and bias.ndim):
        given = "no bias" if bias is None else f"a bias of shape {bias.shape}"
        raise ShapeError(
            "linear: expected a weight of shape (out, in) and a bias (out,), or a weight "
            f"(in,) and a bias (), got a weight of shape {weight.shape} and {given}"
        )
    out = apply("matmul", x, weight)
    return out if bias is None else out + bias


def dropout(x: Tensor, p: float = 0.5, key: Any = None, training: bool = True) -> Tensor:
    """Sets random elements to zero and scales up the others (Srivastava et al. 2014).

    Args:
        x: A tensor of any shape.
        p: Probability of zero, in [0, 1).
        key: Random key; the same key gives the same mask on every machine.
        training: Whether to drop; False returns `x`.

    Returns:
        A tensor of the same shape.

    Raises:
        ArgumentError: `key` is missing, or `p` is not in [0, 1).
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0] * 1000)
        >>> 400 < int((dropout(x, 0.5, sl.Key(0)).numpy() == 2).sum()) < 600
        True
    """
    if not training or p == 0:
        return x
    if not 0 < p < 1:
        raise ArgumentError(f"p must be in [0, 1), got {p}")
    if key is None:
        raise ArgumentError("dropout needs a key: pass key=sl.Key(seed, epoch, batch)")
    require_floats("dropout", x)
    return apply("dropout", x, key, p)
