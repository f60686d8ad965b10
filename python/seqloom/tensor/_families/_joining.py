"""Joining, repeating, padding and splitting arrays."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    are_views,
    get_address,
    in_float32,
)
from seqloom.tensor._families._numpy_functions import promote_arrays
from seqloom.tensor._families._rule import (
    ALL_RESULTS,
    Call,
    Parts,
    Rule,
    Shape,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    find_dtype,
    make_dummy,
)
from seqloom.tensor._families._shapes import make_axis_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, OfShape, Options, Shape

    Saved = tuple[list[Shape], int | None]


# Default implementations ---------------------------------------------------------------


def pad(
    b: Functions, x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0
) -> Array:
    """Return `x` padded with `value` along each axis; a negative width removes elements."""
    for axis, (before, after) in enumerate(widths):
        length = x.shape[axis]
        if before < 0 or after < 0:
            kept = slice(max(-before, 0), length - max(-after, 0))
            x = b.index(x, make_axis_key(axis, kept))
        parts = [_padding(b, x, axis, before, value), x, _padding(b, x, axis, after, value)]
        parts = [part for part in parts if part is not None]
        x = b.concat(parts, axis=axis) if len(parts) > 1 else x
    return x


def _padding(b: Functions, x: Array, axis: int, width: int, value: float) -> Array | None:
    """Return a constant array to join to `x`, or None if its width is 0."""
    if width <= 0:
        return None
    shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
    return b.full(shape, value, dtype=b.dtype(x))


def spaced(
    b: Functions, x: Array, axis: int, *, start: int, step: int, length: int
) -> Array:
    """Return zeros, except for the elements of `x` at ``start, start + step, …``."""
    count = x.shape[axis]
    if step > 1 and count > 0:
        x = b.expand_dims(x, axis=axis + 1)
        x = b.pad(x, ((0, 0),) * (axis + 1) + ((0, step - 1),))
        x = b.reshape(x, (*x.shape[:axis], count * step, *x.shape[axis + 2 :]))
    after = length - start - x.shape[axis]
    return b.pad(x, ((0, 0),) * axis + ((start, after),))


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _save_shapes(args: Args, _out: Array, _needs: Needs, options: Options) -> Saved:
    """Save the shapes of all inputs and the axis."""
    return [tuple(arg.shape) for arg in args], options.get("axis", 0)


@add_grad(GRAD_RULES, "concat", save=_save_shapes, of_sequence=True)
def _grad_concat(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    shapes, axis = saved
    flat, start = axis is None, 0
    axis = 0 if axis is None else axis % len(shapes[0])
    parts: list[Array | None] = []
    for shape, need in zip(shapes, needs, strict=True):
        stop = start + (math.prod(shape) if flat else shape[axis])
        part = _slice_axis(b, grad, axis, slice(start, stop)) if need else None
        parts.append(b.reshape(part, shape) if flat and need else part)
        start = stop
    return parts


def _slice_axis(b: Functions, grad: Array, axis: int, which: Any) -> Array:
    """Return a slice of one axis."""
    return b.index(grad, (slice(None),) * axis + (which,))


@add_grad(GRAD_RULES, "stack", save=_save_shapes, of_sequence=True)
def _grad_stack(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    shapes, axis = saved
    axis = (axis or 0) % (len(shapes[0]) + 1)
    return [
        _slice_axis(b, grad, axis, position) if need else None
        for position, need in enumerate(needs)
    ]


def _save_for_unstack(args: Args, _out: Array, _needs: Needs, options: Options) -> Any:
    """Save the shape and dtype of the input, and the axis."""
    return tuple(args[0].shape), args[0].dtype, options.get("axis", 0)


@add_grad(GRAD_RULES, "unstack", save=_save_for_unstack, tracked=ALL_RESULTS)
def _grad_unstack(b: Functions, saved: Any, grads: Any, _needs: Needs) -> Parts:
    shape, dtype, axis = saved
    axis %= len(shape)
    rest = shape[:axis] + shape[axis + 1 :]
    pieces = [b.zeros(rest, dtype=dtype) if grad is None else grad for grad in grads]
    return (b.stack(pieces, axis=axis),)


@add_grad(GRAD_RULES, "repeat", save=keep.save_shape_options)
def _grad_repeat(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, (repeats,), options = saved
    axis = options.get("axis")
    flat = axis is None
    inside = (math.prod(shape),) if flat else shape
    axis = 0 if flat else axis % len(shape)
    if isinstance(repeats, int):
        apart = (*inside[: axis + 1], repeats, *inside[axis + 1 :])
        back = b.sum(b.reshape(grad, apart), axis=axis + 1)
    else:
        positions = b.repeat(b.arange(inside[axis]), repeats)
        back = b.scatter_index(grad, (slice(None),) * axis + (positions,), inside)
    return (b.reshape(back, shape) if flat else back,)


@add_grad(GRAD_RULES, "tile", save=keep.save_shape_options)
def _grad_tile(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, (times,), _ = saved
    ndim = max(len(shape), len(times))
    sizes = (1,) * (ndim - len(shape)) + shape
    times = (1,) * (ndim - len(times)) + tuple(times)
    apart = [size for pair in zip(times, sizes, strict=True) for size in pair]
    total = b.sum(b.reshape(grad, tuple(apart)), axis=tuple(range(0, 2 * ndim, 2)))
    return (b.reshape(total, shape),)


@add_grad(GRAD_RULES, "pad", save=keep.save_rest)
def _grad_pad(b: Functions, saved: Args, grad: Array, _needs: Needs) -> Parts:
    (widths,) = saved
    sizes = zip(widths, grad.shape, strict=True)
    # Remove the padding; where a negative width removed elements, the gradient is 0.
    inside = tuple(
        slice(max(before, 0), size - max(after, 0)) for (before, after), size in sizes
    )
    grad = b.index(grad, inside)
    cut = tuple((max(-before, 0), max(-after, 0)) for before, after in widths)
    return (b.pad(grad, cut) if any(map(any, cut)) else grad,)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


@add_shape_rule(SHAPE_RULES, "repeat")
def _shape_repeat(call: Call) -> Spec:
    """Return the shape of ``repeat``."""
    (x, repeats), axis = call.args[:2], call.get(2, "axis")
    if not isinstance(repeats, int) or repeats < 0:
        # `repeats` is an array of counts, or invalid.
        found = np.repeat(make_dummy(x.shape), repeats, axis)
        return found.shape, x.dtype
    if axis is None:
        return (math.prod(x.shape) * repeats,), x.dtype
    shape = list(x.shape)
    shape[normalize_axis_index(axis, len(shape))] *= repeats
    return tuple(shape), x.dtype


@add_shape_rule(SHAPE_RULES, "tile")
def _shape_tile(call: Call) -> Spec:
    """Return the shape of ``tile``."""
    x, times = call.args
    times = (times,) if isinstance(times, int) else tuple(times)
    rank = max(len(times), len(x.shape))
    padded = ((*(1,) * (rank - len(it)), *it) for it in (x.shape, times))
    return tuple(size * n for size, n in zip(*padded, strict=True)), x.dtype


@add_shape_rule(SHAPE_RULES, "concat")
def _shape_concat(call: Call) -> Spec:
    """Return the shape of ``concat``: the lengths along the joined axis are summed."""
    shapes = [value.shape for value in call.args[0]]
    axis = call.options.get("axis", (*call.args, 0)[1])
    if axis is None:
        shape = (sum(map(math.prod, shapes)),)
    else:
        at = normalize_axis_index(axis, len(shapes[0]))
        _require_equal_shapes(shapes, at)
        total = sum(shape[at] for shape in shapes)
        shape = (*shapes[0][:at], total, *shapes[0][at + 1 :])
    return shape, find_dtype(call._replace(options={"axis": axis}))


def _require_equal_shapes(shapes: list[Shape], axis: int | None = None) -> None:
    """Raise if the shapes differ on an axis other than the joined one."""
    rest = {(len(s), *(n for at, n in enumerate(s) if at != axis)) for s in shapes}
    if len(rest) > 1:
        raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not match")


@add_shape_rule(SHAPE_RULES, "stack")
def _shape_stack(call: Call) -> Spec:
    """Return the shape of ``stack``, which has a new axis."""
    values = call.args[0]
    _require_equal_shapes([value.shape for value in values])
    shape = list(values[0].shape)
    axis = normalize_axis_index(
        call.options.get("axis", (*call.args, 0)[1]), len(shape) + 1
    )
    shape.insert(axis, len(values))
    return tuple(shape), find_dtype(call._replace(options={"axis": axis}))


@add_shape_rule(SHAPE_RULES, "unstack")
def _shape_unstack(call: Call) -> list[Spec]:
    """Return the shape of each slice along an axis."""
    x = call.args[0]
    shape = list(x.shape)
    axis = call.options.get("axis", (*call.args, 0)[1])
    count = shape.pop(normalize_axis_index(axis, len(shape)))
    return [(tuple(shape), x.dtype)] * count


@add_shape_rule(SHAPE_RULES, "pad")
def _shape_pad(call: Call) -> Spec:
    """Return the shape of ``pad``."""
    x = call.args[0]
    sizes = zip(x.shape, call.get(1, "widths"), strict=True)
    return tuple(size + before + after for size, (before, after) in sizes), x.dtype


# NumPy versions ------------------------------------------------------------------------


def numpy_concat(
    arrays: Sequence[Floats], *, axis: int | None = 0, out: Floats | None = None
) -> Floats:
    """Return the arrays joined along an axis."""
    return np.concat(promote_arrays(arrays), axis=axis, out=out)


@in_float32
def numpy_stack(
    arrays: Sequence[Floats], *, axis: int = 0, out: Floats | None = None
) -> Floats:
    """Return arrays joined along a new axis; a view if one array contains all of them."""
    first = arrays[0]
    if out is not None or not are_views(*arrays):
        return np.stack(promote_arrays(arrays), axis=axis, out=out)
    step = get_address(arrays[1]) - get_address(first)
    shape, strides = (len(arrays), *first.shape), (step, *first.strides)
    # The view refers to the first array, which keeps the memory of all arrays alive.
    whole = np.lib.stride_tricks.as_strided(first, shape, strides, writeable=False)
    return np.moveaxis(whole, 0, axis)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {"repeat": np.repeat, "tile": np.tile, "unstack": np.unstack}
