"""Rectifier activations: ReLU, LeakyReLU, PReLU, ELU, CELU, GELU, SiLU and Mish."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom._arguments import as_choice, as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._operands import is_inexact, require_floats, require_numbers
from seqloom.nn._parameters import Param
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

_GELU_SCALE = math.sqrt(2 / math.pi)


def relu(x: Tensor) -> Tensor:
    """Compute ``max(x, 0)``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

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


class ReLU(Module):
    """Rectified linear unit: ``max(x, 0)``.

    Args:
        inplace: Ignored argument, accepted for compatibility with PyTorch.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> sl.nn.ReLU()(x).numpy().tolist()
        [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return relu(x)


def leaky_relu(x: Tensor, negative_slope: float = 0.01) -> Tensor:
    """Compute the leaky ReLU: multiply negative values by a slope (Maas et al. 2013).

    Args:
        x: A tensor of any shape.
        negative_slope: Factor of negative values.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> leaky_relu(x, 0.5).numpy().tolist()
        [-0.5, 2.0]
    """
    return apply("where", x > 0, x, x * negative_slope)


class LeakyReLU(Module):
    """Leaky ReLU: multiplies negative values by a slope (Maas et al. 2013).

    Args:
        negative_slope: Factor of negative values.
        inplace: Ignored argument, accepted for compatibility with PyTorch.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> sl.nn.LeakyReLU(0.5)(x).numpy().tolist()
        [-0.5, 2.0]
    """

    negative_slope: float

    def __init__(self, negative_slope: float = 0.01, inplace: bool = False) -> None:
        self.negative_slope = negative_slope
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return leaky_relu(x, self.negative_slope)


def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """Compute the PReLU: multiply negative values by a learned slope (He et al. 2015).

    Args:
        x: A tensor; axis 1 is the channel.
        weight: Slopes ``(1,)``, or ``(c,)`` with a slope for each channel.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        ShapeError: The length of `weight` is neither 1 nor the number of channels.

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


class PReLU(Module):
    """Parametric ReLU: multiplies negative values by a learned slope (He et al. 2015).

    Args:
        num_parameters: Number of slopes: 1, or one for each channel (axis 1).
        init: Initial slope.

    Raises:
        ArgumentError: `num_parameters` is not an integer of at least 1.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.PReLU().bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([-1.0, 2.0])).numpy().tolist()
        [-0.25, 2.0]
    """

    weight: Param

    def __init__(self, num_parameters: int = 1, init: float = 0.25) -> None:
        count = as_integer("num_parameters", num_parameters, least=1)
        self.weight = Param((count,), Fill(init))

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to ``(n, c, ...)``; with one slope, to any shape."""
        return prelu(x, self.weight.value)


def elu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Compute the ELU: ``alpha * (exp(x) - 1)`` if x < 0, else x (Clevert et al. 2016).

    Args:
        x: A tensor of any shape.
        alpha: Factor of ``exp(x) - 1``; the result for very negative values approaches
            ``-alpha``.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> elu(sl.tensor.backend("numpy").tensor([-100.0, 2.0])).numpy().tolist()
        [-1.0, 2.0]
    """
    above = x > 0
    below = apply("expm1", apply("where", above, 0.0, x)) * alpha
    return apply("where", above, x, below)


class ELU(Module):
    """Exponential linear unit: ``alpha * (exp(x) - 1)`` if x < 0 (Clevert et al. 2016).

    Args:
        alpha: Factor of ``exp(x) - 1``; the result for very negative values approaches
            ``-alpha``.
        inplace: Ignored argument, accepted for compatibility with PyTorch.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-100.0, 2.0])
        >>> sl.nn.ELU()(x).numpy().tolist()
        [-1.0, 2.0]
    """

    alpha: float

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return elu(x, self.alpha)


def celu(x: Tensor, alpha: float = 1.0) -> Tensor:
    """Compute the CELU: ``alpha * (exp(x / alpha) - 1)`` if x < 0 (Barron 2017).

    Args:
        x: A tensor of any shape.
        alpha: Scale of the exponential; the result for very negative values approaches
            ``-alpha``.

    Returns:
        A tensor with the shape of `x`.

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


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """Compute the GELU: x times the normal distribution function (Hendrycks, Gimpel 2016).

    Args:
        x: A tensor of any shape.
        approximate: ``"none"`` for the exact GELU, or ``"tanh"`` for an approximation by
            the hyperbolic tangent.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        ArgumentError: `approximate` is neither ``"none"`` nor ``"tanh"``.
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
    inside = (x + x * x * x * 0.044715) * _GELU_SCALE
    return x * 0.5 * (apply("tanh", inside) + 1.0)


class GELU(Module):
    """Gaussian error linear unit: ``x * Phi(x)`` (Hendrycks and Gimpel 2016).

    Phi is the cumulative distribution function of the standard normal distribution.

    Args:
        approximate: ``"none"`` for the exact GELU, or ``"tanh"`` for an approximation by
            the hyperbolic tangent.

    Raises:
        ArgumentError: `approximate` is neither ``"none"`` nor ``"tanh"``.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.GELU()(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = as_choice("approximate", approximate, ("none", "tanh"))

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return gelu(x, self.approximate)


def silu(x: Tensor) -> Tensor:
    """Compute the SiLU (Swish): ``x * sigmoid(x)`` (Elfwing et al. 2018).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> silu(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("silu", x)
    return apply("silu", x)


class SiLU(Module):
    """Sigmoid linear unit (Swish): ``x * sigmoid(x)`` (Elfwing et al. 2018).

    Args:
        inplace: Ignored argument, accepted for compatibility with PyTorch.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.SiLU()(x).numpy().tolist()
        [0.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Apply the activation to a tensor of any shape."""
        return silu(x)


def mish(x: Tensor) -> Tensor:
    """Compute ``x * tanh(softplus(x))`` (Misra 2019).

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Raises:
        DTypeError: `x` has an integer or boolean type.

    Examples:
        >>> import seqloom as sl
        >>> mish(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """
    require_floats("mish", x)
    return x * apply("tanh", apply("softplus", x))
