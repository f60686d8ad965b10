"""Windows that slide along the last axes: convolution, pooling, unfolding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._defaults import fitting

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule, Shape

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


def _convolved(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """A window for each place of the output."""
    x, weight = args[:2]
    steps = {"stride": 1} | options
    return (
        *(x.shape[0], weight.shape[0]),
        *_windows(x.shape[2:], weight.shape[2:], steps),
    ), x.dtype


def _transposed(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As long as the input of a convolution that gives this one."""
    x, weight = args[:2]
    axes = len(x.shape) - 2
    names = {"stride": 1, "padding": 0, "output_padding": 0, "dilation": 1} | options
    given = (_spread(names[name], axes) for name in names if name != "groups")
    sizes = zip(x.shape[2:], weight.shape[2:], *given, strict=True)
    lengths = [(n - 1) * s - 2 * p + d * (k - 1) + o + 1 for n, k, s, p, o, d in sizes]
    return (x.shape[0], weight.shape[1] * options.get("groups", 1), *lengths), x.dtype


def _input_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The input's shape, which is the third argument."""
    return tuple(args[2]), args[0].dtype


def _weight_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> list[Kind]:
    """The weight's shape, which is the third argument, and the bias's."""
    return [(tuple(args[2]), args[0].dtype), ((args[2][0],), args[0].dtype)]


def _pooled(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """A window for each place of the output."""
    x = args[0]
    axes = int(_name[-2])
    kernel = _spread(options["kernel"], axes)
    return (*x.shape[:2], *_windows(x.shape[2:], kernel, options)), x.dtype


def _pooled_max(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> list[Kind]:
    """The largest values and their places."""
    shape, dtype = _pooled(target, name, args, options)
    return [(shape, dtype), (shape, _PLACES)]


def _pool_max_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The input's shape, which is the third argument."""
    return tuple(args[2]), args[0].dtype


def _pool_avg_grad(
    _target: Backend, _name: str, args: tuple[Any, ...], _options: dict[str, Any]
) -> Kind:
    """The input's shape, which is the second argument."""
    return tuple(args[1]), args[0].dtype


def _unfolded(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """A column of channels by kernel for each window."""
    x = args[0]
    kernel = _spread(options["kernel"], len(x.shape) - 2)
    count = int(np.prod(_windows(x.shape[2:], kernel, {"stride": 1} | options)))
    return (x.shape[0], x.shape[1] * int(np.prod(kernel)), count), x.dtype


def _folded(
    _target: Backend, _name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """The plane that was unfolded."""
    x, shape = args[0], tuple(options["shape"])
    channels = x.shape[1] // int(np.prod(_spread(options["kernel"], len(shape[-2:]))))
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
