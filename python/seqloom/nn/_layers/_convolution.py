"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._stored import Param, get_value
from seqloom.nn.functional._convolutions import same_padding
from seqloom.nn.functional._geometry import number, pair

if TYPE_CHECKING:
    from seqloom.tensor import Tensor


class Conv1d(Module):
    """Cross-correlation along the last axis.

    Args:
        in_channels: Channels before.
        out_channels: Channels after.
        kernel_size: Places that one output sees.
        stride: Places from one window to the next.
        padding: Zeros before and after, or ``"same"``.
        dilation: Places from one weight to the next.
        bias: Whether to add one.
        groups: 1 alone; `functional.conv1d` takes more.

    Raises:
        ArgumentError: A size is no whole number, or too small.

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
        size = number("kernel_size", kernel_size, 1)
        fan_in = FanIn(inside * size)
        self.weight = Param((outside, inside, size), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None
        self.stride = number("stride", stride, 1)
        self.dilation = number("dilation", dilation, 1)
        if isinstance(padding, str):
            padding = same_padding(size, self.stride, padding, self.dilation)
        self.padding = number("padding", padding, 0)

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
    """Says where convolutions of groups are, which the layers do not make."""
    if groups != 1:
        raise ArgumentError(
            f"groups must be 1 in this layer, got {groups!r}; write a Module with a Param "
            f"as weight that calls sl.nn.functional.{function}(..., groups={groups!r})"
        )


Size = int | tuple[int, int]


class Conv2d(Module):
    """Cross-correlation along the last two axes.

    Args:
        in_channels: Channels before.
        out_channels: Channels after.
        kernel_size: Places that one output sees along each axis.
        stride: Places from one window to the next.
        padding: Zeros around.
        dilation: Places from one weight to the next.
        bias: Whether to add one.
        groups: 1 alone; `functional.conv2d` takes more.

    Raises:
        ArgumentError: A size is no whole number, or too small.

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
        sizes = pair("kernel_size", kernel_size, 1)
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
