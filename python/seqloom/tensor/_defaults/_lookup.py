"""Reading and writing chosen places."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._defaults._index import is_basic, parts_of
from seqloom.tensor._defaults._shape import Shapes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array


class Lookups(Shapes):
    """What picks places, adds into them, or replaces them. No array is written.

    Where places repeat, all values are added; of values that replace, which one wins is
    not said.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.slice_add(B.zeros((3,)), slice(1, 3), B.ones((2,))).tolist()
        [0.0, 1.0, 1.0]
    """

    def scatter_add(self, x: Array, index: Array, src: Array, *, axis: int) -> Array:
        """``out[index[i], j] = x[...] + src[i, j]`` along an axis, as torch's."""
        axis = normalize_axis_index(axis, len(x.shape))
        moved = self.moveaxis(x, axis, -1)
        src = self.moveaxis(src, axis, -1)
        hits = self.one_hot(self.moveaxis(index, axis, -1), x.shape[axis], dtype="bool")
        # No product with 0, which a NaN would pass.
        added = self.sum(self.where(hits, self.expand_dims(src, axis=-1), 0), axis=-2)
        added = self.astype(added, self.dtype(x))
        widths = [
            (0, whole - part) for whole, part in zip(moved.shape, added.shape, strict=True)
        ]
        return self.add(x, self.moveaxis(self.pad(added, widths), -1, axis))

    def scatter_index(self, values: Array, key: Any, shape: Sequence[int]) -> Array:
        """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
        parts = parts_of(self, key, shape)
        if all(is_basic(part) for part in parts):
            return self._placed(values, parts, shape)
        size = math.prod(shape)
        places = self.index(self.reshape(self.arange(size), tuple(shape)), key)
        values = self.broadcast_to(values, places.shape)
        zeros = self.zeros((size,), dtype=self.dtype(values))
        flat = self.reshape(places, (-1,)), self.reshape(values, (-1,))
        return self.reshape(self.scatter_add(zeros, *flat, axis=0), tuple(shape))

    def slice_update(self, x: Array, key: Any, values: Array) -> Array:
        """`x` with ``x[key]`` replaced by `values`, which are broadcast."""
        values, ones = self._spread_over(x, key, values)
        hit = self.greater(self.scatter_index(ones, key, x.shape), 0)
        return self.where(hit, self.scatter_index(values, key, x.shape), x)

    def slice_add(self, x: Array, key: Any, values: Array) -> Array:
        """`x` with `values`, which are broadcast, added at ``x[key]``."""
        values, _ = self._spread_over(x, key, values)
        return self.add(x, self.scatter_index(values, key, x.shape))

    def put_along_axis(
        self, x: Array, indices: Array, values: Array, *, axis: int
    ) -> Array:
        """`x` with the values along an axis put at the indices."""
        values = self.broadcast_to(self._as(x, values), indices.shape)
        zeros = self.zeros(x.shape, dtype=self.dtype(x))
        ones = self.ones(indices.shape, dtype=self.dtype(x))
        hit = self.greater(self.scatter_add(zeros, indices, ones, axis=axis), 0)
        put = self.scatter_add(zeros, indices, values, axis=axis)
        return self.where(hit, put, x)

    def embedding(self, weight: Array, ids: Array) -> Array:
        """The row of `weight` ``(rows, d)`` for each id: ``(..., d)``."""
        rows = self.take(weight, self.reshape(ids, (-1,)), axis=0)
        return self.reshape(rows, (*ids.shape, weight.shape[-1]))

    def embedding_grad(self, grad: Array, ids: Array, *, rows: int) -> Array:
        """The derivative of ``embedding`` by its weight, of so many rows."""
        hits = self.one_hot(self.reshape(ids, (-1,)), rows, dtype="bool")
        flat = self.reshape(grad, (math.prod(ids.shape), 1, grad.shape[-1]))
        # No product with 0, which a NaN would pass.
        added = self.where(self.expand_dims(hits, axis=-1), flat, 0)
        return self.sum(added, axis=0)

    def _as(self, x: Array, values: Any) -> Array:
        """Values as an array of x's type."""
        if isinstance(values, (bool, int, float)):
            return self.full((), values, dtype=self.dtype(x))
        return self.astype(values, self.dtype(x))

    def _spread_over(self, x: Array, key: Any, values: Any) -> tuple[Array, Array]:
        """Values, and ones, of the shape that the key selects."""
        ones = self.index(self.ones(x.shape, dtype=self.dtype(x)), key)
        return self.broadcast_to(self._as(x, values), ones.shape), ones

    def _placed(self, values: Array, parts: list[Any], shape: Sequence[int]) -> Array:
        """Values at the places of numbers and slices, axis by axis; no place repeats."""
        axis = 0
        for part in parts:
            if part is None:
                values = self.squeeze(values, axis=axis)
                continue
            places = _span(part, shape[axis])
            if isinstance(part, int):
                values = self.expand_dims(values, axis=axis)
            values = self._at(values, axis, places, shape[axis])
            axis += 1
        return values

    def _at(self, values: Array, axis: int, places: range, length: int) -> Array:
        """Values of one axis at a range of places of a longer one."""
        if places == range(length):
            return values
        if places.step < 0:
            values, places = self.flip(values, axis=axis), places[::-1]
        return self.spaced(
            values, axis, start=places.start, step=places.step, length=length
        )


def _span(part: Any, length: int) -> range:
    """The places of an axis that a number or a slice names."""
    if isinstance(part, int):
        return range(part % length, part % length + 1)
    return range(length)[cast("slice[Any, Any, Any]", part)]
