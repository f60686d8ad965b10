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
    """Computes ``max(x, 0)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has a boolean type.

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
    """Multiplies negative values by a slope (Maas et al. 2013).

    Args:
        x: A tensor of any shape.
        negative_slope: Slope of the negative side.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> leaky_relu(x, 0.5).numpy().tolist()
        [-0.5, 2.0]
    """
    return apply("where", x > 0, x, x * negative_slope)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Replaces negative values by ``alpha * (exp(x) - 1)`` (Clevert et al. 2016).

    Args:
        x: A tensor of any shape.
        alpha: Factor; the limit for very negative values is ``-alpha``.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> import seqloom as sl
        >>> elu(sl.tensor.backend("numpy").tensor([-100.0, 2.0])).numpy().tolist()
        [-1.0, 2.0]
    """
    above = x > 0
    below = apply("expm1", apply("where", above, 0.0, x)) * alpha
    return apply("where", above, x, below)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Computes ``x * Phi(x)`` of the normal distribution (Hendrycks and Gimpel 2016).

    Args:
        x: A tensor of any shape.
        approximate: ``"none"``, or ``"tanh"`` for the form with a hyperbolic tangent.

    Returns:
        A tensor of the same shape.

    Raises:
        ArgumentError: `approximate` has another value.
        DTypeError: `x` has an integer or boolean type.

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
    """Multiplies half of an axis by `sigmoid` of the other half (Dauphin et al. 2017).

    Args:
        x: A tensor of one axis or more.
        dim: Axis of an even length.

    Returns:
        A tensor with half the length along the axis.

    Raises:
        ShapeError: The length of the axis is odd.
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> glu(sl.tensor.backend("numpy").tensor([4.0, 0.0])).tolist()
        [2.0]
    """
    require_floats("glu", x)
    length = x.shape[dim]
    if length % 2:
        raise ShapeError(
            f"glu: axis dim={dim} must have an even length, got shape {x.shape}"
        )
    first, second = split(x, length // 2, dim) if length else (x, x)
    return first * sigmoid(second)


def silu(x: Tensor) -> Tensor:
    """Computes ``x * sigmoid(x)`` (Elfwing et al. 2018).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> silu(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("silu", x)
    return apply("silu", x)


def sigmoid(x: Tensor) -> Tensor:
    """Computes ``1 / (1 + exp(-x))``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> import seqloom as sl
        >>> sigmoid(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.5]
    """
    if not is_inexact(x):
        x = x.astype(x.backend.float_dtype)
    return apply("sigmoid", x)


def tanh(x: Tensor) -> Tensor:
    """Computes the hyperbolic tangent.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Examples:
        >>> import seqloom as sl
        >>> tanh(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    return apply("tanh", x)


def softplus(x: Tensor, beta: float = 1.0, threshold: float | None = None) -> Tensor:
    """Computes ``log(1 + exp(beta * x)) / beta`` without overflow.

    Args:
        x: A tensor of any shape.
        beta: Sharpness of the bend at 0.
        threshold: Returns `x` itself where ``beta * x`` is greater (20 in torch); default:
            nowhere, because the exact value does not overflow.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softplus(sl.tensor.backend("numpy").tensor([100.0])).numpy().tolist()
        [100.0]
    """
    require_floats("softplus", x)
    found = apply("softplus", x) if beta == 1 else apply("softplus", x * beta) / beta
    return found if threshold is None else apply("where", x * beta > threshold, x, found)


def logsigmoid(x: Tensor) -> Tensor:
    """Computes the logarithm of `sigmoid` without overflow.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape, with negative values.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> logsigmoid(sl.tensor.backend("numpy").tensor([-100.0])).numpy().tolist()
        [-100.0]
    """
    require_floats("logsigmoid", x)
    return -apply("softplus", -x)


def mish(x: Tensor) -> Tensor:
    """Computes ``x * tanh(softplus(x))`` (Misra 2019).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> mish(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("mish", x)
    return x * apply("tanh", apply("softplus", x))


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Divides exponentials by their sum along an axis.

    Args:
        x: A tensor of any shape.
        dim: Axis of the sum.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softmax(sl.tensor.backend("numpy").tensor([1.0, 1.0])).numpy().tolist()
        [0.5, 0.5]
    """
    require_floats("softmax", x)
    return apply("softmax", x, **_axis_option(x, dim))


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Computes the logarithm of `softmax` more precisely than ``log(softmax(x))``.

    Args:
        x: A tensor of any shape.
        dim: Axis of the sum.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> log_softmax(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("log_softmax", x)
    return apply("log_softmax", x, **_axis_option(x, dim))


def _axis_option(x: Tensor, dim: int) -> dict[str, int]:
    """Returns the axis as an option unless it is the last."""
    return {} if dim in {-1, x.ndim - 1} else {"axis": dim}
