"""Activations."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._dtypes import is_inexact, require_floats, require_numbers
from seqloom.tensor import apply, split

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

_ROOT = math.sqrt(2 / math.pi)


def relu(x: Tensor) -> Tensor:
    """``max(x, 0)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds truths.

    Examples:
        >>> import seqloom as sl
        >>> relu(sl.tensor.backend("numpy").tensor([-1.0, 2.0])).numpy().tolist()
        [0.0, 2.0]
    """
    if is_inexact(x):
        return apply("relu", x)
    require_numbers("relu", x)
    return apply("maximum", x, 0)


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`x` where it is positive, a share of it elsewhere (Maas et al. 2013).

    Args:
        x: A tensor of any shape.
        negative_slope: The share.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> leaky_relu(x, 0.5).numpy().tolist()
        [-0.5, 2.0]
    """
    return apply("where", x > 0, x, x * negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere (Clevert et al. 2016).

    Args:
        x: A tensor of any shape.
        alpha: Minus the value far below zero.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> elu(sl.tensor.backend("numpy").tensor([-100.0, 2.0])).numpy().tolist()
        [-1.0, 2.0]
    """
    above = x > 0
    below = apply("expm1", apply("where", above, 0.0, x)) * alpha
    return apply("where", above, x, below)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """``x * Phi(x)``, Phi the normal distribution (Hendrycks and Gimpel 2016).

    Args:
        x: A tensor of any shape.
        approximate: ``"none"``, or ``"tanh"`` for the form with a hyperbolic tangent.

    Returns:
        A tensor of that shape.

    Raises:
        ArgumentError: `approximate` is neither.
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> gelu(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("gelu", x)
    if approximate == "none":
        return apply("gelu", x)
    if approximate != "tanh":
        raise ArgumentError(f'approximate must be "none" or "tanh", got {approximate!r}')
    inside = (x + x * x * x * 0.044715) * _ROOT
    return x * 0.5 * (apply("tanh", inside) + 1.0)


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """The first half of an axis times `sigmoid` of the second (Dauphin et al. 2017).

    Args:
        x: A tensor of one axis or more.
        dim: Which axis; its length is even.

    Returns:
        A tensor half as long on that axis.

    Raises:
        ShapeError: The length of the axis is odd.
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> glu(sl.tensor.backend("numpy").tensor([4.0, 0.0])).tolist()
        [2.0]
    """
    require_floats("glu", x)
    length = x.shape[dim]
    if length % 2:
        raise ShapeError(f"glu: axis {dim} of {x.shape} must have an even length")
    first, second = split(x, length // 2, dim) if length else (x, x)
    return first * sigmoid(second)


def silu(x: Tensor) -> Tensor:
    """``x * sigmoid(x)`` (Elfwing et al. 2018).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> silu(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("silu", x)
    return apply("silu", x)


def sigmoid(x: Tensor) -> Tensor:
    """``1 / (1 + exp(-x))``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> sigmoid(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.5]
    """
    if not is_inexact(x):
        x = x.astype(x.backend.float_dtype)
    return apply("sigmoid", x)


def tanh(x: Tensor) -> Tensor:
    """The hyperbolic tangent.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> tanh(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    return apply("tanh", x)


def softplus(x: Tensor, beta: float = 1.0, threshold: float | None = None) -> Tensor:
    """``log(1 + exp(beta * x)) / beta``, without overflow.

    Args:
        x: A tensor of any shape.
        beta: How sharp the bend is.
        threshold: Where ``beta * x`` is more, give `x` itself, as torch does from 20 on;
            default nowhere: the exact value needs no help.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> softplus(sl.tensor.backend("numpy").tensor([100.0])).numpy().tolist()
        [100.0]
    """
    require_floats("softplus", x)
    found = apply("softplus", x) if beta == 1 else apply("softplus", x * beta) / beta
    return found if threshold is None else apply("where", x * beta > threshold, x, found)


def logsigmoid(x: Tensor) -> Tensor:
    """The logarithm of the sigmoid, without overflow.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape, of numbers below 0.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> logsigmoid(sl.tensor.backend("numpy").tensor([-100.0])).numpy().tolist()
        [-100.0]
    """
    require_floats("logsigmoid", x)
    return -apply("softplus", -x)


def mish(x: Tensor) -> Tensor:
    """``x * tanh(softplus(x))`` (Misra 2019).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> mish(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("mish", x)
    return x * apply("tanh", apply("softplus", x))


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Exponentials along an axis, divided by their sum.

    Args:
        x: A tensor of any shape.
        dim: The axis.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> softmax(sl.tensor.backend("numpy").tensor([1.0, 1.0])).numpy().tolist()
        [0.5, 0.5]
    """
    require_floats("softmax", x)
    return apply("softmax", x, **_along(x, dim))


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """The logarithm of `softmax`, without its rounding.

    Args:
        x: A tensor of any shape.
        dim: The axis.

    Returns:
        A tensor of that shape.

    Raises:
        DTypeError: `x` holds whole numbers.

    Examples:
        >>> import seqloom as sl
        >>> log_softmax(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("log_softmax", x)
    return apply("log_softmax", x, **_along(x, dim))


def _along(x: Tensor, dim: int) -> dict[str, int]:
    """The axis where it is not the last one."""
    return {} if dim in {-1, x.ndim - 1} else {"axis": dim}
