"""Modules of transposed convolutions, which make rows and images longer."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from seqloom._arguments import as_integer
from seqloom.errors import ShapeError
from seqloom.nn import functional
from seqloom.nn._initialisers import FanIn
from seqloom.nn._layers._convolution import (
    Line,
    Size,
    Sizes,
    require_channels,
    require_groups,
)
from seqloom.nn._module import Module
from seqloom.nn._stored import Param, get_value
from seqloom.nn.functional._convolutions import require_reach
from seqloom.nn.functional._geometry import as_option, as_size, as_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor import Tensor


class TransposedConvolution(Module):
    """A transposed convolution along any number of axes."""

    weight: Param
    bias: Param | None
    stride: Sizes
    padding: Sizes
    output_padding: Sizes
    groups: int
    dilation: Sizes

    def _declare(
        self,
        in_channels: int,
        out_channels: int,
        groups: int,
        *,
        axes: int,
        bias: bool,
        **sizes: Sizes,
    ) -> None:
        """Checks the sizes, and declares weight ``(in, out / groups, ...)`` and bias."""
        inside = as_integer("in_channels", in_channels)
        outside = as_integer("out_channels", out_channels)
        self.groups = as_size("groups", groups, 1)
        require_groups(inside, outside, self.groups)
        least = {"padding": 0, "output_padding": 0}
        every = {
            name: as_sizes(name, size, least.get(name, 1), axes)
            for name, size in sizes.items()
        }
        require_reach(every["output_padding"], every["stride"], every["dilation"])
        kernel = every.pop("kernel_size")
        # As torch counts: the outputs of a group, where a convolution has its inputs.
        fan_in = FanIn(outside // self.groups * prod(kernel))
        self.weight = Param((inside, outside // self.groups, *kernel), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None
        for name, size in every.items():
            setattr(self, name, as_option(size))

    def __call__(self, x: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Computes ``(n, out, ...)`` of ``(n, in, ...)``, or both without `n`.

        Args:
            x: The input.
            output_size: Lengths of the last axes of the output, one of those that the
                stride allows; default: those that `output_padding` chooses.

        Returns:
            The output.

        Raises:
            ShapeError: No output has these lengths.
        """
        require_channels(self, x, self.weight.shape[0])
        is_row = len(self.weight.shape) == 3  # noqa: PLR2004  # (in, out, k)
        function = functional.conv_transpose1d if is_row else functional.conv_transpose2d
        extra = self.output_padding if output_size is None else self._reach(x, output_size)
        parameters = self.weight.value, get_value(self.bias)
        sizes = self.stride, self.padding, extra, self.groups, self.dilation
        return function(x, *parameters, *sizes)  # pyright: ignore[reportArgumentType]

    def _reach(self, x: Tensor, output_size: Sequence[int]) -> tuple[int, ...]:
        """Returns the output padding that gives the wanted lengths."""
        kernel = self.weight.shape[2:]
        axes = len(kernel)
        wanted = tuple(output_size)[-axes:]
        stride, around, apart = (
            as_sizes(name, getattr(self, name), 0, axes)
            for name in ("stride", "padding", "dilation")
        )
        counts = x.shape[-axes:]
        least = [
            (count - 1) * s - 2 * p + d * (k - 1) + 1
            for count, k, s, p, d in zip(counts, kernel, stride, around, apart, strict=True)
        ]
        most = [length + step - 1 for length, step in zip(least, stride, strict=True)]
        fits = len(wanted) == axes and all(
            low <= length <= high
            for low, length, high in zip(least, wanted, most, strict=True)
        )
        if not fits:
            raise ShapeError(
                f"output_size must lie between {least} and {most} for an input of lengths "
                f"{list(counts)}, got {list(output_size)}"
            )
        return tuple(length - low for length, low in zip(wanted, least, strict=True))


class ConvTranspose1d(TransposedConvolution):
    """Computes the transposed convolution along the last axis: it makes rows longer.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions of the output that one of the input reaches.
        stride: Distance in the output between neighbours of the input.
        padding: Number of positions cut off on both sides.
        output_padding: Number of positions added at the end.
        groups: Number of blocks of channels that are convolved independently.
        bias: Whether to add a bias.
        dilation: Distance between neighbouring weights of the kernel.

    Raises:
        ArgumentError: A size is not an integer, or too small; the groups do not divide the
            channels; or `output_padding` is not below the stride or the dilation.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1)
        >>> layer = layer.bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 30] * 8])).shape
        (1, 4, 60)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Line,
        stride: Line = 1,
        padding: Line = 0,
        output_padding: Line = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Line = 1,
    ) -> None:
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        sizes |= {"output_padding": output_padding, "dilation": dilation}
        self._declare(in_channels, out_channels, groups, axes=1, bias=bias, **sizes)


class ConvTranspose2d(TransposedConvolution):
    """Computes the transposed convolution of images: it makes them larger.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions of the output that one of the input reaches, for
            each axis or for both.
        stride: Distance in the output between neighbours of the input.
        padding: Number of positions cut off on each side.
        output_padding: Number of positions added at the end of each axis.
        groups: Number of blocks of channels that are convolved independently.
        bias: Whether to add a bias.
        dilation: Distance between neighbouring weights of the kernel.

    Raises:
        ArgumentError: A size is not an integer, or too small; the groups do not divide the
            channels; or `output_padding` is not below the stride or the dilation.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.ConvTranspose2d(8, 1, 2, stride=2).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[[0.0] * 5] * 4] * 8])).shape
        (1, 1, 8, 10)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
    ) -> None:
        sizes = {"kernel_size": kernel_size, "stride": stride, "padding": padding}
        sizes |= {"output_padding": output_padding, "dilation": dilation}
        self._declare(in_channels, out_channels, groups, axes=2, bias=bias, **sizes)
