"""Writing at chosen indices.

Where indices repeat, all values are added; of values that replace, which one wins is not
defined.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._indexing import is_basic, parts_of, shape_index
from seqloom.tensor._families._numpy_arrays import Floats, fresh, widen
from seqloom.tensor._families._rule import (
    Call,
    Kind,
    Parts,
    Rule,
    ShapeRule,
    add_rule,
    add_shape,
    as_input,
    like_first,
    make_bare,
)
from seqloom.tensor._graph import values_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Like, Needs, Options

    Saved = tuple[Array, Like | None, Options]


# Default bodies ------------------------------------------------------------------------


def scatter_add(b: Functions, x: Array, index: Array, src: Array, *, axis: int) -> Array:
    """``out[index[i], j] = x[...] + src[i, j]`` along an axis, as torch's."""
    require_covered(index, src)
    axis = normalize_axis_index(axis, len(x.shape))
    moved = b.moveaxis(x, axis, -1)
    src = b.moveaxis(src, axis, -1)
    hits = b.one_hot(b.moveaxis(index, axis, -1), x.shape[axis], dtype="bool")
    # No product with 0, which a NaN would pass.
    added = b.sum(b.where(hits, b.expand_dims(src, axis=-1), 0), axis=-2)
    added = b.astype(added, b.dtype(x))
    widths = [
        (0, whole - part) for whole, part in zip(moved.shape, added.shape, strict=True)
    ]
    return b.add(x, b.moveaxis(b.pad(added, widths), -1, axis))


def require_covered(index: Array, src: Array) -> None:
    """Refuse values that have not one for each index; a length of 1 is not repeated."""
    if not hasattr(src, "shape"):
        raise ArgumentError(
            f"scatter_add: src must be a tensor, got {quote(src)}; make a tensor of it in "
            f"the shape of index, {tuple(index.shape)}"
        )
    sizes = zip(index.shape, src.shape, strict=False)
    if len(index.shape) != len(src.shape) or any(size < i for i, size in sizes):
        raise ShapeError(
            "scatter_add: src must be at least as long as index on every axis; src has "
            f"shape {tuple(src.shape)}, index {tuple(index.shape)}"
        )


def scatter_index(b: Functions, values: Array, key: Any, shape: Sequence[int]) -> Array:
    """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
    parts = parts_of(b, key, shape)
    if all(is_basic(part) for part in parts):
        # Values at the positions of numbers and slices, axis by axis; no place repeats.
        axis = 0
        for part in parts:
            if part is None:
                values = b.squeeze(values, axis=axis)
                continue
            positions = _span(part, shape[axis])
            if isinstance(part, int):
                values = b.expand_dims(values, axis=axis)
            values = _at(b, values, axis, positions, shape[axis])
            axis += 1
        return values
    size = math.prod(shape)
    positions = b.index(b.reshape(b.arange(size), tuple(shape)), key)
    values = b.broadcast_to(values, positions.shape)
    zeros = b.zeros((size,), dtype=b.dtype(values))
    flat = b.reshape(positions, (-1,)), b.reshape(values, (-1,))
    return b.reshape(b.scatter_add(zeros, *flat, axis=0), tuple(shape))


def slice_update(b: Functions, x: Array, key: Any, values: Array) -> Array:
    """`x` with ``x[key]`` replaced by `values`, which are broadcast."""
    values, ones = _broadcast_to_key(b, x, key, values)
    hit = b.greater(b.scatter_index(ones, key, x.shape), 0)
    return b.where(hit, b.scatter_index(values, key, x.shape), x)


def slice_add(b: Functions, x: Array, key: Any, values: Array) -> Array:
    """`x` with `values`, which are broadcast, added at ``x[key]``."""
    values, _ = _broadcast_to_key(b, x, key, values)
    return b.add(x, b.scatter_index(values, key, x.shape))


def put_along_axis(
    b: Functions, x: Array, indices: Array, values: Array, *, axis: int
) -> Array:
    """`x` with the values along an axis put at the indices."""
    values = b.broadcast_to(_as(b, x, values), indices.shape)
    zeros = b.zeros(x.shape, dtype=b.dtype(x))
    ones = b.ones(indices.shape, dtype=b.dtype(x))
    hit = b.greater(b.scatter_add(zeros, indices, ones, axis=axis), 0)
    put = b.scatter_add(zeros, indices, values, axis=axis)
    return b.where(hit, put, x)


def _as(b: Functions, x: Array, values: Any) -> Array:
    """Values as an array of x's type."""
    if isinstance(values, (bool, int, float)):
        return b.full((), values, dtype=b.dtype(x))
    return b.astype(values, b.dtype(x))


def _broadcast_to_key(b: Functions, x: Array, key: Any, values: Any) -> tuple[Array, Array]:
    """Values, and ones, of the shape that the key selects."""
    ones = b.index(b.ones(x.shape, dtype=b.dtype(x)), key)
    return b.broadcast_to(_as(b, x, values), ones.shape), ones


def _at(b: Functions, values: Array, axis: int, positions: range, length: int) -> Array:
    """Values of one axis at a range of positions of a longer one."""
    if positions == range(length):
        return values
    if positions.step < 0:
        values, positions = b.flip(values, axis=axis), positions[::-1]
    return b.spaced(values, axis, start=positions.start, step=positions.step, length=length)


