"""Functions that write to elements at given indices.

If an index occurs more than once, added values are summed. If several values replace one
element, any one of the values is stored.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._indexing import expand_key, is_basic, shape_index
from seqloom.tensor._families._numpy_arrays import Floats, allocate, in_float32
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    fit_grad,
    infer_same_spec,
    make_dummy,
)
from seqloom.tensor._graph import values_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, ArgSpec, Needs, Options

    Saved = tuple[Array, ArgSpec | None, Options]


# Default implementations ---------------------------------------------------------------


def scatter_add(b: Functions, x: Array, index: Array, src: Array, *, axis: int) -> Array:
    """Add values at indices along an axis, like ``torch.scatter_add``."""
    require_source_covers(index, src)
    axis = normalize_axis_index(axis, len(x.shape))
    moved = b.moveaxis(x, axis, -1)
    src = b.moveaxis(src, axis, -1)
    hits = b.one_hot(b.moveaxis(index, axis, -1), x.shape[axis], dtype="bool")
    # Select values with `where`, because a product with 0 would propagate NaN.
    added = b.sum(b.where(hits, b.expand_dims(src, axis=-1), 0), axis=-2)
    added = b.astype(added, b.dtype(x))
    widths = [
        (0, whole - part) for whole, part in zip(moved.shape, added.shape, strict=True)
    ]
    return b.add(x, b.moveaxis(b.pad(added, widths), -1, axis))


def require_source_covers(index: Array, src: Array) -> None:
    """Raise if `src` is smaller than `index`; a length of 1 is not broadcast."""
    if not hasattr(src, "shape"):
        raise ArgumentError(
            f"scatter_add: src must be a tensor, got {quote(src)}; convert it to a tensor "
            f"with the shape of index, {tuple(index.shape)}"
        )
    sizes = zip(index.shape, src.shape, strict=False)
    if len(index.shape) != len(src.shape) or any(size < i for i, size in sizes):
        raise ShapeError(
            "scatter_add: src must be at least as long as index on every axis; src has "
            f"shape {tuple(src.shape)}, index has shape {tuple(index.shape)}"
        )


def scatter_index(b: Functions, values: Array, key: Any, shape: Sequence[int]) -> Array:
    """Return zeros of `shape` with values added at ``[key]``: the gradient of ``index``."""
    parts = expand_key(b, key, shape)
    if all(is_basic(part) for part in parts):
        # Integers and slices select each element at most once, so each axis is
        # processed separately.
        axis = 0
        for part in parts:
            if part is None:
                values = b.squeeze(values, axis=axis)
                continue
            positions = _list_axis_positions(part, shape[axis])
            if isinstance(part, int):
                values = b.expand_dims(values, axis=axis)
            values = _spread(b, values, axis, positions, shape[axis])
            axis += 1
        return values
    size = math.prod(shape)
    positions = b.index(b.reshape(b.arange(size), tuple(shape)), key)
    values = b.broadcast_to(values, positions.shape)
    zeros = b.zeros((size,), dtype=b.dtype(values))
    flat = b.reshape(positions, (-1,)), b.reshape(values, (-1,))
    return b.reshape(b.scatter_add(zeros, *flat, axis=0), tuple(shape))


def slice_update(b: Functions, x: Array, key: Any, values: Array) -> Array:
    """Return `x` with the elements ``x[key]`` replaced by `values`, after broadcasting."""
    values, ones = _broadcast_to_key(b, x, key, values)
    hit = b.greater(b.scatter_index(ones, key, x.shape), 0)
    return b.where(hit, b.scatter_index(values, key, x.shape), x)


def slice_add(b: Functions, x: Array, key: Any, values: Array) -> Array:
    """Return `x` with `values` added to the elements ``x[key]``, after broadcasting."""
    values, _ = _broadcast_to_key(b, x, key, values)
    return b.add(x, b.scatter_index(values, key, x.shape))


def put_along_axis(
    b: Functions, x: Array, indices: Array, values: Array, *, axis: int
) -> Array:
    """Return `x` with elements replaced by values, at indices along an axis."""
    values = b.broadcast_to(_to_same_dtype(b, x, values), indices.shape)
    zeros = b.zeros(x.shape, dtype=b.dtype(x))
    ones = b.ones(indices.shape, dtype=b.dtype(x))
    hit = b.greater(b.scatter_add(zeros, indices, ones, axis=axis), 0)
    put = b.scatter_add(zeros, indices, values, axis=axis)
    return b.where(hit, put, x)


def _to_same_dtype(b: Functions, x: Array, values: Any) -> Array:
    """Return the values as an array with the dtype of `x`."""
    if isinstance(values, (bool, int, float)):
        return b.full((), values, dtype=b.dtype(x))
    return b.astype(values, b.dtype(x))


def _broadcast_to_key(b: Functions, x: Array, key: Any, values: Any) -> tuple[Array, Array]:
    """Return `values` and an array of ones, both broadcast to the shape of ``x[key]``."""
    ones = b.index(b.ones(x.shape, dtype=b.dtype(x)), key)
    return b.broadcast_to(_to_same_dtype(b, x, values), ones.shape), ones


def _spread(b: Functions, values: Array, axis: int, positions: range, length: int) -> Array:
    """Move the values of an axis to a range of positions of a longer axis."""
    if positions == range(length):
        return values
    if positions.step < 0:
        values, positions = b.flip(values, axis=axis), positions[::-1]
    return b.spaced(values, axis, start=positions.start, step=positions.step, length=length)


def _list_axis_positions(part: Any, length: int) -> range:
    """Return the positions of an axis that an integer or slice selects."""
    if isinstance(part, int):
        return range(part % length, part % length + 1)
    return range(length)[cast("slice[Any, Any, Any]", part)]


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {
    "scatter_index": Rule(
        keep.save_rest, lambda b, saved, grad, _: (b.index(grad, saved[0]),)
    )
}


def _save_indices(args: Args, _out: Array, needs: Needs, options: Options) -> Saved:
    """Save indices and options; save shape and dtype of the values if they are tracked."""
    return args[1], keep.get_spec(args[2]) if needs[2] else None, options


@add_grad(GRAD_RULES, "scatter_add", save=_save_indices)
def _grad_scatter_add(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    positions, like, options = saved
    axis = options["axis"] % len(grad.shape)
    by_source = _gather_values(b, grad, positions, axis) if like else None
    return grad if needs[0] else None, None, by_source


def _gather_values(b: Functions, grad: Array, positions: Array, axis: int) -> Array:
    """Return the elements at `positions`, which may be shorter along other axes."""
    reach = tuple(
        slice(None) if other == axis else slice(0, size)
        for other, size in enumerate(positions.shape)
    )
    return b.take_along_axis(b.index(grad, reach), positions, axis=axis)


@add_grad(GRAD_RULES, "put_along_axis", save=_save_indices)
def _grad_put_along_axis(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    positions, like, options = saved
    by_x = by_values = None
    if needs[0]:
        nothing = b.zeros(tuple(positions.shape), dtype=grad.dtype)
        by_x = b.put_along_axis(grad, positions, nothing, **options)
    if like:
        by_values = fit_grad(b, b.take_along_axis(grad, positions, **options), like)
    return by_x, None, by_values


@add_grad(GRAD_RULES, "slice_update", save=_save_indices)
def _grad_slice_update(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    key, like, _ = saved
    by_x = by_values = None
    if needs[0]:
        by_x = b.slice_update(grad, key, 0.0)
    if like:
        by_values = fit_grad(b, b.index(grad, key), like)
    return by_x, None, by_values


@add_grad(GRAD_RULES, "slice_add", save=_save_indices)
def _grad_slice_add(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    key, like, _ = saved
    by_values = fit_grad(b, b.index(grad, key), like) if like else None
    return grad if needs[0] else None, None, by_values


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    **dict.fromkeys(("scatter_add", "put_along_axis"), infer_same_spec),
    "scatter_index": lambda call: (tuple(call.args[2]), call.args[0].dtype),
}


@add_shape_rule(SHAPE_RULES, "slice_update", "slice_add")
def _shape_write(call: Call) -> Spec:
    """Return the shape of the first argument; raise if the values do not broadcast."""
    x, key, values = call.args
    if hasattr(values, "shape") and not any(v.dtype == np.bool_ for v in values_in(key)):
        np.broadcast_to(make_dummy(values.shape), shape_index(call)[0])
    return x.shape, x.dtype


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_scatter_add(
    x: Floats, index: NDArray[Any], src: Floats, *, axis: int, out: Floats | None = None
) -> Floats:
    """Add values at indices along an axis, like ``torch.scatter_add``."""
    require_source_covers(index, src)
    made = _copy_writable(x, out)
    lines: Any = [np.arange(size) for size in index.shape]
    positions: Any = list(np.ix_(*lines))
    positions[normalize_axis_index(axis, x.ndim)] = index
    np.add.at(made, tuple(positions), src[tuple(slice(size) for size in index.shape)])
    return made


@in_float32
def numpy_scatter_index(
    values: Floats, key: Any, shape: Sequence[int], *, out: Floats | None = None
) -> Floats:
    """Return zeros of `shape` with values added at ``[key]``: the gradient of ``index``."""
    made = allocate(tuple(shape), values.dtype) if out is None else out
    made[...] = 0
    return _add_at(made, key, values)


@in_float32
def numpy_slice_update(
    x: Floats, key: Any, values: Any, *, out: Floats | None = None
) -> Floats:
    """Return `x` with the elements ``x[key]`` replaced by `values`, after broadcasting."""
    made = _copy_writable(x, out)
    made[key] = values
    return made


@in_float32
def numpy_slice_add(
    x: Floats, key: Any, values: Any, *, out: Floats | None = None
) -> Floats:
    """Return `x` with `values` added to the elements ``x[key]``, after broadcasting."""
    return _add_at(_copy_writable(x, out), key, values)


@in_float32
def numpy_put_along_axis(
    x: Floats, indices: NDArray[Any], values: Any, *, axis: int, out: Floats | None = None
) -> Floats:
    """Return `x` with elements replaced by values, at indices along an axis."""
    made = _copy_writable(x, out)
    np.put_along_axis(made, indices, values, axis)
    return made


def is_basic_key(key: Any) -> bool:
    """Return whether a key has only integers and slices, which never repeat an element."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)


def _copy_writable(x: Floats, out: Floats | None) -> Floats:
    """Return a writable copy of an array, written to `out` if possible."""
    if out is None:
        return np.array(x)
    out[...] = x
    return out


def _add_at(made: Floats, key: Any, values: Any) -> Floats:
    """Add values to the elements ``x[key]`` of an array in place."""
    if is_basic_key(key):
        made[key] += values
    else:
        np.add.at(made, key, values)
    return made
