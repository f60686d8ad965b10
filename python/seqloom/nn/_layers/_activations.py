"""Smooth activations, as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_choice
from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class GELU(Module):
    """Computes ``x * Phi(x)`` of the normal distribution (Hendrycks and Gimpel 2016).

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the form with a hyperbolic tangent.

    Raises:
        ArgumentError: `approximate` has another value.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.GELU()(sl.tensor.backend("numpy").tensor([0.0])).numpy().tolist()
        [0.0]
    """

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        self.approximate = as_choice("approximate", approximate, ("none", "tanh"))

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.gelu(x, self.approximate)


class SiLU(Module):
    """Computes ``x * sigmoid(x)`` (Elfwing et al. 2018).

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.SiLU()(x).numpy().tolist()
        [0.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.silu(x)


class Mish(Module):
    """Computes ``x * tanh(softplus(x))`` (Misra 2019).

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.Mish()(x).numpy().tolist()
        [0.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.mish(x)


class Sigmoid(Module):
    """Computes ``1 / (1 + exp(-x))``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.Sigmoid()(x).numpy().tolist()
        [0.5]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.sigmoid(x)


class LogSigmoid(Module):
    """Computes the logarithm of `Sigmoid` without overflow.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-100.0])
        >>> sl.nn.LogSigmoid()(x).numpy().tolist()
        [-100.0]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.logsigmoid(x)


class Tanh(Module):
    """Computes the hyperbolic tangent.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0])
        >>> sl.nn.Tanh()(x).numpy().tolist()
        [0.0]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.tanh(x)


class Softplus(Module):
    """Computes ``log(1 + exp(beta * x)) / beta`` without overflow.

    Args:
        beta: Sharpness of the bend at 0.
        threshold: Returns `x` itself where ``beta * x`` is greater; None for nowhere.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([100.0])
        >>> sl.nn.Softplus()(x).numpy().tolist()
        [100.0]
    """

    beta: float
    threshold: float | None

    def __init__(self, beta: float = 1.0, threshold: float | None = 20.0) -> None:
        self.beta = beta
        self.threshold = threshold

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.softplus(x, self.beta, self.threshold)


class Softsign(Module):
    """Computes ``x / (1 + |x|)``.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([3.0])
        >>> sl.nn.Softsign()(x).numpy().tolist()
        [0.75]
    """

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.softsign(x)


class Softmax(Module):
    """Divides exponentials by their sum along an axis.

    Args:
        dim: Axis of the sum.

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
        """Maps a tensor of any shape."""
        return functional.softmax(x, self.dim)


class LogSoftmax(Module):
    """Computes the logarithm of `Softmax` without loss of precision.

    Args:
        dim: Axis of the sum.

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
        """Maps a tensor of any shape."""
        return functional.log_softmax(x, self.dim)


class GLU(Module):
    """Multiplies half of an axis by the sigmoid of the other (Dauphin et al. 2017).

    Args:
        dim: Axis of an even length.

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
        """Maps a tensor of any shape."""
        return functional.glu(x, self.dim)
