"""Norms without running averages: layer norm, RMS norm and group norm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn import functional
from seqloom.nn._initialisers import Fill
from seqloom.nn._module import Module
from seqloom.nn._parts import require_axis, spell_layer
from seqloom.nn._stored import Param, get_value
from seqloom.nn.functional._geometry import as_size
from seqloom.nn.functional._norms import axes_of

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class LayerNorm(Module):
    """Normalises rows to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the variance.
        elementwise_affine: Whether to scale and shift by learned numbers.
        bias: Whether to shift; with `elementwise_affine` only.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.LayerNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[1.0, 3.0]])).numpy().round(2).tolist()
        [[-1.0, 1.0]]
    """

    weight: Param | None
    bias: Param | None
    normalized_shape: tuple[int, ...]
    eps: float

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
    ) -> None:
        self.normalized_shape = shape = axes_of(normalized_shape)
        self.weight = Param(shape, Fill(1.0)) if elementwise_affine else None
        self.bias = Param(shape, Fill(0.0)) if elementwise_affine and bias else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        weight, bias = get_value(self.weight), get_value(self.bias)
        _require_last(self, x, self.normalized_shape)
        return functional.layer_norm(x, self.normalized_shape, weight, bias, self.eps)


class RMSNorm(Module):
    """Divides rows by their root mean square, then scales (Zhang and Sennrich 2019).

    Args:
        normalized_shape: Lengths of the last axes, or of the last one.
        eps: Number added to the mean square; default: the machine epsilon of the dtype.
        elementwise_affine: Whether to scale by learned numbers.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.RMSNorm(2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[3.0, 3.0]])).numpy().round(2).tolist()
        [[1.0, 1.0]]
    """

    weight: Param | None
    normalized_shape: tuple[int, ...]
    eps: float | None

    def __init__(
        self,
        normalized_shape: int | tuple[int, ...],
        eps: float | None = None,
        elementwise_affine: bool = True,
    ) -> None:
        self.normalized_shape = shape = axes_of(normalized_shape)
        self.weight = Param(shape, Fill(1.0)) if elementwise_affine else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises a tensor whose last axes are `normalized_shape`."""
        weight = get_value(self.weight)
        _require_last(self, x, self.normalized_shape)
        return functional.rms_norm(x, self.normalized_shape, weight, self.eps)


def _require_last(layer: Module, x: Tensor, lengths: tuple[int, ...]) -> None:
    """Refuses an input whose last axes have other lengths."""
    if tuple(x.shape[-len(lengths) :]) != lengths:
        form = ", ".join(("...", *map(str, lengths)))
        raise ShapeError(
            f"{spell_layer(layer)}: expected x of shape ({form}), got {tuple(x.shape)}"
        )


class GroupNorm(Module):
    """Normalises each record over groups of its channels (Wu and He 2018).

    Args:
        num_groups: Number of groups, which divides `num_channels`.
        num_channels: Number of channels.
        eps: Number added to the variance.
        affine: Whether to scale and shift each channel by learned numbers.

    Raises:
        ArgumentError: A number is not an integer, or the groups do not divide the channels.

    Examples:
        >>> import seqloom as sl
        >>> norm = sl.nn.GroupNorm(1, 2).bind("numpy", sl.Key(0))
        >>> norm(norm.backend.tensor([[[1.0], [3.0]]])).numpy().round(2).tolist()
        [[[-1.0], [1.0]]]
    """

    weight: Param | None
    bias: Param | None
    num_groups: int
    eps: float

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True
    ) -> None:
        self.num_groups = as_size("num_groups", num_groups, 1)
        shape = (as_integer("num_channels", num_channels),)
        if num_channels % num_groups:
            raise ArgumentError(
                f"num_channels must be a multiple of num_groups={num_groups}, got "
                f"{num_channels}"
            )
        self.weight = Param(shape, Fill(1.0)) if affine else None
        self.bias = Param(shape, Fill(0.0)) if affine else None
        self.eps = eps

    def __call__(self, x: Tensor) -> Tensor:
        """Normalises ``(n, c, ...)``."""
        weight, bias = get_value(self.weight), get_value(self.bias)
        if self.weight is not None:
            (channels,) = self.weight.shape
            require_axis(self, x, 1, channels, form=f"(n, {channels}, ...)")
        return functional.group_norm(x, self.num_groups, weight, bias, self.eps)
