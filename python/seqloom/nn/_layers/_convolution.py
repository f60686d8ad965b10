"""Modules that convolve along one axis or two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._stored import Param, get_value
from seqloom.nn.functional._convolutions import same_padding
from seqloom.nn.functional._geometry import as_size, as_sizes

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class Conv1d(Module):
    """Computes the cross-correlation along the last axis.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows.
        padding: Number of zeros before and after, or ``"same"``.
        dilation: Distance between neighbouring weights of the kernel.
        bias: Whether to add a bias.
        groups: Must be 1; `functional.conv1d` takes more.

    Raises:
        ArgumentError: A size is not an integer, or too small.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv1d(4, 8, 5, padding="same").bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 60] * 4])).shape
        (1, 8, 60)
    """

    weight: Param
    bias: Param | None
    stride: int
    padding: int
    dilation: int

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int],
        stride: int | tuple[int] = 1,
        padding: int | tuple[int] | str = 0,
        dilation: int | tuple[int] = 1,
        bias: bool = True,
        *,
        groups: int = 1,
    ) -> None:
        _require_one_group("conv1d", groups)
        inside = as_integer("in_channels", in_channels)
        outside = as_integer("out_channels", out_channels)
        size = as_size("kernel_size", kernel_size, 1)
        fan_in = FanIn(inside * size)
        self.weight = Param((outside, inside, size), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None
        self.stride = as_size("stride", stride, 1)
        self.dilation = as_size("dilation", dilation, 1)
        if isinstance(padding, str):
            padding = same_padding(size, self.stride, padding, self.dilation)
        self.padding = as_size("padding", padding, 0)

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, l)`` to ``(n, out, l')``."""
        return functional.conv1d(
            x,
            self.weight.value,
            get_value(self.bias),
            self.stride,
            self.padding,
            self.dilation,
        )


def _require_one_group(function: str, groups: int) -> None:
    """Refuses several groups; names the function that takes them."""
    if groups != 1:
        raise ArgumentError(
            f"groups must be 1 in this layer, got {groups!r}; write a Module with a Param "
            f"as weight that calls sl.nn.functional.{function}(..., groups={groups!r})"
        )


Size = int | tuple[int, int]


class Conv2d(Module):
    """Computes the cross-correlation along the last two axes.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window, for each axis or for both.
        stride: Distance between neighbouring windows.
        padding: Number of zeros on each side.
        dilation: Distance between neighbouring weights of the kernel.
        bias: Whether to add a bias.
        groups: Must be 1; `functional.conv2d` takes more.

    Raises:
        ArgumentError: A size is not an integer, or too small.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv2d(1, 8, 3, padding=1).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[[0.0] * 5] * 4]])).shape
        (1, 8, 4, 5)
    """

    weight: Param
    bias: Param | None
    stride: Size
    padding: Size
    dilation: Size

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        bias: bool = True,
        *,
        groups: int = 1,
    ) -> None:
        _require_one_group("conv2d", groups)
        inside = as_integer("in_channels", in_channels)
        outside = as_integer("out_channels", out_channels)
        sizes = as_sizes("kernel_size", kernel_size, 1, 2)
        fan_in = FanIn(inside * sizes[0] * sizes[1])
        self.weight = Param((outside, inside, *sizes), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None
        self.stride, self.padding, self.dilation = stride, padding, dilation

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, h, w)`` to ``(n, out, h', w')``."""
        return functional.conv2d(
            x,
            self.weight.value,
            get_value(self.bias),
            self.stride,
            self.padding,
            self.dilation,
        )
