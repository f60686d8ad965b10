"""Convolutions along one axis or two."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_choice, as_integer
from seqloom.errors import ArgumentError
from seqloom.nn._initialisers import FanIn
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    LINEAR_ARGS,
    as_size,
    as_sizes,
    require_axes,
    require_same_dtype,
    require_window_fits,
    unpack_size,
    with_or_without_batch,
)
from seqloom.nn._parameters import Param, get_value
from seqloom.nn._shapes import pad
from seqloom.nn._submodules import require_axis
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.nn._operands import Size
    from seqloom.tensor import Tensor

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


@with_or_without_batch(3)
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Compute the cross-correlation along the last axis.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        weight: Kernel ``(o, c / groups, k)``.
        bias: Bias ``(o,)``.
        stride: Distance between neighbouring windows.
        padding: Number of zeros on each side; ``"valid"`` for no padding; or ``"same"``
            for an output of the input's length. ``"same"`` needs stride 1; if the
            number of zeros is odd, the extra zero is at the end.
        dilation: Distance between neighbouring elements of the kernel.
        groups: Number of groups of channels that are convolved independently.

    Returns:
        Output ``(n, o, l')``, or ``(o, l')`` if `x` has no batch axis.

    Raises:
        ArgumentError: `padding` is ``"same"`` but `stride` is not 1; or a size is not
            an integer or is too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or the kernel is longer
            than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0, 3.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv1d(x, weight).numpy().tolist()
        [[[3.0, 5.0]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return _convolve("conv1d", 1, (x, weight, bias), groups, sizes)


@with_or_without_batch(4)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Compute the cross-correlation along the last two axes.

    Args:
        x: Input ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: Kernel ``(o, c / groups, kh, kw)``.
        bias: Bias ``(o,)``.
        stride: Distance between neighbouring windows: one number, or one for each axis.
        padding: Number of zeros on each side: one number, or one for each axis; or
            ``"valid"`` or ``"same"``, as in `conv1d`.
        dilation: Distance between neighbouring elements of the kernel.
        groups: Number of groups of channels that are convolved independently.

    Returns:
        Output ``(n, o, h', w')``, or ``(o, h', w')`` if `x` has no batch axis.

    Raises:
        ArgumentError: `padding` is ``"same"`` but `stride` is not 1; or a size is not
            an integer or is too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes of the arguments do not match, or the kernel is longer
            than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0, 2.0]]]]), B.tensor([[[[1.0, 1.0]]]])
        >>> conv2d(x, weight).numpy().tolist()
        [[[[3.0]]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return _convolve("conv2d", 2, (x, weight, bias), groups, sizes)


Arrays = tuple["Tensor", "Tensor", "Tensor | None"]


def _convolve(
    name: str, axes: int, arrays: Arrays, groups: int, sizes: dict[str, Any]
) -> Tensor:
    """Check the arguments of a convolution along `axes` axes, and compute it."""
    x, weight, bias = arrays
    require_axes(name, axes + 2, x, weight)
    require_same_dtype(name, LINEAR_ARGS, weight, x, bias)
    stride = as_sizes("stride", sizes["stride"], 1, axes)
    dilation = as_sizes("dilation", sizes["dilation"], 1, axes)
    x, padding = _pad_input(x, weight, stride, sizes["padding"], dilation)
    require_window_fits(x, weight.shape[2:], padding, dilation, name)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    options = {option: unpack_size(value) for option, value in options.items()}
    return apply(name, x, weight, bias, **options, groups=as_size("groups", groups, 1))


def _pad_input(
    x: Tensor,
    weight: Tensor,
    stride: tuple[int, ...],
    padding: Size | str,
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:
    """Return the input, with an additional zero at the end if needed, and the padding."""
    if not isinstance(padding, str):
        return x, as_sizes("padding", padding, 0, len(stride))
    widths = find_same_padding(padding, weight.shape[2:], stride, dilation)
    odd = [(0, after - before) for before, after in widths]
    if any(map(any, odd)):
        x = apply("pad", x, ((0, 0), (0, 0), *odd))
    return x, tuple(before for before, _ in widths)


def find_same_padding(
    padding: str, kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the padding before and after each axis for ``"same"`` or ``"valid"``."""
    if padding == "valid":
        return [(0, 0) for _ in kernel]
    if padding != "same" or any(step != 1 for step in stride):
        raise ArgumentError(
            f"padding={padding!r} with stride {list(stride)} and kernel {list(kernel)}: "
            '"same" needs stride 1; pass the padding as a number'
        )
    spans = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return [(span // 2, span - span // 2) for span in spans]


class Convolution(Module):
    """Base class of the convolution layers."""

    weight: Param
    bias: Param | None
    stride: Size
    padding: Size
    dilation: Size
    groups: int
    padding_mode: str
    edges: tuple[int, ...] | None
    _axes = 1

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
        kernel = as_sizes("kernel_size", kernel_size, 1, self._axes)
        steps = as_sizes("stride", stride, 1, self._axes)
        dilations = as_sizes("dilation", dilation, 1, self._axes)
        # weight: (out, in / groups, ...); initialised as in PyTorch
        inside = as_integer("in_channels", in_channels)
        outside = as_integer("out_channels", out_channels)
        self.groups = as_size("groups", groups, 1)
        require_groups(inside, outside, self.groups)
        fan_in = FanIn(inside // self.groups * prod(kernel))
        self.weight = Param((outside, inside // self.groups, *kernel), fan_in)
        self.bias = Param((outside,), fan_in) if bias else None
        self.stride, self.dilation = (unpack_size(steps), unpack_size(dilations))
        self.padding_mode = as_choice("padding_mode", padding_mode, _PADDING_MODES)
        if isinstance(padding, str):
            widths = find_same_padding(padding, kernel, steps, dilations)
        else:
            widths = [(n, n) for n in as_sizes("padding", padding, 0, self._axes)]
        is_even = padding_mode == "zeros" and all(one == other for one, other in widths)
        # The convolution adds symmetric zeros; `pad` adds any other padding.
        self.padding = unpack_size(tuple(before if is_even else 0 for before, _ in widths))
        self.edges = None if is_even else tuple(sum(reversed(widths), ()))

    def __call__(self, x: Tensor) -> Tensor:
        """Convolve ``(n, in, ...)`` to ``(n, out, ...)``; the batch axis is optional."""
        require_channels(self, x, self.weight.shape[1] * self.groups)
        if self.edges is not None:
            mode = "constant" if self.padding_mode == "zeros" else self.padding_mode
            x = pad(x, self.edges, mode)
        function: Callable[..., Tensor] = conv1d if self._axes == 1 else conv2d
        parameters = self.weight.value, get_value(self.bias)
        return function(
            x, *parameters, self.stride, self.padding, self.dilation, self.groups
        )


def require_channels(layer: Any, x: Tensor, channels: int) -> None:
    """Raise if the input does not have the layer's number of channels."""
    axes = len(layer.weight.shape) - 2
    positions = "length" if axes == 1 else "height, width"
    form = f"(n, {channels}, {positions})"
    require_axis(layer, x, -axes - 1, channels, form=form)


class Conv1d(Convolution, init=False):
    """Convolution (cross-correlation) along the last axis.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows.
        padding: Number of positions added on each side; ``"valid"`` for no padding; or
            ``"same"`` for an output of the input's length. ``"same"`` needs stride 1;
            if the number of positions is odd, the extra position is at the end.
        dilation: Distance between neighbouring elements of the kernel.
        groups: Number of groups of channels that are convolved independently;
            `in_channels` groups make a depthwise convolution.
        bias: If True, add a bias.
        padding_mode: Values of the padding: ``"zeros"``; ``"reflect"`` (values next to the
            edge, reversed); ``"circular"`` (values of the opposite end); or ``"replicate"``
            (the edge value).

    Raises:
        ArgumentError: A size is not an integer or is too small; `groups` does not
            divide the numbers of channels; or `padding` or `padding_mode` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv1d(4, 8, 5, padding="same").bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[0.0] * 60] * 4])).shape
        (1, 8, 60)
    """


class Conv2d(Convolution, init=False):
    """Convolution (cross-correlation) along the last two axes.

    Args:
        in_channels: Number of channels of the input.
        out_channels: Number of channels of the output.
        kernel_size: Number of positions in a window: one number, or one for each axis.
        stride: Distance between neighbouring windows.
        padding: Number of positions added on each side, ``"same"`` or ``"valid"``, as in
            `Conv1d`.
        dilation: Distance between neighbouring elements of the kernel.
        groups: Number of groups of channels that are convolved independently.
        bias: If True, add a bias.
        padding_mode: Values of the padding, as in `Conv1d`.

    Raises:
        ArgumentError: A size is not an integer or is too small; `groups` does not
            divide the numbers of channels; or `padding` or `padding_mode` is unknown.

    Examples:
        >>> import seqloom as sl
        >>> layer = sl.nn.Conv2d(1, 8, 3, padding=1).bind("numpy", sl.Key(0))
        >>> layer(layer.backend.tensor([[[[0.0] * 5] * 4]])).shape
        (1, 8, 4, 5)
    """

    _axes = 2


def require_groups(inside: int, outside: int, groups: int) -> None:
    """Raise if the number of groups does not divide the numbers of channels."""
    for name, count in (("in_channels", inside), ("out_channels", outside)):
        if count % groups:
            raise ArgumentError(
                f"{name} must be a multiple of groups={groups}, got {count}"
            )
