"""Reading and writing chosen positions.

Where positions repeat, all values are added; of values that replace, which one wins is
not said.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from numpy.lib.array_utils import normalize_axis_index

from seqloom._arguments import quote
from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._defaults._index import is_basic, parts_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions


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
    """Refuses values that have not one for each index; a length of 1 is not repeated."""
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
        return _pad_to_positions(b, values, parts, shape)
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


def embedding(b: Functions, weight: Array, ids: Array) -> Array:
    """The row of `weight` ``(rows, d)`` for each id: ``(..., d)``."""
    rows = b.take(weight, b.reshape(ids, (-1,)), axis=0)
    return b.reshape(rows, (*ids.shape, weight.shape[-1]))


def embedding_grad(b: Functions, grad: Array, ids: Array, *, rows: int) -> Array:
    """The derivative of ``embedding`` by its weight, of so many rows."""
    hits = b.one_hot(b.reshape(ids, (-1,)), rows, dtype="bool")
    flat = b.reshape(grad, (math.prod(ids.shape), 1, grad.shape[-1]))
    # No product with 0, which a NaN would pass.
    added = b.where(b.expand_dims(hits, axis=-1), flat, 0)
    return b.sum(added, axis=0)


def _as(b: Functions, x: Array, values: Any) -> Array:
    """Values as an array of x's type."""
    if isinstance(values, (bool, int, float)):
        return b.full((), values, dtype=b.dtype(x))
    return b.astype(values, b.dtype(x))


def _broadcast_to_key(b: Functions, x: Array, key: Any, values: Any) -> tuple[Array, Array]:
    """Values, and ones, of the shape that the key selects."""
    ones = b.index(b.ones(x.shape, dtype=b.dtype(x)), key)
    return b.broadcast_to(_as(b, x, values), ones.shape), ones


def _pad_to_positions(
    b: Functions, values: Array, parts: list[Any], shape: Sequence[int]
) -> Array:
    """Values at the positions of numbers and slices, axis by axis; no place repeats."""
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


def _at(b: Functions, values: Array, axis: int, positions: range, length: int) -> Array:
    """Values of one axis at a range of positions of a longer one."""
    if positions == range(length):
        return values
    if positions.step < 0:
        values, positions = b.flip(values, axis=axis), positions[::-1]
    return b.spaced(values, axis, start=positions.start, step=positions.step, length=length)


def _span(part: Any, length: int) -> range:
    """The positions of an axis that a number or a slice names."""
    if isinstance(part, int):
        return range(part % length, part % length + 1)
    return range(length)[cast("slice[Any, Any, Any]", part)]
