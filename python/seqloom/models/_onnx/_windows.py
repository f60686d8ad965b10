"""ONNX operators over windows: convolutions and pooling."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from seqloom.models._onnx._values import find_extreme, slice_axis
from seqloom.nn import functional as F
from seqloom.nn._operands import unpack_size
from seqloom.tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.models._onnx._values import OnnxCall, Operator

Pair = tuple[int, int]
_AUTO_PAD_MODES = ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID")
_MAX_AXES = 2


@dataclass(frozen=True, slots=True)
class Window:
    """Kernel, stride, dilation and padding of a window, for each axis."""

    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    dilation: tuple[int, ...]
    pads: tuple[Pair, ...]

    @property
    def is_even(self) -> bool:
        """True if the padding before and after each axis is equal."""
        return all(before == after for before, after in self.pads)

    @property
    def before(self) -> tuple[int, ...]:
        """Padding before each axis."""
        return tuple(before for before, _ in self.pads)

    @property
    def around(self) -> tuple[tuple[int, int], ...]:
        """Padding of all axes of a batch."""
        return ((0, 0), (0, 0), *self.pads)


def _read_window(call: OnnxCall, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """Read the window attributes for an input with the given sizes."""
    axes = len(sizes)
    if not 1 <= axes <= _MAX_AXES:
        call.fail(f"has {axes} axes of positions; only 1 and 2 are supported")
    kernel = tuple(call.attribute("kernel_shape", kernel))
    stride = tuple(call.attribute("strides", (1,) * axes))
    dilation = tuple(call.attribute("dilations", (1,) * axes))
    if not len(kernel) == len(stride) == len(dilation) == axes:
        call.fail("has window sizes for a different number of axes than its input has")
    spans = [d * (k - 1) + 1 for k, d in zip(kernel, dilation, strict=True)]
    return Window(kernel, stride, dilation, _read_pads(call, sizes, spans, stride=stride))


def _read_pads(
    call: OnnxCall, sizes: Sequence[int], spans: Sequence[int], *, stride: Sequence[int]
) -> tuple[Pair, ...]:
    """Read or compute the padding before and after each axis."""
    kind = call.choice("auto_pad", "NOTSET", _AUTO_PAD_MODES)
    if kind == "NOTSET":
        pads = call.attribute("pads", [0] * 2 * len(sizes))
        half = len(pads) // 2
        return tuple(zip(pads[:half], pads[half:], strict=True))
    if kind == "VALID":
        return ((0, 0),) * len(sizes)
    totals = [
        max(0, (-(-size // step) - 1) * step + span - size)
        for size, span, step in zip(sizes, spans, stride, strict=True)
    ]
    return tuple(_split_evenly(totals, kind))


def _split_evenly(totals: Sequence[int], kind: str) -> list[Pair]:
    """Split the padding between both ends; SAME_UPPER adds the larger half at the end."""
    halves = [(total // 2, total - total // 2) for total in totals]
    return halves if kind == "SAME_UPPER" else [(after, before) for before, after in halves]


def _select_by_axes(x: Tensor, one: Any, two: Any) -> Any:
    """Return function `one` for one axis of positions, `two` for two axes."""
    return one if x.ndim == 3 else two  # noqa: PLR2004 - (n, c, l)


def conv(call: OnnxCall) -> Tensor:
    """Compute a convolution along one or two axes."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.optional(2)
    window = _read_window(call, x.shape[2:], weight.shape[2:])
    padding = window.before
    if not window.is_even:
        x, padding = apply("pad", x, window.around), (0,) * len(padding)
    function = _select_by_axes(x, F.conv1d, F.conv2d)
    sizes = (unpack_size(it) for it in (window.stride, padding, window.dilation))
    return function(x, weight, bias, *sizes, call.attribute("group", 1))


def conv_transpose(call: OnnxCall) -> Tensor:
    """Compute a transposed convolution along one or two axes."""
    x, weight, bias = call.tensor(0), call.tensor(1), call.optional(2)
    window = _read_window(call, x.shape[2:], weight.shape[2:])
    function = _select_by_axes(x, F.conv_transpose1d, F.conv_transpose2d)
    stride, dilation = unpack_size(window.stride), unpack_size(window.dilation)
    group = call.attribute("group", 1)
    if _is_symmetric(call, window):
        padding = unpack_size(window.before)
        return function(x, weight, bias, stride, padding, 0, group, dilation)
    full = function(x, weight, None, stride, 0, 0, group, dilation)
    padding = _read_output_padding(call, window, x.shape[2:], full=full.shape[2:])
    if any(map(any, padding)):
        full = apply("pad", full, ((0, 0), (0, 0), *padding))
    if bias is None:
        return full
    return full + bias.reshape((bias.shape[0], *(1,) * (x.ndim - 2)))


