"""Reading and writing chosen positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._rust import _native
from seqloom.tensor._defaults import require_covered
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import make_out, to_contiguous, write_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Floats = NDArray[Any]


def scatter_add(
    x: Floats,
    index: NDArray[Any],
    src: Floats,
    *,
    axis: int,
    out: Floats | None = None,
) -> Floats:
    """``out[index[i], j] = x[...] + src[i, j]`` along an axis, as torch's."""
    require_covered(index, src)
    made = _copy(x, out)
    lines: Any = [np.arange(size) for size in index.shape]
    positions: Any = list(np.ix_(*lines))
    positions[normalize_axis_index(axis, x.ndim)] = index
    np.add.at(made, tuple(positions), src[tuple(slice(size) for size in index.shape)])
    return made


def scatter_index(
    values: Floats, key: Any, shape: Sequence[int], *, out: Floats | None = None
) -> Floats:
    """Zeros of `shape` with values added at ``[key]``: the derivative of ``index``."""
    made = fresh(tuple(shape), values.dtype) if out is None else out
    made[...] = 0
    return _add_at(made, key, values)


def slice_update(x: Floats, key: Any, values: Any, *, out: Floats | None = None) -> Floats:
    """`x` with ``x[key]`` replaced by `values`, which are broadcast."""
    made = _copy(x, out)
    made[key] = values
    return made


def slice_add(x: Floats, key: Any, values: Any, *, out: Floats | None = None) -> Floats:
    """`x` with `values`, which are broadcast, added at ``x[key]``."""
    return _add_at(_copy(x, out), key, values)


def put_along_axis(
    x: Floats,
    indices: NDArray[Any],
    values: Any,
    *,
    axis: int,
    out: Floats | None = None,
) -> Floats:
    """`x` with the values along an axis put at the indices."""
    made = _copy(x, out)
    np.put_along_axis(made, indices, values, axis)
    return made


def embedding(weight: Floats, ids: NDArray[Any], *, out: Floats | None = None) -> Floats:
    """The row of `weight` ``(rows, d)`` for each id: ``(..., d)``."""
    if ids.size and ids.min() < 0:  # where NumPy would count from the end
        raise IndexError(f"ids: expected numbers from 0, got {ids.min()}")
    return np.take(weight, ids, axis=0, out=out)


def embedding_grad(
    b: Backend, grad: Floats, ids: NDArray[Any], *, rows: int, out: Floats | None = None
) -> Floats:
    """The derivative of ``embedding`` by its weight, of so many rows."""
    width = grad.shape[-1]
    made = make_out(out, (rows, width), grad.dtype)
    ids = np.ascontiguousarray(ids, np.int64).reshape(-1)
    by_row = to_contiguous(grad).reshape((ids.size, width))
    _native.add_rows(by_row, ids, made, b.threads)
    return write_to(made, out)


def meets_each_position_once(key: Any) -> bool:
    """Whether an index is of numbers and slices alone, so that no place repeats."""
    parts = cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,)
    return all(part is None or isinstance(part, (int, slice, type(...))) for part in parts)


def _copy(x: Floats, out: Floats | None) -> Floats:
    """The array again, in memory that may be written."""
    if out is None:
        return np.array(x)
    out[...] = x
    return out


def _add_at(made: Floats, key: Any, values: Any) -> Floats:
    """An array with values added at its ``[key]``."""
    if meets_each_position_once(key):
        made[key] += values
    else:
        np.add.at(made, key, values)
    return made
