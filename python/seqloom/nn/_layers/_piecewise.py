"""Activations made of pieces, as modules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.nn import functional
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._stored import Param

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class ReLU(Module):
    """Computes ``max(x, 0)``.

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> sl.nn.ReLU()(x).numpy().tolist()
        [0.0, 2.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.relu(x)


class ReLU6(Module):
    """Limits values to [0, 6] (Howard et al. 2017).

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 9.0])
        >>> sl.nn.ReLU6()(x).numpy().tolist()
        [0.0, 6.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.relu6(x)


class LeakyReLU(Module):
    """Multiplies negative values by a slope (Maas et al. 2013).

    Args:
        negative_slope: Slope of the negative side.
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

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
        """Maps a tensor of any shape."""
        return functional.leaky_relu(x, self.negative_slope)


class PReLU(Module):
    """Multiplies negative values by a learned slope (He et al. 2015).

    Args:
        num_parameters: Number of slopes: 1, or one for each channel, which is axis 1.
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
        """Maps ``(n, c, ...)``, or any shape if there is one slope."""
        return functional.prelu(x, self.weight.value)


class ELU(Module):
    """Replaces negative values by ``alpha * (exp(x) - 1)`` (Clevert et al. 2016).

    Args:
        alpha: Factor; the limit for very negative values is ``-alpha``.
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

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
        """Maps a tensor of any shape."""
        return functional.elu(x, self.alpha)


class SELU(Module):
    """Scales an `ELU` to keep mean 0 and variance 1 (Klambauer et al. 2017).

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([0.0, 1.0])
        >>> sl.nn.SELU()(x).numpy().round(4).tolist()
        [0.0, 1.0506999492645264]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.selu(x)


class CELU(Module):
    """Replaces negative values by ``alpha * (exp(x / alpha) - 1)`` (Barron 2017).

    Args:
        alpha: The limit for very negative values is ``-alpha``.
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-100.0, 2.0])
        >>> sl.nn.CELU(0.5)(x).numpy().tolist()
        [-0.5, 2.0]
    """

    alpha: float

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        self.alpha = alpha
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.celu(x, self.alpha)


class Hardtanh(Module):
    """Limits values to an interval.

    Args:
        min_val: Lower limit.
        max_val: Upper limit.
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-3.0, 0.5])
        >>> sl.nn.Hardtanh()(x).numpy().tolist()
        [-1.0, 0.5]
    """

    min_val: float
    max_val: float

    def __init__(
        self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
    ) -> None:
        self.min_val = min_val
        self.max_val = max_val
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.hardtanh(x, self.min_val, self.max_val)


class Hardsigmoid(Module):
    """Computes ``min(max(x + 3, 0), 6) / 6``.

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-4.0, 0.0])
        >>> sl.nn.Hardsigmoid()(x).numpy().tolist()
        [0.0, 0.5]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.hardsigmoid(x)


class Hardswish(Module):
    """Computes ``x * hardsigmoid(x)`` (Howard et al. 2019).

    Args:
        inplace: Changes nothing, because no tensor is overwritten; here for torch's calls.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-4.0, 5.0])
        >>> sl.nn.Hardswish()(x).numpy().tolist()
        [0.0, 5.0]
    """

    def __init__(self, inplace: bool = False) -> None:
        del inplace

    def __call__(self, x: Tensor) -> Tensor:
        """Maps a tensor of any shape."""
        return functional.hardswish(x)
