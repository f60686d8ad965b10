"""Reading and writing chosen positions, by ``x.at``; a position that is none is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax.numpy as jnp
from jax import lax
from jax.core import Tracer
from numpy.lib.array_utils import normalize_axis_index

from seqloom.tensor._families._scattering import require_covered
from seqloom.tensor.backends._jax._positions import require_positions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend

Array = Any


def index(x: Array, key: Any) -> Array:
    """``x[key]``, with NumPy's basic and integer-array indexing."""
    require_positions("index", x, key)
    is_traced = any(isinstance(part, Tracer) for part in _parts(key))
    return x.at[key].get(mode="fill") if is_traced else x[key]


def take(x: Array, indices: Array, *, axis: int | None = None) -> Array:
    """The parts of an axis that the indices name."""
    require_positions("take", x, indices, axis=axis)
    return jnp.take(x, indices, axis, mode="fill")


def take_along_axis(x: Array, indices: Array, axis: int = -1) -> Array:
    """The values at the indices along an axis."""
    require_positions("take_along_axis", x, indices, axis)
    return jnp.take_along_axis(x, indices, axis, mode="fill")


def scatter_add(x: Array, index: Array, src: Array, *, axis: int) -> Array:
    """``out[index[i], j] = x[...] + src[i, j]`` along an axis."""
    require_covered(index, src)
    require_positions("scatter_add", x, index, axis=axis)
    positions = list(jnp.ogrid[tuple(slice(0, size) for size in index.shape)])
    positions[normalize_axis_index(axis, index.ndim)] = index
    part = src[tuple(slice(0, size) for size in index.shape)]
    return x.at[tuple(positions)].add(part)


def scatter_index(values: Array, key: Any, shape: Sequence[int]) -> Array:
    """Zeros of `shape` with values added at ``[key]``."""
    require_positions("scatter_index", values, key, shape)
    return jnp.zeros(tuple(shape), values.dtype).at[key].add(values)


def slice_update(x: Array, key: Any, values: Any) -> Array:
    """`x` with ``x[key]`` replaced by `values`."""
    require_positions("slice_update", x, key)
    return x.at[key].set(values)


def slice_add(x: Array, key: Any, values: Any) -> Array:
    """`x` with `values` added at ``x[key]``."""
    require_positions("slice_add", x, key)
    return x.at[key].add(values)


def put_along_axis(x: Array, indices: Array, values: Any, *, axis: int) -> Array:
    """`x` with the values along an axis put at the indices."""
    require_positions("put_along_axis", x, indices, axis=axis)
    return jnp.put_along_axis(x, indices, values, axis, inplace=False)


def embedding(weight: Array, ids: Array) -> Array:
    """The row of `weight` for each id."""
    require_positions("embedding", weight, ids)
    if not isinstance(ids, Tracer):
        return weight[ids]
    # A row that is none is NaN; below 0, too, where jax would count from the end.
    rows = jnp.where(ids < 0, weight.shape[0], ids)
    return weight.at[rows].get(mode="fill")


def embedding_grad(grad: Array, ids: Array, *, rows: int) -> Array:
    """The derivative of ``embedding`` by its weight, of so many rows."""
    require_positions("embedding_grad", grad, ids, rows=rows)
    return jnp.zeros((rows, grad.shape[-1]), grad.dtype).at[ids].add(grad)


def one_hot(b: Backend, x: Array, num_classes: int, *, dtype: Any = None) -> Array:
    """1 at each integer's place of a new last axis, 0 elsewhere."""
    hits = jnp.asarray(x)[..., None] == jnp.arange(num_classes)
    return b.astype(hits, int if dtype in {None, "int64"} else dtype)


def topk(x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The k largest values along an axis, the largest first, and their positions."""
    values, positions = lax.top_k(jnp.moveaxis(x, axis, -1), k)
    return jnp.moveaxis(values, -1, axis), jnp.moveaxis(positions, -1, axis)


def pad(x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0) -> Array:
    """`value` before and after each axis; a negative width cuts instead."""
    number = jnp.asarray(value, x.dtype)
    return lax.pad(x, number, [(before, after, 0) for before, after in widths])


def spaced(x: Array, axis: int, *, start: int, step: int, length: int) -> Array:
    """Zeros of that length with an axis' values at ``start, start + step, …``."""
    widths = [(0, 0, 0)] * x.ndim
    reach = start + max(x.shape[axis] - 1, 0) * step + min(x.shape[axis], 1)
    widths[axis] = (start, length - reach, step - 1)
    return lax.pad(x, jnp.zeros((), x.dtype), widths)


def _parts(key: Any) -> tuple[Any, ...]:
    """The parts of a key."""
    return cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
