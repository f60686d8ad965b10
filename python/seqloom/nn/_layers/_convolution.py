"""Modules that convolve along one axis or two, and their common constructor."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_choice, as_integer
from seqloom.errors import ArgumentError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._parts import require_axis
from seqloom.nn._stored import Param, get_value
from seqloom.nn.functional._convolutions import find_same_padding
from seqloom.nn.functional._geometry import as_option, as_size, as_sizes

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

Line = int | tuple[int]  # a size along one axis
Size = int | tuple[int, int]  # a size for each of two axes, or for both
Sizes = int | tuple[int, ...]
_MODES = ("zeros", "reflect", "replicate", "circular")


class Convolution(Module):
    """A convolution along any number of axes."""

    weight: Param
    bias: Param | None
    stride: Sizes
    padding: Sizes
    dilation: Sizes
    groups: int
    padding_mode: str
    edges: tuple[int, ...] | None

    def _declare(
        self,
        channels: tuple[int, int],
        windows: tuple[Sizes, Sizes, Sizes],
        around: tuple[Sizes | str, str],
        *,
        axes: int,
        groups: int,
        bias: bool,
    ) -> None:
        """Checks the sizes of a convolution, and declares its parameters."""
        names = "kernel_size", "stride", "dilation"
        kernel, stride, apart = (
            as_sizes(name, size, 1, axes) for name, size in zip(names, windows, strict=True)
        )
        self._declare_weight(channels, kernel, groups, bias=bias)
        self.stride, self.dilation = as_option(stride), as_option(apart)
        padding, self.padding_mode = around[0], as_choice("padding_mode", around[1], _MODES)
        widths = _find_widths(padding, kernel, stride, apart)
        is_even = self.padding_mode == "zeros" and all(
            before == after for before, after in widths
        )
        # What the convolution itself adds, and what `pad` adds to the input before it.
        self.padding = as_option(tuple(before if is_even else 0 for before, _ in widths))
        self.edges = None if is_even else tuple(sum(reversed(widths), ()))

    def _declare_weight(
        self, channels: tuple[int, int], kernel: tuple[int, ...], groups: int, *, bias: bool
    ) -> None:
        """Declares weight ``(out, in / groups, ...)`` and bias, initialised as torch's."""
        inside = as_integer("in_channels", channels[0])
        outside = as_integer("out_channels", channels[1])
        self.groups = as_size("groups", groups, 1)
        require_groups(inside, outside, self.groups)
        fan_in = FanIn(inside // self.groups * prod(kernel))
        self.weight = Param((outside, inside // self.groups, *kernel), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, in, ...)`` to ``(n, out, ...)``, or both without `n`."""
        require_channels(self, x, self.weight.shape[1] * self.groups)
        if self.edges is not None:
            mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
            x = functional.pad(x, self.edges, mode)
        is_row = len(self.weight.shape) == 3  # noqa: PLR2004  # (out, in, k)
        function = functional.conv1d if is_row else functional.conv2d
        parameters = self.weight.value, get_value(self.bias)
        sizes = self.stride, self.padding, self.dilation, self.groups
        return function(x, *parameters, *sizes)  # pyright: ignore[reportArgumentType]


def require_channels(layer: Any, x: Tensor, channels: int) -> None:
    """Refuses an input with another number of channels, which come before positions."""
    axes = len(layer.weight.shape) - 2
    positions = "length" if axes == 1 else "height, width"
    form = f"(n, {channels}, {positions})"
    require_axis(layer, x, -axes - 1, channels, form=form)


class Conv1d(Convolution):
    """Computes the cross-correlation along the last axis.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows.
        padding: Number of positions added before and after; ``"same"`` for an output as
            long as the input (stride 1; an odd position is added at the end), or
            ``"valid"`` for none.
        dilation: Distance between neighbouring weights of the kernel.
        groups: Number of blocks of channels that are convolved independently;
            `in_channels` of them is a depthwise convolution.
        bias: Whether to add a bias.
        padding_mode: What is added: ``"zeros"``; ``"reflect"`` and ``"circular"``, values
            from the same end or the other one; ``"replicate"``, the outermost value.

    Raises:
        ArgumentError: A size is not an integer, or too small; the groups do not divide the
            channels; or `padding` or `padding_mode` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv1d(4, 8, 5, padding="same").bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 60] * 4])).shape
        (1, 8, 60)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Line,
        stride: Line = 1,
        padding: Line | str = 0,
        dilation: Line = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        channels, windows = (in_channels, out_channels), (kernel_size, stride, dilation)
        around = padding, padding_mode
        self._declare(channels, windows, around, axes=1, groups=groups, bias=bias)


class Conv2d(Convolution):
    """Computes the cross-correlation along the last two axes.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window, for each axis or for both.
        stride: Distance between neighbouring windows.
        padding: Number of positions added on each side, ``"same"`` or ``"valid"``, as in
            `Conv1d`.
        dilation: Distance between neighbouring weights of the kernel.
        groups: Number of blocks of channels that are convolved independently.
        bias: Whether to add a bias.
        padding_mode: What is added, as in `Conv1d`.

    Raises:
        ArgumentError: A size is not an integer, or too small; the groups do not divide the
            channels; or `padding` or `padding_mode` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv2d(1, 8, 3, padding=1).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[[0.0] * 5] * 4]])).shape
        (1, 8, 4, 5)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size | str = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        channels, windows = (in_channels, out_channels), (kernel_size, stride, dilation)
        around = padding, padding_mode
        self._declare(channels, windows, around, axes=2, groups=groups, bias=bias)


def require_groups(inside: int, outside: int, groups: int) -> None:
    """Refuses channels that the groups do not divide."""
    for name, count in (("in_channels", inside), ("out_channels", outside)):
        if count % groups:
            raise ArgumentError(
                f"{name} must be a multiple of groups={groups}, got {count}"
            )


def _find_widths(
    padding: Sizes | str,
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> list[tuple[int, int]]:
    """Returns how many positions to add before and after each axis."""
    if isinstance(padding, str):
        return find_same_padding(padding, kernel, stride, dilation)
    return [(width, width) for width in as_sizes("padding", padding, 0, len(kernel))]
