"""Layer norm and RMS norm: each row is normalised by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn import functional
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._stored import Param
from seqloom.nn.functional._norms import axes_of

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class LayerNorm(Module):
    """Normalises rows to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the variance.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.LayerNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[1.0, 3.0]])).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """

    weight: Param
    bias: Param
    eps: float

    def __init__(self, normalized_shape: int | tuple[int, ...], eps: float = 1e-5) -> None:
        shape = axes_of(normalized_shape)
        self.weight, self.bias = Param(shape, Fill(1.0)), Param(shape, Fill(0.0))
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        weight, bias = self.weight.value, self.bias.value
        return functional.layer_norm(x, self.weight.shape, weight, bias, self.eps)


class RMSNorm(Module):
    """Divides rows by their root mean square, then scales (Zhang and Sennrich 2019).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.RMSNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[3.0, 3.0]])).numpy().round(2).tolist()
        [[1.0, 1.0]]
    """

    weight: Param
    eps: float | None

    def __init__(
        self, normalized_shape: int | tuple[int, ...], eps: float | None = None
    ) -> None:
        self.weight = Param(axes_of(normalized_shape), Fill(1.0))
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        return functional.rms_norm(x, self.weight.shape, self.weight.value, self.eps)