def _span(part: Any, length: int) -> range:
    """Return the positions of an axis that a number or a slice names."""
    if isinstance(part, int):
        return range(part % length, part % length + 1)
    return range(length)[cast("slice[Any, Any, Any]", part)]


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {
    "scatter_index": Rule(
        keep.further, lambda b, saved, grad, _: (b.index(grad, saved[0]),)
    ),
}


def _keep_positions(args: Args, _out: Array, needs: Needs, options: Options) -> Saved:
    """Return the indices, the shape and dtype of the values if they are tracked.

    The options.
    """
    return args[1], keep.like(args[2]) if needs[2] else None, options


@add_rule(RULES, "scatter_add", save=_keep_positions)
def _pull_scatter_add(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    positions, like, options = saved
    axis = options["axis"] % len(grad.shape)
    by_source = _gather(b, grad, positions, axis) if like else None
    return grad if needs[0] else None, None, by_source


def _gather(b: Functions, grad: Array, positions: Array, axis: int) -> Array:
    """Return the values at the indices.

    Which may be fewer than the array has on other axes.
    """
    reach = tuple(
        slice(None) if other == axis else slice(0, size)
        for other, size in enumerate(positions.shape)
    )
    return b.take_along_axis(b.index(grad, reach), positions, axis=axis)


@add_rule(RULES, "put_along_axis", save=_keep_positions)
def _pull_put_along_axis(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    positions, like, options = saved
    by_x = by_values = None
    if needs[0]:
        nothing = b.zeros(tuple(positions.shape), dtype=grad.dtype)
        by_x = b.put_along_axis(grad, positions, nothing, **options)
    if like:
        by_values = as_input(b, b.take_along_axis(grad, positions, **options), like)
    return by_x, None, by_values


@add_rule(RULES, "slice_update", save=_keep_positions)
def _pull_slice_update(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    key, like, _ = saved
    by_x = by_values = None
    if needs[0]:
        by_x = b.slice_update(grad, key, 0.0)
    if like:
        by_values = as_input(b, b.index(grad, key), like)
    return by_x, None, by_values


@add_rule(RULES, "slice_add", save=_keep_positions)
def _pull_slice_add(b: Functions, saved: Saved, grad: Array, needs: Needs) -> Parts:
    key, like, _ = saved
    by_values = as_input(b, b.index(grad, key), like) if like else None
    return grad if needs[0] else None, None, by_values


# Shapes --------------------------------------------------------------------------------


SHAPES: dict[str, ShapeRule] = {
    **dict.fromkeys(("scatter_add", "put_along_axis"), like_first),
    "scatter_index": lambda call: (tuple(call.args[2]), call.args[0].dtype),
}


@add_shape(SHAPES, "slice_update", "slice_add")
def _shape_write(call: Call) -> Kind:
    """Return the shape of the first argument; the values must broadcast to the index."""
    x, key, values = call.args
    if hasattr(values, "shape") and not any(v.dtype == np.bool_ for v in values_in(key)):
        np.broadcast_to(make_bare(values.shape), shape_index(call)[0])
    return x.shape, x.dtype


# NumPy ---------------------------------------------------------------------------------


@widen
def numpy_scatter_add(
    x: Floats, index: NDArray[Any], src: Floats, *, axis: int, out: Floats | None = None
) -> Floats:
    """``out[index[i], j] = x[...] + src[i, j]`` along an axis, as torch's."""
    require_covered(index, src)
    made = _copy(x, out)
    lines: Any = [np.arange(size) for size in index.shape]
    positions: Any = list(np.ix_(*lines))
    positions[normalize_axis_index(axis, x.ndim)] = index
    np.add.at(made, tuple(positions), src[tuple(slice(size) for size in index.shape)])
    return made


@widen
def numpy_scatter_index(
    values: Floats, key: Any, shape: Sequence[int], *, out: Floats | None = None
) -> Floats:
    """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
    made = fresh(tuple(shape), values.dtype) if out is None else out
    made[...] = 0
    return _add_at(made, key, values)


@widen
def numpy_slice_update(
    x: Floats, key: Any, values: Any, *, out: Floats | None = None
) -> Floats:
    """`x` with ``x[key]`` replaced by `values`, which are broadcast."""
    made = _copy(x, out)
    made[key] = values
    return made


@widen
def numpy_slice_add(
    x: Floats, key: Any, values: Any, *, out: Floats | None = None
) -> Floats:
    """`x` with `values`, which are broadcast, added at ``x[key]``."""
    return _add_at(_copy(x, out), key, values)


@widen
def numpy_put_along_axis(
    x: Floats, indices: NDArray[Any], values: Any, *, axis: int, out: Floats | None = None
) -> Floats:
    """`x` with the values along an axis put at the indices."""
    made = _copy(x, out)
    np.put_along_axis(made, indices, values, axis)
    return made


def meets_each_position_once(key: Any) -> bool:
    """Return whether an index is of numbers and slices alone, so that no place repeats."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)


def _copy(x: Floats, out: Floats | None) -> Floats:
    """Return the array again, in memory that may be written."""
    if out is None:
        return np.array(x)
    out[...] = x
    return out


def _add_at(made: Floats, key: Any, values: Any) -> Floats:
    """Return an array with values added at its ``[key]``."""
    if meets_each_position_once(key):
        made[key] += values
    else:
        np.add.at(made, key, values)
    return made
