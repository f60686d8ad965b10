"""Indexing with NumPy keys, and embedding lookups.

The Array API standard has two sorts of keys: integers with slices, and integers with
arrays. A key that mixes slices and arrays is split into one key of each sort.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._rust import _native
from seqloom.tensor._elements import broadcast_shapes, find_indexed_axes
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    in_float32,
    make_out,
    to_contiguous,
    write_out,
)
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    make_dummy,
    unbroadcast,
)
from seqloom.tensor._graph import Value

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Needs, OfShape


# Default implementations ---------------------------------------------------------------


def index(b: Functions, x: Array, key: Any) -> Array:
    """Return ``x[key]``: first integers and slices are applied, then arrays."""
    parts = expand_key(b, key, x.shape)
    arrays = [part for part in parts if not is_basic(part)]
    if not arrays or not any(isinstance(part, slice) for part in parts):
        return x[tuple(parts)]
    basic = tuple(part if is_basic(part) else slice(None) for part in parts)
    left = [part for part in parts if not isinstance(part, int)]
    axes = [axis for axis, part in enumerate(left) if not is_basic(part)]
    return _take_arrays(b, x[basic], arrays, axes, together=_are_adjacent(parts))


def is_basic(part: Any) -> bool:
    """Return whether an element of an index key is an integer, a slice or a new axis."""
    return part is None or isinstance(part, (int, slice))


def expand_key(b: Functions, key: Any, shape: Sequence[int]) -> list[Any]:
    """Return an index key with one element per axis, without an ellipsis."""
    given = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    parts = [array for part in given for array in _expand_part(b, part)]
    taken = sum(1 for part in parts if part is not None and part is not ...)
    rest: list[Any] = [slice(None)] * (len(shape) - taken)
    for position, part in enumerate(parts):
        if part is ...:
            return parts[:position] + rest + parts[position + 1 :]
    return parts + rest


def _expand_part(b: Functions, part: Any) -> Sequence[Any]:
    """Return an element of a key; a mask becomes the indices of its True values."""
    if is_basic(part) or part is ...:
        return (part,)
    part = b.asarray(part)
    return b.nonzero(part) if b.isdtype(b.dtype(part), "bool") else (part,)


def _are_adjacent(parts: list[Any]) -> bool:
    """Return whether the arrays and integers of an index key are adjacent."""
    positions = [
        at for at, part in enumerate(parts) if isinstance(part, int) or not is_basic(part)
    ]
    return positions == list(range(positions[0], positions[0] + len(positions)))


def _take_arrays(
    b: Functions, x: Array, arrays: list[Array], axes: list[int], *, together: bool
) -> Array:
    """Index some axes with arrays, and keep all other axes whole."""
    others = [axis for axis in range(len(x.shape)) if axis not in axes]
    sizes = [x.shape[axis] for axis in axes]
    rest = [x.shape[axis] for axis in others]
    rows = b.reshape(b.permute_dims(x, (*axes, *others)), (math.prod(sizes), *rest))
    positions = b.remainder(arrays[0], sizes[0])
    for array, size in zip(arrays[1:], sizes[1:], strict=True):
        positions = b.add(b.multiply(positions, size), b.remainder(array, size))
    shape = tuple(positions.shape)
    found = b.take(rows, b.reshape(positions, (-1,)), axis=0)
    found = b.reshape(found, (*shape, *rest))
    return _move_front_axes(b, found, len(shape), axes[0]) if together else found


def _move_front_axes(b: Functions, x: Array, count: int, position: int) -> Array:
    """Move the first `count` axes after the next `position` axes."""
    order = [*range(count, count + position), *range(count)]
    return b.permute_dims(x, (*order, *range(count + position, len(x.shape))))


def embedding(b: Functions, weight: Array, ids: Array) -> Array:
    """Return the row of `weight` ``(rows, d)`` for each id: ``(..., d)``."""
    rows = b.take(weight, b.reshape(ids, (-1,)), axis=0)
    return b.reshape(rows, (*ids.shape, weight.shape[-1]))


def embedding_grad(b: Functions, grad: Array, ids: Array, *, rows: int) -> Array:
    """Return the gradient of ``embedding`` with respect to its table of `rows` rows."""
    hits = b.one_hot(b.reshape(ids, (-1,)), rows, dtype="bool")
    flat = b.reshape(grad, (math.prod(ids.shape), 1, grad.shape[-1]))
    # Multiplication by 0 would propagate NaN.
    added = b.where(b.expand_dims(hits, axis=-1), flat, 0)
    return b.sum(added, axis=0)


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {
    "embedding_grad": Rule(
        keep.save_rest, lambda b, saved, grad, _: (b.embedding(grad, saved[0]),)
    )
}


@add_grad(GRAD_RULES, "index", save=keep.save_shape_options)
def _grad_index(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, (key,), _ = saved
    return (b.scatter_index(grad, key, shape),)


@add_grad(GRAD_RULES, "take", save=keep.save_shape_options)
def _grad_take(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, (positions,), options = saved
    axis = options.get("axis")
    axis = 0 if axis is None else axis % len(shape)
    return (b.scatter_index(grad, (slice(None),) * axis + (positions,), shape),)


@add_grad(GRAD_RULES, "take_along_axis", save=keep.save_shape_options)
def _grad_take_along_axis(
    b: Functions, saved: OfShape, grad: Array, _needs: Needs
) -> Parts:
    shape, (positions,), options = saved
    axis = options.get("axis", -1) % len(shape)
    positions = b.where(b.less(positions, 0), b.add(positions, shape[axis]), positions)
    # Values and indices may have been broadcast along all axes except `axis`.
    wide: list[int] = list(grad.shape)
    wide[axis] = shape[axis]
    if tuple(positions.shape) != tuple(grad.shape):
        positions = b.broadcast_to(positions, tuple(grad.shape))
    added = b.scatter_add(
        b.zeros(tuple(wide), dtype=grad.dtype), positions, grad, axis=axis
    )
    return (unbroadcast(b, added, shape),)


@add_grad(GRAD_RULES, "embedding", save=keep.save_shape_options)
def _grad_embedding(b: Functions, saved: OfShape, grad: Array, _needs: Needs) -> Parts:
    shape, (ids,), _ = saved
    return (b.embedding_grad(grad, ids, rows=shape[0]),)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


def shape_index(call: Call) -> Spec:
    """Return the shape of ``x[key]``."""
    x, key = call.args[:2]
    found = make_dummy(x.shape)[_zero_key_arrays(key)].shape
    parts = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    arrays = [part for part in parts if isinstance(part, Value)]
    if any(it.dtype == np.bool_ for it in arrays) or any(type(it) is bool for it in parts):
        return found, x.dtype
    # NumPy computes shapes only with integers, but the size of an axis may be a symbol
    # of an export. Therefore each axis gets a unique length, which is the index of its
    # true size in `sizes`.
    sizes = [0, 1, *x.shape, *broadcast_shapes(*(it.shape for it in arrays))]
    for part, axis in zip(parts, find_indexed_axes(parts, x.shape), strict=True):
        if isinstance(part, slice):
            sizes[axis + 2] = _count_slice(cast("Any", part), x.shape[axis])
    rank = len(x.shape) + 2
    rows = make_dummy(tuple(range(rank, len(sizes))), np.intp)
    coded = tuple(_encode_part(part, rows) for part in parts)
    found = make_dummy(tuple(range(2, rank)))[coded].shape
    return tuple(sizes[it] for it in found), x.dtype


def _encode_part(part: Any, rows: Any) -> Any:
    """Replace an element of a key so that each result axis keeps its unique length."""
    if isinstance(part, Value):
        return rows
    if isinstance(part, slice):
        return slice(None)
    return 0 if isinstance(part, int) else part


def _count_slice(part: slice, size: int) -> int:
    """Return the number of elements that a slice selects."""
    step: int = part.step or 1
    ends = (0, size) if step > 0 else (size - 1, -1)
    low, high = min(ends), max(ends)
    start, stop = (
        end if it is None else min(max(it + size if it < 0 else it, low), high)
        for it, end in zip((part.start, part.stop), ends, strict=True)
    )
    return max(0, -((start - stop) // step))


def _zero_key_arrays(key: Any) -> Any:
    """Replace each array in an index key by zeros."""
    if isinstance(key, Value):
        return make_dummy(key.shape, np.intp)
    if isinstance(key, tuple):
        return tuple(_zero_key_arrays(part) for part in cast("tuple[Any, ...]", key))
    return key


@add_shape_rule(SHAPE_RULES, "take")
def _shape_take(call: Call) -> Spec:
    """Return the shape in which the axis is replaced by the shape of the indices."""
    x, indices = call.args[:2]
    axis = call.options.get("axis", call.get(2, "axis"))
    if axis is None:
        return indices.shape, x.dtype
    at = normalize_axis_index(axis, len(x.shape))
    return (*x.shape[:at], *indices.shape, *x.shape[at + 1 :]), x.dtype


@add_shape_rule(SHAPE_RULES, "take_along_axis")
def _shape_take_along_axis(call: Call) -> Spec:
    """Return the shape of `x`, with the length of the indices along `axis`."""
    x, indices = call.args[:2]
    at = normalize_axis_index(call.options.get("axis", -1), len(x.shape))
    others = tuple(1 if axis == at else size for axis, size in enumerate(x.shape))
    return broadcast_shapes(others, indices.shape), x.dtype


SHAPE_RULES.update({"index": shape_index})


# NumPy versions ------------------------------------------------------------------------


def numpy_take_along_axis(x: Floats, indices: Any, axis: int = -1) -> Floats:
    """Return the values at the indices along an axis."""
    return np.take_along_axis(x, np.asarray(indices), axis)


def numpy_index(x: Floats, key: Any) -> Floats:
    """Return ``x[key]``."""
    return x[key]


@in_float32
def numpy_embedding(
    weight: Floats, ids: NDArray[Any], *, out: Floats | None = None
) -> Floats:
    """Return the row of `weight` ``(rows, d)`` for each id: ``(..., d)``."""
    # NumPy would accept negative ids and count them from the end.
    if ids.size and ids.min() < 0:
        raise IndexError(f"ids: expected numbers from 0, got {ids.min()}")
    return np.take(weight, ids, axis=0, out=out)


@in_float32
def numpy_embedding_grad(
    b: Functions, grad: Floats, ids: NDArray[Any], *, rows: int, out: Floats | None = None
) -> Floats:
    """Return the gradient of ``embedding`` with respect to its table of `rows` rows."""
    width = grad.shape[-1]
    made = make_out(out, (rows, width), grad.dtype)
    ids = np.ascontiguousarray(ids, np.int64).reshape(-1)
    by_row = to_contiguous(grad).reshape((ids.size, width))
    _native.add_rows(by_row, ids, made, b.threads)
    return write_out(made, out)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {"nonzero": np.nonzero, "take": np.take}
