"""Transposed convolutions, which upsample sequences and images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_integer
from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._convolution import require_channels, require_groups
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    LINEAR_ARGS,
    as_size,
    as_sizes,
    require_axes,
    require_same_dtype,
    unpack_size,
    with_or_without_batch,
)
from seqloom.nn._parameters import Param, get_value
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.nn._convolution import Arrays
    from seqloom.nn._operands import Size
    from seqloom.tensor import Tensor


@with_or_without_batch(3)
def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    groups: int = 1,
    dilation: int = 1,
) -> Tensor:
    """Compute the transposed convolution: `conv1d` with input and output exchanged.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        weight: Kernel ``(c, o / groups, k)``.
        bias: Bias ``(o,)``.
        stride: Distance between neighbouring windows in the output.
        padding: Number of output positions removed on each side.
        output_padding: Number of output positions added at the end.
        groups: Number of groups of channels that are convolved independently.
        dilation: Distance between neighbouring elements of the kernel.

    Returns:
        Output ``(n, o, l')``, or ``(o, l')`` if `x` has no batch axis.

    Raises:
        ArgumentError: A size is not an integer or is too small; or `output_padding` is
            neither below the stride nor below the dilation.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or the kernel is longer
            than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv_transpose1d(x, weight, stride=2).numpy().tolist()
        [[[1.0, 1.0, 2.0, 2.0]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    sizes["output_padding"] = output_padding
    return _convolve_transposed("conv_transpose1d", 1, (x, weight, bias), groups, sizes)


@with_or_without_batch(4)
def conv_transpose2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Compute the transposed convolution: `conv2d` with input and output exchanged.

    Args:
        x: Input ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: Kernel ``(c, o / groups, kh, kw)``.
        bias: Bias ``(o,)``.
        stride: Distance between neighbouring windows in the output: one number, or one
            for each axis.
        padding: Number of output positions removed on each side.
        output_padding: Number of output positions added at the end of each axis.
        groups: Number of groups of channels that are convolved independently.
        dilation: Distance between neighbouring elements of the kernel.

    Returns:
        Output ``(n, o, h', w')``, or ``(o, h', w')`` if `x` has no batch axis.

    Raises:
        ArgumentError: A size is not an integer or is too small; or `output_padding` is
            neither below the stride nor below the dilation.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or the kernel is longer
            than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0]]]]), B.tensor([[[[1.0, 2.0]]]])
        >>> conv_transpose2d(x, weight).numpy().tolist()
        [[[[1.0, 2.0]]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    sizes["output_padding"] = output_padding
    return _convolve_transposed("conv_transpose2d", 2, (x, weight, bias), groups, sizes)


def _convolve_transposed(
    name: str, axes: int, arrays: Arrays, groups: int, sizes: dict[str, Any]
) -> Tensor:
    """Check the arguments of a transposed convolution, and compute it."""
    x, weight, bias = arrays
    require_axes(name, axes + 2, x, weight)
    require_same_dtype(name, LINEAR_ARGS, weight, x, bias)
    options = {
        option: as_sizes(option, size, 1 if option in {"stride", "dilation"} else 0, axes)
        for option, size in sizes.items()
    }
    _check_output_padding(options["output_padding"], options["stride"], options["dilation"])
    options = {option: unpack_size(value) for option, value in options.items()}
    return apply(name, x, weight, bias, **options, groups=as_size("groups", groups, 1))


def _check_output_padding(
    extra: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> None:
    """Raise if the output padding is neither below the stride nor below the dilation."""
    for more, step, spacing in zip(extra, stride, dilation, strict=True):
        if more >= max(step, spacing):
            raise ArgumentError(
                f"output_padding {more} must be below the stride {step} or the dilation "
                f"{spacing}: output_padding only selects one of the possible output lengths"
            )


class ConvTranspose1d(Module):
    """Transposed convolution along the last axis, which upsamples sequences.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window of the output.
        stride: Distance between the output windows of neighbouring input positions.
        padding: Number of output positions removed on each side.
        output_padding: Number of output positions added at the end.
        groups: Number of groups of channels that are convolved independently.
        bias: If True, add a bias.
        dilation: Distance between neighbouring elements of the kernel.

    Raises:
        ArgumentError: A size is not an integer or is too small, or `groups` does not
            divide the numbers of channels. ArgumentError is also raised if
            `output_padding` is neither below the stride nor below the dilation.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.ConvTranspose1d(8, 4, 4, stride=2, padding=1)
        >>> layer = layer.bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 30] * 8])).shape
        (1, 4, 60)
    """

    weight: Param
    bias: Param | None
    stride: int
    padding: int
    output_padding: int
    groups: int
    dilation: int

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
        inside = as_integer("in_channels", in_channels)
        outside = as_integer("out_channels", out_channels)
        self.groups = as_size("groups", groups, 1)
        require_groups(inside, outside, self.groups)
        kernel = as_size("kernel_size", kernel_size, 1)
        self.stride = as_size("stride", stride, 1)
        self.padding = as_size("padding", padding, 0)
        self.output_padding = as_size("output_padding", output_padding, 0)
        self.dilation = as_size("dilation", dilation, 1)
        _check_output_padding((self.output_padding,), (self.stride,), (self.dilation,))
        # As in PyTorch, compute the fan-in from output channels instead of input
        # channels.
        fan_in = FanIn(outside // self.groups * kernel)
        self.weight = Param((inside, outside // self.groups, kernel), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None

    def __call__(self, x: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """Compute ``(n, out, l')`` from ``(n, in, l)``; the batch axis is optional.

        Args:
            x: The input.
            output_size: Length of the last axis of the output; the stride must allow
                this length. Default: the length that results from `output_padding`.

        Returns:
            The output.

        Raises:
            ShapeError: The output cannot have the length `output_size`.
        """
        require_channels(self, x, self.weight.shape[0])
        extra = self.output_padding
        if output_size is not None:
            extra = self._find_output_padding(x.shape[-1], output_size)
        weight, bias = self.weight.value, get_value(self.bias)
        sizes = self.stride, self.padding, extra, self.groups, self.dilation
        return conv_transpose1d(x, weight, bias, *sizes)

    def _find_output_padding(self, length: int, output_size: Sequence[int]) -> int:
        """Return the output padding that results in the requested length."""
        span = self.dilation * (self.weight.shape[2] - 1) + 1
        shortest = (length - 1) * self.stride - 2 * self.padding + span
        longest = shortest + self.stride - 1
        if not output_size or not shortest <= output_size[-1] <= longest:
            raise ShapeError(
                f"output_size must be between [{shortest}] and [{longest}] for an input "
                f"of lengths [{length}], got {list(output_size)}"
            )
        return output_size[-1] - shortest
