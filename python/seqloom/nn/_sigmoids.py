"""Sigmoid, tanh, softplus, softmax, their logarithms, and gated linear units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ShapeError
from seqloom.nn._module import Module
from seqloom.nn._operands import is_inexact, require_floats
from seqloom.tensor import apply, split

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


def sigmoid(x: Tensor) -> Tensor:
    """Compute the sigmoid: ``1 / (1 + exp(-x))``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> sigmoid(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.5]
    """
    if not is_inexact(x):
        x = x.astype(x.backend.float_dtype)
    return apply("sigmoid", x)


class Sigmoid(Module):
    """Sigmoid: ``1 / (1 + exp(-x))``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.Sigmoid()(x).numpy().tolist()
        [0.5]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return sigmoid(x)


def logsigmoid(x: Tensor) -> Tensor:
    """Compute the logarithm of `sigmoid` without overflow.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`, with negative values.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> logsigmoid(sl.tensor.backend("numpy").tensor([-100.0])).numpy().tolist()
        [-100.0]
    """
    require_floats("logsigmoid", x)
    return -apply("softplus", -x)


class LogSigmoid(Module):
    """Logarithm of the sigmoid, computed without overflow.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-100.0])
        >>> sl.nn.LogSigmoid()(x).numpy().tolist()
        [-100.0]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return logsigmoid(x)


def tanh(x: Tensor) -> Tensor:
    """Compute the hyperbolic tangent.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> tanh(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    return apply("tanh", x)


class Tanh(Module):
    """Hyperbolic tangent.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.Tanh()(x).numpy().tolist()
        [0.0]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return tanh(x)


def softsign(x: Tensor) -> Tensor:
    """Compute ``x / (1 + |x|)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softsign(sl.tensor.backend("numpy").tensor([-1.0, 3.0])).numpy().tolist()
        [-0.5, 0.75]
    """
    require_floats("softsign", x)
    return x / (abs(x) + 1.0)


def softplus(x: Tensor, beta: float = 1.0, threshold: float | None = None) -> Tensor:
    """Compute ``log(1 + exp(beta * x)) / beta`` without overflow.

    Args:
        x: A tensor of any shape.
        beta: Sharpness of the bend at 0.
        threshold: Limit of ``beta * x``, above which the result is `x`; 20 in PyTorch.
            By default there is no limit, because the result does not overflow.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softplus(sl.tensor.backend("numpy").tensor([100.0])).numpy().tolist()
        [100.0]
    """
    require_floats("softplus", x)
    out = apply("softplus", x) if beta == 1 else apply("softplus", x * beta) / beta
    return out if threshold is None else apply("where", x * beta > threshold, x, out)


class Softplus(Module):
    """Softplus: ``log(1 + exp(beta * x)) / beta``, without overflow.

    Args:
        beta: Sharpness of the bend at 0.
        threshold: Limit of ``beta * x``, above which the result is `x`; None for no
            limit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([100.0])
        >>> sl.nn.Softplus()(x).numpy().tolist()
        [100.0]
    """

    beta: float
    threshold: float | None

    def __init__(self, beta: float = 1.0, threshold: float | None = 20.0) -> None:
        self.beta, self.threshold = beta, threshold

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return softplus(x, self.beta, self.threshold)


def glu(x: Tensor, dim: int = -1) -> Tensor:
    """Multiply the first half of an axis by `sigmoid` of the second (Dauphin et al. 2017).

    Args:
        x: A tensor with at least one axis.
        dim: Axis to split; its length must be even.

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


class GLU(Module):
    """Gated linear unit: half of an axis times sigmoid of the other half (Dauphin 2017).

    Args:
        dim: Axis to split; its length must be even.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([4.0, 0.0])
        >>> sl.nn.GLU()(x).numpy().tolist()
        [2.0]
    """

    dim: int

    def __init__(self, dim: int = -1) -> None:
        self.dim = dim

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the gate to a tensor of any shape."""
        return glu(x, self.dim)


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Compute the softmax along an axis: ``exp(x) / sum(exp(x))``.

    Args:
        x: A tensor of any shape.
        dim: Axis along which the result sums to 1.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softmax(sl.tensor.backend("numpy").tensor([1.0, 1.0])).numpy().tolist()
        [0.5, 0.5]
    """
    require_floats("softmax", x)
    return apply("softmax", x, **_axis_option(dim))


class Softmax(Module):
    """Softmax along an axis: ``exp(x) / sum(exp(x))``.

    Args:
        dim: Axis along which the result sums to 1.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 1.0])
        >>> sl.nn.Softmax(-1)(x).numpy().tolist()
        [0.5, 0.5]
    """

    dim: int

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the softmax to a tensor of any shape."""
        return softmax(x, self.dim)


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """Compute the logarithm of `softmax` more precisely than ``log(softmax(x))``.

    Args:
        x: A tensor of any shape.
        dim: Axis of the softmax.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> log_softmax(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("log_softmax", x)
    return apply("log_softmax", x, **_axis_option(dim))


class LogSoftmax(Module):
    """Logarithm of the softmax, computed without loss of precision.

    Args:
        dim: Axis of the softmax.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.LogSoftmax(-1)(x).numpy().tolist()
        [0.0]
    """

    dim: int

    def __init__(self, dim: int) -> None:
        self.dim = dim

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the logarithm of the softmax to a tensor of any shape."""
        return log_softmax(x, self.dim)


def _axis_option(dim: int) -> dict[str, int]:
    """Return the axis as a keyword argument; omit the last axis, which is the default."""
    return {} if dim == -1 else {"axis": dim}
