"""Normalisation of each row by itself."""

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
    """Gives each row mean 0 and deviation 1, then weight and bias (Ba et al. 2016).

    Args:
        normalized_shape: The lengths of the last axes, or of the last one.
        eps: Added to the variance.

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
        """Any shape that ends so, to the same shape."""
        weight, bias = self.weight.value, self.bias.value
        return functional.layer_norm(x, self.weight.shape, weight, bias, self.eps)


class RMSNorm(Module):
    """Divides each row by the root of its mean square (Zhang and Sennrich 2019).

    Args:
        normalized_shape: The lengths of the last axes, or of the last one.
        eps: Added to the mean square; default the smallest step from 1.

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
        """Any shape that ends so, to the same shape."""
        return functional.rms_norm(x, self.weight.shape, self.weight.value, self.eps)
