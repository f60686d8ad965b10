"""Reductions over axes, and cumulative functions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom.errors import ArgumentError
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import Floats, in_float32, is_half
from seqloom.tensor._families._numpy_functions import to_floats, wrap_mean, wrap_sum
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    broadcast_reduced,
    find_dtype,
    infer_along_axis,
    infer_reduced,
    restore_axes,
    to_axis_tuple,
)
from seqloom.tensor._families._shapes import make_axis_key

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import (
        Args,
        Everything,
        Needs,
        OneArray,
        Options,
        Shape,
    )

    Saved = tuple[Shape, np.dtype[np.generic], Options]


# Default implementations ---------------------------------------------------------------


def std(
    b: Functions,
    x: Array,
    *,
    axis: Any = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation over axes."""
    variance = b.var(x, axis=axis, correction=correction, keepdims=keepdims)
    return b.sqrt(variance)


def cumulative_prod(
    b: Functions,
    x: Array,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Return the cumulative product."""
    if axis is None and len(x.shape) > 1:
        raise ArgumentError("cumulative_prod needs axis= for an array with several axes")
    x = x if x.shape else b.reshape(x, (1,))
    position = normalize_axis_index(axis or 0, len(x.shape))
    x = b.astype(x, _find_product_dtype(b, x) if dtype is None else dtype)
    found = _accumulate_by_doubling(b, b.multiply, x, position, 1)
    if not include_initial:
        return found
    return b.pad(found, [(int(at == position), 0) for at in range(len(x.shape))], value=1)


def logcumsumexp(b: Functions, x: Array, *, axis: int) -> Array:
    """Return the logarithm of the cumulative sum of exponentials."""
    position = normalize_axis_index(axis, len(x.shape))
    return _accumulate_by_doubling(b, b.logaddexp, x, position, -math.inf)


def diff(
    b: Functions,
    x: Array,
    prepend: Array | None = None,
    append: Array | None = None,
    *,
    axis: int = -1,
    n: int = 1,
) -> Array:
    """Return the n-th order differences of consecutive elements."""
    if n < 0:
        raise ArgumentError(f"diff: n must be at least 0, got {n}")
    position = normalize_axis_index(axis, len(x.shape))
    parts = [part for part in (prepend, x, append) if part is not None]
    x = b.concat(parts, axis=position) if n and len(parts) > 1 else x
    for _ in range(min(n, x.shape[position])):
        x = b.subtract(
            b.index(x, make_axis_key(position, slice(1, None))),
            b.index(x, make_axis_key(position, slice(None, -1))),
        )
    return x


def _accumulate_by_doubling(
    b: Functions, join: Callable[[Array, Array], Array], x: Array, axis: int, empty: float
) -> Array:
    """Return a cumulative product or sum in log2(length) steps, without division."""
    length, reach = x.shape[axis], 1
    while reach < length:
        widths = [(reach * (at == axis), 0) for at in range(len(x.shape))]
        before = b.index(x, make_axis_key(axis, slice(0, length - reach)))
        x = join(x, b.pad(before, widths, value=empty))
        reach *= 2
    return x


def _find_product_dtype(b: Functions, x: Array) -> Any:
    """Return the dtype of a product of elements of `x`."""
    return b.dtype(b.prod(b.ones((1,), dtype=b.dtype(x))))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _save_spec(args: Args, _out: Array, _needs: Needs, options: Options) -> Saved:
    """Save the shape and dtype of the input, and the options."""
    return tuple(args[0].shape), args[0].dtype, options


@add_grad(GRAD_RULES, "sum", save=_save_spec)
def _grad_sum(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
    shape, dtype, options = saved
    grad = grad if grad.dtype == dtype else b.astype(grad, dtype)
    return (broadcast_reduced(b, grad, shape, options),)


@add_grad(GRAD_RULES, "mean", save=_save_spec)
def _grad_mean(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
    shape, _, options = saved
    return (
        broadcast_reduced(
            b, b.multiply(grad, 1 / _count_reduced(shape, options)), shape, options
        ),
    )


def _count_reduced(shape: tuple[int, ...], options: Options) -> int:
    """Return the number of elements that are reduced to one."""
    axes = to_axis_tuple(options.get("axis"), len(shape))
    return max(math.prod(shape[axis] for axis in axes), 1)


@add_grad(GRAD_RULES, "var", save=keep.save_with_options)
def _grad_var(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    x, options = saved
    shape, axis = tuple(x.shape), options.get("axis")
    free = _count_reduced(shape, options) - options.get("correction", 0.0)
    distance = b.subtract(x, b.mean(x, axis=axis, keepdims=True))
    if free <= 0:  # The variance is NaN or infinite.
        slope = b.where(b.equal(distance, 0), math.nan, b.full_like(x, math.inf))
        return (b.multiply(slope, restore_axes(b, grad, shape, options)),)
    share = restore_axes(b, b.multiply(grad, 2 / free), shape, options)
    return (b.multiply(distance, share),)


@add_grad(GRAD_RULES, "std", save=keep.save_all)
def _grad_std(b: Functions, saved: Everything, grad: Array, _needs: Needs) -> Parts:
    """Return the gradient of the standard deviation, 0 where all values are equal."""
    (x,), out, options = saved
    shape, axis = tuple(x.shape), options.get("axis")
    free = _count_reduced(shape, options) - options.get("correction", 0.0)
    wide = restore_axes(b, out, shape, options)
    safe = b.where(b.equal(wide, 0), 1.0, wide)
    share = b.multiply(grad, 1 / free if free > 0 else math.inf)
    share = b.divide(restore_axes(b, share, shape, options), safe)
    distance = b.subtract(x, b.mean(x, axis=axis, keepdims=True))
    return (b.multiply(distance, share),)


@add_grad(GRAD_RULES, "max", "min", save=keep.save_all)
def _grad_extreme(b: Functions, saved: Everything, grad: Array, _needs: Needs) -> Parts:
    """Pass the gradient to the maximum or minimum; equal values each get a fraction."""
    (x,), out, options = saved
    shape = tuple(x.shape)
    best = b.astype(b.equal(x, restore_axes(b, out, shape, options)), grad.dtype)
    ties = b.sum(best, axis=options.get("axis"), keepdims=True)
    share = b.divide(restore_axes(b, grad, shape, options), ties)
    return (b.multiply(best, share),)


@add_grad(GRAD_RULES, "prod", save=keep.save_with_options)
def _grad_prod(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    """Return the gradient: the product of all other elements, without division."""
    x, options = saved
    shape = tuple(x.shape)
    gone = to_axis_tuple(options.get("axis"), len(shape))
    order = (*(axis for axis in range(len(shape)) if axis not in gone), *gone)
    wide = b.permute_dims(x, order)
    count = math.prod(shape[axis] for axis in gone)
    rows = b.reshape(wide, (*wide.shape[: len(shape) - len(gone)], count))
    others = b.multiply(
        _multiply_earlier(b, rows),
        b.flip(_multiply_earlier(b, b.flip(rows, axis=-1)), axis=-1),
    )
    back = tuple(order.index(axis) for axis in range(len(shape)))
    others = b.permute_dims(b.reshape(others, tuple(wide.shape)), back)
    return (b.multiply(others, restore_axes(b, grad, shape, options)),)


def _multiply_earlier(b: Functions, rows: Array) -> Array:
    """Return the product of all earlier elements of each row, in log2(length) steps."""
    length, reach = rows.shape[-1], 1
    found = _shift_right(b, rows, 1)
    while reach < length:
        found = b.multiply(found, _shift_right(b, found, reach))
        reach *= 2
    return found


def _shift_right(b: Functions, rows: Array, positions: int) -> Array:
    """Shift rows to the right, and fill the left end with the number 1."""
    shape = (*rows.shape[:-1], positions)
    kept = b.index(rows, (..., slice(0, rows.shape[-1] - positions)))
    return b.concat([b.ones(shape, dtype=rows.dtype), kept], axis=-1)


@add_grad(GRAD_RULES, "cumulative_sum", save=_save_spec)
def _grad_cumulative_sum(b: Functions, saved: Saved, grad: Array, _needs: Needs) -> Parts:
    shape, _, options = saved
    axis = options.get("axis")
    axis = axis if axis is not None else 0
    if options.get("include_initial", False):
        axis %= len(shape)
        grad = b.index(grad, (slice(None),) * axis + (slice(1, None),))
    return (b.flip(b.cumulative_sum(b.flip(grad, axis=axis), axis=axis), axis=axis),)


@add_grad(GRAD_RULES, "logcumsumexp", save=keep.save_all)
def _grad_logcumsumexp(
    b: Functions, saved: Everything, grad: Array, _needs: Needs
) -> Parts:
    """Return the gradient; its positive and negative terms are summed separately."""
    (x,), out, options = saved
    axis = options["axis"]
    low = b.where(b.isfinite(out), out, 0.0)

    def sum_later(weights: Array) -> Array:
        some = b.greater(weights, 0)
        logs = b.log(b.where(some, weights, 1.0))
        logs = b.where(some, b.subtract(logs, low), -math.inf)
        total = b.flip(b.logcumsumexp(b.flip(logs, axis=axis), axis=axis), axis=axis)
        return b.exp(b.add(total, x))

    return (b.subtract(sum_later(grad), sum_later(b.negative(grad))),)


# Shape rules ---------------------------------------------------------------------------


_REDUCTION_NAMES = """
    sum mean var max min prod any all argmax argmin count_nonzero std
"""
SHAPE_RULES: dict[str, ShapeRule] = {
    **dict.fromkeys(_REDUCTION_NAMES.split(), infer_reduced),
    "logcumsumexp": infer_along_axis,
}


@add_shape_rule(SHAPE_RULES, "cumulative_sum", "cumulative_prod")
def _shape_cumulative(call: Call) -> Spec:
    """Return the shape of a cumulative function, optionally with an initial element."""
    shape, axis = list(call.args[0].shape) or [1], call.options.get("axis")
    if axis is None and len(shape) > 1:
        raise ValueError(f"{call.name} needs axis= for an array with {len(shape)} axes")
    axis = 0 if axis is None else normalize_axis_index(axis, len(shape))
    shape[axis] += bool(call.options.get("include_initial"))
    return tuple(shape), find_dtype(call)


# NumPy versions ------------------------------------------------------------------------


def numpy_logcumsumexp(x: Floats, *, axis: int) -> Floats:
    """Return the logarithm of the cumulative sum of exponentials."""
    x = to_floats(x)
    wide = x.astype(np.float32) if is_half(x.dtype) else x
    return np.logaddexp.accumulate(wide, axis=axis).astype(x.dtype, copy=False)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {
    "all": np.all,
    "any": np.any,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "count_nonzero": np.count_nonzero,
    "max": np.max,
    "min": np.min,
    "sum": in_float32(wrap_sum(np.sum)),
    "prod": in_float32(wrap_sum(np.prod)),
    "cumulative_sum": in_float32(wrap_sum(np.cumulative_sum)),
    "cumulative_prod": in_float32(wrap_sum(np.cumulative_prod)),
    "mean": in_float32(wrap_mean(np.mean)),
    "std": in_float32(wrap_mean(np.std)),
    "var": in_float32(wrap_mean(np.var)),
}
