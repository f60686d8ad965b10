"""Convolutions along any number of axes.

``x`` has the shape ``(n, c, …)``, ``weight`` has ``(o, c / groups, …)`` and the result has
``(n, o, …)``. The shape of the weight determines the number of axes. ``stride``,
``padding`` and ``dilation`` are one number, or one number per axis; padding adds zeros on
both sides. The default computes one matrix product for each element of the kernel.

A convolution is linear in its input and in its weight, so its gradients are convolutions
too. Only the input and the weight are saved.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import Floats, allocate, in_float32, write_out
from seqloom.tensor._families._rule import (
    ALL_RESULTS,
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_shape_rule,
    infer_given_shape,
    rank_rules,
)
from seqloom.tensor._families._windows import Size, Tap, Windows, make_windows, to_sizes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options

    Steps = tuple[int, ...]


# Default implementations ---------------------------------------------------------------


def conv(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """Return the cross-correlation: for each window, the sum of weights times inputs."""
    windows = Windows.make(weight.shape[2:], **geometry)
    counts = windows.counts(x.shape[2:])
    weight = _split_groups(b, weight, 0, groups)
    out = None
    for tap, covered in windows.taps(b, x, 0):
        rows = _to_rows(b, covered, groups)
        part = b.matmul(b.index(weight, (..., *tap)), rows)
        out = part if out is None else b.add(out, part)
    out = b.reshape(out, (x.shape[0], math.prod(weight.shape[:2]), *counts))
    return _add_bias(b, out, bias)


def conv_input_grad(
    b: Functions,
    grad: Array,
    weight: Array,
    shape: Sequence[int],
    *,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """Return the gradient of `conv` with respect to its input of the given shape."""
    windows = Windows.make(weight.shape[2:], **geometry)
    weight = _split_groups(b, weight, 0, groups)
    rows = _to_rows(b, grad, groups)

    def share(tap: Tap) -> Array:
        part = b.matmul(b.matrix_transpose(b.index(weight, (..., *tap))), rows)
        return b.reshape(part, (*shape[:2], *grad.shape[2:]))

    return windows.add_taps(b, share, shape)


def conv_weight_grad(
    b: Functions,
    x: Array,
    grad: Array,
    shape: Sequence[int],
    *,
    groups: int = 1,
    **geometry: Size,
) -> tuple[Array, Array]:
    """Return the gradients of `conv` with respect to weight (of shape `shape`) and bias."""
    windows = Windows.make(shape[2:], **geometry)
    rows = _to_rows(b, grad, groups)
    parts: list[Array] = []
    for _, covered in windows.taps(b, x, 0, counts=grad.shape[2:]):
        columns = _to_rows(b, covered, groups)
        parts.append(b.sum(b.matmul(rows, b.matrix_transpose(columns)), axis=0))
    weight = b.reshape(b.stack(parts, axis=-1), tuple(shape))
    return weight, b.sum(grad, axis=(0, *range(2, len(shape))))


def conv_transpose(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    output_padding: Size = 0,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """Return the transposed convolution; the weight is ``(c, o / groups, …)``."""
    windows = Windows.make(weight.shape[2:], **geometry)
    extra = to_sizes(output_padding, len(windows.kernel))
    cut = ((0, 0),) * len(extra)
    if any(more >= step for more, step in zip(extra, windows.stride, strict=True)):
        # The result may be longer than any input of a convolution. Therefore the result
        # is computed without padding, then sliced or padded at both ends.
        cut = tuple((-p, more - p) for p, more in zip(windows.padding, extra, strict=True))
        windows = windows._replace(padding=(0,) * len(extra))
        extra = (0,) * len(extra)
    shape = (x.shape[0], weight.shape[1] * groups, *windows.lengths(x.shape[2:], extra))
    sizes = {
        "stride": windows.stride,
        "padding": windows.padding,
        "dilation": windows.dilation,
    }
    # Call the function of the backend, which may be a kernel.
    input_grad = b.conv1d_input_grad if len(extra) == 1 else b.conv2d_input_grad
    out = input_grad(x, weight, shape, groups=groups, **sizes)
    out = b.pad(out, ((0, 0), (0, 0), *cut)) if any(map(any, cut)) else out
    return _add_bias(b, out, bias)


def _split_groups(b: Functions, x: Array, axis: int, groups: int) -> Array:
    """Split the channel axis into two axes: groups, and channels per group."""
    channels = x.shape[axis] // groups
    return b.reshape(x, (*x.shape[:axis], groups, channels, *x.shape[axis + 1 :]))


def _to_rows(b: Functions, x: Array, groups: int) -> Array:
    """Reshape ``(n, c, …)`` to ``(n, groups, c / groups, positions)``."""
    x = _split_groups(b, x, 1, groups)
    return b.reshape(x, (*x.shape[:3], math.prod(x.shape[3:])))


def _add_bias(b: Functions, out: Array, bias: Array | None) -> Array:
    """Add the bias of each channel."""
    if bias is None:
        return out
    return b.add(out, b.reshape(bias, (-1, *(1 for _ in out.shape[2:]))))


# The functions for one and two axes share one implementation.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
conv_transpose1d = conv_transpose2d = conv_transpose


# Gradient rules ------------------------------------------------------------------------


def _save_factors(args: Args, _out: Array, needs: Needs, options: Options) -> Any:
    """Save the factors, shapes and options that the gradients of tracked inputs need."""
    x, weight = args[:2]
    kept = x if needs[1] else None, weight if needs[0] else None
    return kept, (tuple(x.shape), tuple(weight.shape)), options


def _make_conv_rule(name: str) -> Rule:
    """Return the gradient rule of a convolution."""

    def backward(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
        (x, weight), (x_shape, weight_shape), options = saved
        # Look up `conv_grads` in the class, because an Autodiff instance would return
        # the attribute of its inner backend.
        if needs[1] and (together := getattr(type(b), "conv_grads", None)):
            like = weight if needs[0] else weight_shape
            return _grad_together(together, (grad, x, like), needs, options)
        by_x = by_weight = by_bias = None
        if needs[0]:
            by_x = getattr(b, f"{name}_input_grad")(grad, weight, x_shape, **options)
        if needs[1]:
            weight_grad = getattr(b, f"{name}_weight_grad")
            by_weight, by_bias = weight_grad(x, grad, weight_shape, **options)
        elif needs[2:] and needs[2]:
            by_bias = b.sum(grad, axis=(0, *range(2, len(grad.shape))))
        return by_x, by_weight, by_bias

    return Rule(_save_factors, backward)


def _grad_together(
    together: Callable[..., Any], arrays: Args, needs: Needs, options: Options
) -> Parts:
    """Compute all needed gradients in one call of the array library."""
    wanted = (*needs, False)[:3]  # True for each gradient to compute
    found = together(*arrays, wanted=wanted, **options)
    parts = iter(found if sum(wanted) > 1 else (found,))
    return tuple([next(parts) if is_wanted else None for is_wanted in wanted])


def _make_input_grad_rule(name: str) -> Rule:
    """Return the rule of an operation that is itself an input gradient of ``conv``."""

    def backward(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
        (slope, weight), (_, weight_shape), options = saved
        by_slope = by_weight = None
        if needs[0]:
            by_slope = getattr(b, name)(grad, weight, None, **options)
        if needs[1]:
            weight_grad = getattr(b, f"{name}_weight_grad")
            by_weight = weight_grad(grad, slope, weight_shape, **options)[0]
        return by_slope, by_weight

    return Rule(_save_factors, backward)


def _make_weight_grad_rule(name: str) -> Rule:
    """Return the rule of an operation that is itself a weight gradient of ``conv``."""

    def backward(b: Functions, saved: Any, grads: Any, needs: Needs) -> Parts:
        (x, slope), (x_shape, slope_shape), options = saved
        by_weight, by_bias = grads
        by_x = by_slope = None
        if needs[0] and by_weight is not None:
            by_x = getattr(b, f"{name}_input_grad")(slope, by_weight, x_shape, **options)
        if needs[1] and by_weight is not None:
            by_slope = getattr(b, name)(x, by_weight, by_bias, **options)
        elif needs[1] and by_bias is not None:
            wide = b.reshape(by_bias, (-1, *(1,) * (len(slope_shape) - 2)))
            by_slope = b.broadcast_to(wide, slope_shape)
        return by_x, by_slope

    return Rule(_save_factors, backward, tracked=ALL_RESULTS)


GRAD_RULES: dict[str, Rule] = {
    **rank_rules(_make_conv_rule, "conv"),
    **rank_rules(_make_input_grad_rule, "conv", "_input_grad"),
    **rank_rules(_make_weight_grad_rule, "conv", "_weight_grad"),
}


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    **dict.fromkeys(("conv1d_input_grad", "conv2d_input_grad"), infer_given_shape)
}


@add_shape_rule(SHAPE_RULES, "conv1d", "conv2d")
def _shape_conv(call: Call) -> Spec:
    """Return the shape of a convolution: one element per window and output channel."""
    x, weight = call.args[:2]
    counts = make_windows(weight.shape[2:], call.options).counts(x.shape[2:])
    return (x.shape[0], weight.shape[0], *counts), x.dtype


@add_shape_rule(SHAPE_RULES, "conv_transpose1d", "conv_transpose2d")
def _shape_conv_transpose(call: Call) -> Spec:
    """Return the shape of a transposed convolution."""
    x, weight = call.args[:2]
    windows = make_windows(weight.shape[2:], call.options)
    extra = to_sizes(call.options.get("output_padding", 0), len(windows.kernel))
    channels = weight.shape[1] * call.options.get("groups", 1)
    return (x.shape[0], channels, *windows.lengths(x.shape[2:], extra)), x.dtype


@add_shape_rule(SHAPE_RULES, "conv1d_weight_grad", "conv2d_weight_grad")
def _shape_weight_grad(call: Call) -> list[Spec]:
    """Return the shapes of the gradients of weight (the third argument) and bias."""
    shape, dtype = infer_given_shape(call)
    return [(shape, dtype), (shape[:1], dtype)]


# NumPy versions ------------------------------------------------------------------------


_RANK_1D = 3  # The number of axes of an array (n, c, l).


@in_float32
def numpy_conv(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Size,
) -> Floats:
    """Return the cross-correlation, in a new array or in `out`."""
    windows = Windows.make(weight.shape[2:], **geometry)
    if out is None:
        counts = windows.counts(x.shape[2:])
        out = allocate((x.shape[0], weight.shape[0], *counts), x.dtype)
    arrays = _to_image(x), _to_image(weight), bias, _to_image(out)
    _native.conv2d(*arrays, _to_steps(windows), groups, b.threads)
    return out


@in_float32
def numpy_conv_input_grad(
    b: Functions,
    grad: Floats,
    weight: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Size,
) -> Floats:
    """Return the gradient of `conv` with respect to its input of the given shape."""
    windows = Windows.make(weight.shape[2:], **geometry)
    out = allocate(tuple(shape), grad.dtype) if out is None else out
    arrays = _to_image(grad), _to_image(weight), _to_image(out)
    _native.conv2d_input_grad(*arrays, _to_steps(windows), groups, b.threads)
    return out


@in_float32
def numpy_conv_weight_grad(
    b: Functions,
    x: Floats,
    grad: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: tuple[Floats, Floats] | None = None,
    **geometry: Size,
) -> tuple[Floats, Floats]:
    """Return the gradients of `conv` with respect to weight (of shape `shape`) and bias."""
    windows = Windows.make(shape[2:], **geometry)
    if out is None:
        out = allocate(tuple(shape), grad.dtype), np.empty(shape[0], grad.dtype)
    arrays = _to_image(x), _to_image(grad), _to_image(out[0]), out[1]
    _native.conv2d_weight_grad(*arrays, _to_steps(windows), groups, b.threads)
    return out


@in_float32
def numpy_conv_transpose(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    output_padding: Size = 0,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Any,
) -> Floats:
    """Return the transposed convolution; the weight is ``(c, o / groups, …)``."""
    windows = Windows.make(weight.shape[2:], **geometry)
    extra = to_sizes(output_padding, x.ndim - 2)
    if any(more >= step for more, step in zip(extra, windows.stride, strict=True)):
        # The kernel rejects an output padding that is not smaller than the stride.
        geometry |= {"output_padding": extra, "groups": groups}
        return write_out(conv_transpose(b, x, weight, bias, **geometry), out)
    lengths = windows.lengths(x.shape[2:], extra)
    shape = (x.shape[0], weight.shape[1] * groups, *lengths)
    made: Floats = numpy_conv_input_grad(
        b, x, weight, shape, groups=groups, out=out, **geometry
    )
    if bias is not None:
        made += bias.reshape(-1, *(1 for _ in lengths))
    return made


def _to_image(x: Floats) -> Floats:
    """Return the array in C order; a 1-d input becomes an image of height 1."""
    x = np.ascontiguousarray(x)
    return x[:, :, None, :] if x.ndim == _RANK_1D else x


def _to_steps(windows: Windows) -> tuple[Steps, Steps, Steps]:
    """Return stride, padding and dilation for an image, each as (height, width)."""
    _, stride, padding, dilation, _ = windows
    if len(stride) > 1:
        return stride, padding, dilation
    return (1, *stride), (0, *padding), (1, *dilation)


# The functions for one and two axes share one implementation.
numpy_conv1d = numpy_conv2d = numpy_conv
numpy_conv1d_input_grad = numpy_conv2d_input_grad = numpy_conv_input_grad
numpy_conv1d_weight_grad = numpy_conv2d_weight_grad = numpy_conv_weight_grad
numpy_conv_transpose1d = numpy_conv_transpose2d = numpy_conv_transpose