def _is_symmetric(call: OnnxCall, window: Window) -> bool:
    """Return whether equal numbers of positions are removed at both ends."""
    names = ("output_padding", "output_shape")
    is_kept = call.attribute("auto_pad", "NOTSET") in {"NOTSET", "VALID"}
    return window.is_even and is_kept and not any(map(call.attribute, names))


def _read_output_padding(
    call: OnnxCall, window: Window, sizes: Sequence[int], *, full: Sequence[int]
) -> list[Pair]:
    """Return the number of positions to add at each end of axes; negative to remove."""
    extra = call.attribute("output_padding", [0] * len(full))
    kind = call.choice("auto_pad", "NOTSET", _AUTO_PAD_MODES)
    wanted = call.attribute("output_shape")
    if wanted is None and kind.startswith("SAME"):
        wanted = [size * step for size, step in zip(sizes, window.stride, strict=True)]
    if wanted is None:
        ends = zip(window.pads, extra, strict=True)
        return [(-before, more - after) for (before, after), more in ends]
    totals = [
        length + more - size
        for length, more, size in zip(full, extra, wanted[-len(full) :], strict=True)
    ]
    ends = zip(_split_evenly(totals, kind), extra, strict=True)
    return [(-before, more - after) for (before, after), more in ends]


def max_pool(call: OnnxCall) -> Tensor:
    """Compute the maximum of each window."""
    if any(call.node.outputs[1:]):
        call.fail("returns the indices of the maxima, which is not supported")
    x = call.tensor(0)
    window = _read_window(call, x.shape[2:], ())
    function = _select_by_axes(x, F.max_pool1d, F.max_pool2d)
    kernel, stride, dilation = map(
        unpack_size, (window.kernel, window.stride, window.dilation)
    )
    options = {"dilation": dilation, "ceil_mode": bool(call.attribute("ceil_mode", 0))}
    if _fits_in_pool(window):
        return function(x, kernel, stride, unpack_size(window.before), **options)
    lowest = find_extreme(x.dtype, largest=False)
    padded = apply("pad", x, window.around, value=lowest)
    return _trim_end(function(padded, kernel, stride, **options), x, window)


def _fits_in_pool(window: Window) -> bool:
    """Return whether the pooling operation supports the padding.

    The padding must be equal on both sides, and at most half of the kernel.
    """
    sizes = zip(window.before, window.kernel, strict=True)
    return window.is_even and all(before <= k // 2 for before, k in sizes)


def _trim_end(out: Tensor, x: Tensor, window: Window) -> Tensor:
    """Drop the last window if it would start after the end of the input."""
    for at, (before, step) in enumerate(zip(window.before, window.stride, strict=True)):
        most = -(-(x.shape[at + 2] + before) // step)
        if out.shape[at + 2] > most:
            out = slice_axis(out, at + 2, slice(0, most))
    return out


def average_pool(call: OnnxCall) -> Tensor:
    """Compute the mean of each window, with or without padding."""
    x = call.tensor(0)
    window = _read_window(call, x.shape[2:], ())
    if any(it != 1 for it in window.dilation):
        call.fail(f"has dilations={list(window.dilation)}, which is not supported")
    counts = bool(call.attribute("count_include_pad", 0))
    function = _select_by_axes(x, F.avg_pool1d, F.avg_pool2d)
    sizes = unpack_size(window.kernel), unpack_size(window.stride)
    options = {"ceil_mode": bool(call.attribute("ceil_mode", 0))}
    if _fits_in_pool(window):
        padding = unpack_size(window.before)
        return function(x, *sizes, padding, **options, count_include_pad=counts)
    out = _trim_end(function(apply("pad", x, window.around), *sizes, **options), x, window)
    if counts:
        return out
    ones = apply("pad", apply("ones_like", x[:1, :1]), window.around)
    return out / _trim_end(function(ones, *sizes, **options), x, window)


def _make_global(name: str) -> Operator:
    """Create a pooling operator over all positions."""

    def operate(call: OnnxCall) -> Tensor:
        x = call.tensor(0)
        axes = unpack_size(tuple(range(2, x.ndim)))
        return apply(name, x, axis=axes, keepdims=True) if prod(x.shape) else x

    return operate


OPERATORS: dict[str, Operator] = {
    "AveragePool": average_pool,
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "GlobalAveragePool": _make_global("mean"),
    "GlobalMaxPool": _make_global("max"),
    "MaxPool": max_pool,
}
