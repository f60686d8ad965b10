"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._stored import Param, value_of
from seqloom.nn.functional._convolutions import same_padding

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
        kernel_size: int,
        stride: int = 1,
        padding: int | str = 0,
        dilation: int = 1,
        bias: bool = True,
    ) -> None:
        fan_in = FanIn(in_channels * kernel_size)
        self.weight = Param((out_channels, in_channels, kernel_size), fan_in)
        self.bias = Param((out_channels,), fan_in) if bias else None
        self.stride, self.dilation = stride, dilation
        if isinstance(padding, str):
            padding = same_padding(kernel_size, stride, padding, dilation)
        self.padding = padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, l)`` to ``(n, out, l')``."""
        return functional.conv1d(
            x,
            self.weight.value,
            value_of(self.bias),
            self.stride,
            self.padding,
            self.dilation,
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
    ) -> None:
        pair = (kernel_size,) * 2 if isinstance(kernel_size, int) else kernel_size
        fan_in = FanIn(in_channels * pair[0] * pair[1])
        self.weight = Param((out_channels, in_channels, *pair), fan_in)
        self.bias = Param((out_channels,), fan_in) if bias else None
        self.stride, self.padding, self.dilation = stride, padding, dilation

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, h, w)`` to ``(n, out, h', w')``."""
        return functional.conv2d(
            x,
            self.weight.value,
            value_of(self.bias),
            self.stride,
            self.padding,
            self.dilation,
        )
