"""Reading and writing chosen places, by ``x.at``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
from jax import lax
from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

Array = Any


class Lookups(Backend):
    """What picks places, adds into them, or replaces them; and padding."""

    def scatter_add(self, x: Array, index: Array, src: Array, *, axis: int) -> Array:
        """``out[index[i], j] = x[...] + src[i, j]`` along an axis."""
        places = list(jnp.ogrid[tuple(slice(0, size) for size in index.shape)])
        places[normalize_axis_index(axis, index.ndim)] = index
        part = src[tuple(slice(0, size) for size in index.shape)]
        return x.at[tuple(places)].add(part)

    def scatter_index(self, values: Array, key: Any, shape: Sequence[int]) -> Array:
        """Zeros of `shape` with values added at ``[key]``."""
        return jnp.zeros(tuple(shape), values.dtype).at[key].add(values)

    def slice_update(self, x: Array, key: Any, values: Any) -> Array:
        """`x` with ``x[key]`` replaced by `values`."""
        return x.at[key].set(values)

    def slice_add(self, x: Array, key: Any, values: Any) -> Array:
        """`x` with `values` added at ``x[key]``."""
        return x.at[key].add(values)

    def put_along_axis(self, x: Array, indices: Array, values: Any, *, axis: int) -> Array:
        """`x` with the values along an axis put at the indices."""
        return jnp.put_along_axis(x, indices, values, axis, inplace=False)

    def embedding(self, weight: Array, ids: Array) -> Array:
        """The row of `weight` for each id."""
        return weight[ids]

    def embedding_grad(self, grad: Array, ids: Array, *, rows: int) -> Array:
        """The derivative of ``embedding`` by its weight, of so many rows."""
        return jnp.zeros((rows, grad.shape[-1]), grad.dtype).at[ids].add(grad)

    def one_hot(self, x: Array, num_classes: int, *, dtype: Any = None) -> Array:
        """1 at each whole number's place of a new last axis, 0 elsewhere."""
        hits = jnp.asarray(x)[..., None] == jnp.arange(num_classes)
        return self.astype(hits, int if dtype in {None, "int64"} else dtype)

    def topk(self, x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
        """The k largest values along an axis, the largest first, and their places."""
        values, places = lax.top_k(jnp.moveaxis(x, axis, -1), k)
        return jnp.moveaxis(values, -1, axis), jnp.moveaxis(places, -1, axis)

    def pad(
        self, x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0
    ) -> Array:
        """`value` before and after each axis; a negative width cuts instead."""
        number = jnp.asarray(value, x.dtype)
        return lax.pad(x, number, [(before, after, 0) for before, after in widths])

    def spaced(self, x: Array, axis: int, *, start: int, step: int, length: int) -> Array:
        """Zeros of that length with an axis' values at ``start, start + step, …``."""
        widths = [(0, 0, 0)] * x.ndim
        reach = start + max(x.shape[axis] - 1, 0) * step + min(x.shape[axis], 1)
        widths[axis] = (start, length - reach, step - 1)
        return lax.pad(x, jnp.zeros((), x.dtype), widths)
