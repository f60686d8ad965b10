"""Activations made of pieces: straight lines, and exponentials below 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn.functional._activations import elu
from seqloom.nn.functional._dtypes import require_floats, require_numbers
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

# The constants that keep mean 0 and variance 1 through layers (Klambauer et al. 2017).
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805
_BEND = 3.0  # where the straight sigmoid reaches 0 and 1


def hardtanh(x: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """Limits values to an interval.

    Args:
        x: A tensor of any shape.
        min_val: Lower limit.
        max_val: Upper limit.

    Returns:
        A tensor of the same shape.

    Raises:
        ArgumentError: `min_val` is above `max_val`.
        DTypeError: `x` has a boolean type.

    Examples:
        >>> import seqloom as sl
        >>> hardtanh(sl.tensor.backend("numpy").tensor([-3.0, 0.5])).numpy().tolist()
        [-1.0, 0.5]
    """
    if min_val > max_val:
        raise ArgumentError(f"min_val must be at most max_val={max_val}, got {min_val}")
    require_numbers("hardtanh", x)
    return _limit(x, min_val, max_val)


def relu6(x: Tensor) -> Tensor:
    """Limits values to [0, 6] (Howard et al. 2017).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has a boolean type.

    Examples:
        >>> import seqloom as sl
        >>> relu6(sl.tensor.backend("numpy").tensor([-1.0, 2.0, 9.0])).numpy().tolist()
        [0.0, 2.0, 6.0]
    """
    require_numbers("relu6", x)
    return _limit(x, 0, 6)


def hardsigmoid(x: Tensor) -> Tensor:
    """Computes ``min(max(x + 3, 0), 6) / 6``, a sigmoid of straight lines.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> hardsigmoid(sl.tensor.backend("numpy").tensor([-4.0, 0.0])).numpy().tolist()
        [0.0, 0.5]
    """
    require_floats("hardsigmoid", x)
    return _limit(x + _BEND, 0.0, 2 * _BEND) / (2 * _BEND)


def hardswish(x: Tensor) -> Tensor:
    """Computes ``x * hardsigmoid(x)`` (Howard et al. 2019).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> hardswish(sl.tensor.backend("numpy").tensor([-4.0, 5.0])).numpy().tolist()
        [0.0, 5.0]
    """
    require_floats("hardswish", x)
    # Not a product with 0 below -3, which would be -0 or, of an infinity, NaN.
    middle = x * hardsigmoid(x)
    positive = apply("where", x >= _BEND, x, middle)
    return apply("where", x <= -_BEND, 0.0, positive)


def selu(x: Tensor) -> Tensor:
    """Computes a scaled `elu` that keeps mean 0 and variance 1 (Klambauer et al. 2017).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> selu(sl.tensor.backend("numpy").tensor([1.0])).numpy().round(4).tolist()
        [1.0506999492645264]
    """
    require_floats("selu", x)
    return elu(x, _SELU_ALPHA) * _SELU_SCALE


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Replaces negative values by ``alpha * (exp(x / alpha) - 1)`` (Barron 2017).

    Args:
        x: A tensor of any shape.
        alpha: The limit for very negative values is ``-alpha``.

    Returns:
        A tensor of the same shape.

    Raises:
        ArgumentError: `alpha` is 0.
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> celu(sl.tensor.backend("numpy").tensor([-100.0, 2.0]), 0.5).numpy().tolist()
        [-0.5, 2.0]
    """
    if alpha == 0:
        raise ArgumentError("alpha must not be 0; use relu instead")
    require_floats("celu", x)
    return elu(x, alpha) if alpha == 1 else elu(x / alpha) * alpha


def softsign(x: Tensor) -> Tensor:
    """Computes ``x / (1 + |x|)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor of the same shape.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> softsign(sl.tensor.backend("numpy").tensor([-1.0, 3.0])).numpy().tolist()
        [-0.5, 0.75]
    """
    require_floats("softsign", x)
    return x / (abs(x) + 1.0)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """Multiplies negative values by a learned slope (He et al. 2015).

    Args:
        x: A tensor; channels are its axis 1.
        weight: ``(1,)``, or ``(c,)`` with a slope for each channel.

    Returns:
        A tensor of the same shape.

    Raises:
        ShapeError: `weight` has another length than 1 or the number of channels.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> prelu(B.tensor([[-1.0, -1.0]]), B.tensor([0.5, 0.25])).numpy().tolist()
        [[-0.5, -0.25]]
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.shape not in {(1,), (channels,)}:
        raise ShapeError(
            f"prelu: weight must have shape (1,) or ({channels},), one slope for each "
            f"channel of x, got {weight.shape}"
        )
    slope = weight
    if weight.shape[0] > 1:
        slope = apply("reshape", weight, (channels, *(1,) * (x.ndim - 2)))
    return apply("where", x > 0, x, x * slope)


def _limit(x: Tensor, least: float, most: float) -> Tensor:
    """Limits values; at a limit and beyond, the gradient is 0, as torch's."""
    above = apply("where", x <= least, least, x)  # so compared that NaN remains
    return apply("where", x >= most, most, above)
