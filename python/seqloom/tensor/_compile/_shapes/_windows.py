"""Windows that slide along the last axes: convolution, pooling, unfolding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._defaults import fitting

if TYPE_CHECKING:
    from seqloom.tensor._compile._shapes._call import Call, Kind, Rule, Shape

_PLACES = np.dtype(np.int64)


def _spread(value: Any, axes: int) -> tuple[int, ...]:
    """One number for each axis."""
    if isinstance(value, (list, tuple)):
        return tuple(cast("list[int]", value))
    return (value,) * axes


def _windows(lengths: Shape, kernel: Shape, options: dict[str, Any]) -> list[int]:
    """How many windows fit along each axis."""
    axes = len(lengths)
    stride = _spread(options.get("stride") or kernel, axes)
    padding = _spread(options.get("padding", 0), axes)
    dilation = _spread(options.get("dilation", 1), axes)
    sizes = zip(lengths, kernel, stride, padding, dilation, strict=True)
    ceil = bool(options.get("ceil_mode"))
    return [fitting(*each, ceil=ceil) for each in sizes]


def _convolved(call: Call) -> Kind:
    """A window for each place of the output."""
    x, weight = call.args[:2]
    steps = {"stride": 1} | call.options
    return (
        *(x.shape[0], weight.shape[0]),
        *_windows(x.shape[2:], weight.shape[2:], steps),
    ), x.dtype


def _transposed(call: Call) -> Kind:
    """As long as the input of a convolution that gives this one."""
    x, weight = call.args[:2]
    axes = len(x.shape) - 2
    names = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1} | call.options
    given = (_spread(names[name], axes) for name in names if name != "groups")
    sizes = zip(x.shape[2:], weight.shape[2:], *given, strict=True)
    lengths = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, o, d in sizes]
    return (x.shape[0], weight.shape[1] * call.options.get("groups", 1), *lengths), x.dtype


def _input_grad(call: Call) -> Kind:
    """The input's shape, which is the third argument."""
    return tuple(call.args[2]), call.args[0].dtype


def _weight_grad(call: Call) -> list[Kind]:
    """The weight's shape, which is the third argument, and the bias's."""
    return [
        (tuple(call.args[2]), call.args[0].dtype),
        ((call.args[2][0],), call.args[0].dtype),
    ]


def _pooled(call: Call) -> Kind:
    """A window for each place of the output."""
    x = call.args[0]
    axes = int(call.name[-2])
    kernel = _spread(call.options["kernel"], axes)
    return (*x.shape[:2], *_windows(x.shape[2:], kernel, call.options)), x.dtype


def _pooled_max(call: Call) -> list[Kind]:
    """The largest values and their places."""
    shape, dtype = _pooled(call)
    return [(shape, dtype), (shape, _PLACES)]


def _pool_max_grad(call: Call) -> Kind:
    """The input's shape, which is the third argument."""
    return tuple(call.args[2]), call.args[0].dtype


def _pool_avg_grad(call: Call) -> Kind:
    """The input's shape, which is the second argument."""
    return tuple(call.args[1]), call.args[0].dtype


def _unfolded(call: Call) -> Kind:
    """A column of channels by kernel for each window."""
    x = call.args[0]
    kernel = _spread(call.options["kernel"], len(x.shape) - 2)
    count = int(np.prod(_windows(x.shape[2:], kernel, {"stride": 1} | call.options)))
    return (x.shape[0], x.shape[1] * int(np.prod(kernel)), count), x.dtype


def _folded(call: Call) -> Kind:
    """The plane that was unfolded."""
    x, shape = call.args[0], tuple(call.options["shape"])
    channels = x.shape[1] // int(np.prod(_spread(call.options["kernel"], len(shape[-2:]))))
    return (x.shape[0], channels, *shape[-2:]), x.dtype


RULES: dict[str, Rule] = {
    **dict.fromkeys(("conv1d", "conv2d"), _convolved),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d"), _transposed),
    **dict.fromkeys(("conv1d_input_grad", "conv2d_input_grad"), _input_grad),
    **dict.fromkeys(("conv1d_weight_grad", "conv2d_weight_grad"), _weight_grad),
    **dict.fromkeys(("max_pool1d", "max_pool2d"), _pooled_max),
    **dict.fromkeys(("max_pool1d_grad", "max_pool2d_grad"), _pool_max_grad),
    **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _pooled),
    **dict.fromkeys(("avg_pool1d_grad", "avg_pool2d_grad"), _pool_avg_grad),
    "unfold": _unfolded,
    "fold": _folded,
}
