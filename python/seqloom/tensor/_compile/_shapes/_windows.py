"""Windows that slide along the last axes: convolution, pooling, unfolding."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._defaults import Windows, to_sizes

if TYPE_CHECKING:
    from seqloom.tensor._compile._shapes._call import Call, Kind, Rule, Shape

_INDEX = np.dtype(np.int64)


def _windows(kernel: Shape, options: dict[str, Any]) -> Windows:
    """Makes the windows that the options of a call describe."""
    geometry = {
        name: options[name] for name in ("stride", "padding", "dilation") if name in options
    }
    return Windows.of(kernel, **geometry)._replace(ceil=bool(options.get("ceil_mode")))


def _conv(call: Call) -> Kind:
    """A number for each window and output channel."""
    x, weight = call.args[:2]
    counts = _windows(weight.shape[2:], call.options).counts(x.shape[2:])
    return (x.shape[0], weight.shape[0], *counts), x.dtype


def _conv_transpose(call: Call) -> Kind:
    """As long as the input of a convolution that gives this one."""
    x, weight = call.args[:2]
    windows = _windows(weight.shape[2:], call.options)
    extra = to_sizes(call.options.get("output_padding", 0), len(windows.kernel))
    channels = weight.shape[1] * call.options.get("groups", 1)
    return (x.shape[0], channels, *windows.lengths(x.shape[2:], extra)), x.dtype


def _like_shape(call: Call) -> Kind:
    """The shape that the last argument is."""
    return tuple(call.args[-1]), call.args[0].dtype


def _weight_grad(call: Call) -> list[Kind]:
    """The weight's shape, which is the third argument, and the bias's."""
    shape, dtype = _like_shape(call)
    return [(shape, dtype), (shape[:1], dtype)]


def _pool(call: Call) -> Kind:
    """A number for each window."""
    x = call.args[0]
    kernel = to_sizes(call.options["kernel"], len(x.shape) - 2)
    return (*x.shape[:2], *_windows(kernel, call.options).counts(x.shape[2:])), x.dtype


def _max_pool(call: Call) -> list[Kind]:
    """The maxima and their indices."""
    shape, dtype = _pool(call)
    return [(shape, dtype), (shape, _INDEX)]


def _unfold(call: Call) -> Kind:
    """A column of channels by kernel for each window."""
    x = call.args[0]
    kernel = to_sizes(call.options["kernel"], len(x.shape) - 2)
    counts = _windows(kernel, call.options).counts(x.shape[2:])
    return (x.shape[0], x.shape[1] * math.prod(kernel), math.prod(counts)), x.dtype


def _fold(call: Call) -> Kind:
    """The plane that was unfolded."""
    x, shape = call.args[0], tuple(call.options["shape"])
    kernel = to_sizes(call.options["kernel"], len(shape))
    return (x.shape[0], x.shape[1] // math.prod(kernel), *shape), x.dtype


RULES: dict[str, Rule] = {
    **dict.fromkeys(("conv1d", "conv2d"), _conv),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d"), _conv_transpose),
    **dict.fromkeys(("conv1d_input_grad", "conv2d_input_grad"), _like_shape),
    **dict.fromkeys(("conv1d_weight_grad", "conv2d_weight_grad"), _weight_grad),
    **dict.fromkeys(("max_pool1d", "max_pool2d"), _max_pool),
    **dict.fromkeys(("max_pool1d_grad", "max_pool2d_grad"), _like_shape),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _pool),
    **dict.fromkeys(("avg_pool1d_grad", "avg_pool2d_grad"), _like_shape),
    "unfold": _unfold,
    "fold": _fold,
}
