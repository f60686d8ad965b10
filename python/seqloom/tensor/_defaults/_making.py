"""Making arrays like another, at equal distances, and to one shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.tensor._element_types import require_representable
from seqloom.tensor._index import broadcast_shapes

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def empty_like(b: Functions, x: Array, *, dtype: Any = None) -> Array:
    """Memory that holds anything, of x's shape and type."""
    return b.empty(x.shape, dtype=_like(b, x, dtype))


def zeros_like(b: Functions, x: Array, *, dtype: Any = None) -> Array:
    """Zeros of x's shape and type."""
    return b.zeros(x.shape, dtype=_like(b, x, dtype))


def ones_like(b: Functions, x: Array, *, dtype: Any = None) -> Array:
    """Ones of x's shape and type."""
    return b.ones(x.shape, dtype=_like(b, x, dtype))


def full_like(b: Functions, x: Array, value: Any, *, dtype: Any = None) -> Array:
    """One value everywhere, of x's shape and type."""
    return b.full(x.shape, value, dtype=_like(b, x, dtype))


def linspace(
    b: Functions,
    start: Any,
    stop: Any,
    num: int,
    *,
    dtype: Any = None,
    endpoint: bool = True,
) -> Array:
    """So many numbers at equal distances from `start` to `stop`."""
    if num < 0:
        raise ArgumentError(f"linspace: num must be at least 0, got {num}")
    made: np.ndarray[Any, np.dtype[Any]] = np.asarray(
        np.linspace(start, stop, num, endpoint=endpoint)  # pyright: ignore[reportUnknownArgumentType]
    )
    if dtype is not None and b.isdtype(dtype, "integral"):
        made = np.floor(made)  # as NumPy, where astype would cut towards 0
        for extreme in (made.min(), made.max()) if made.size else ():
            require_representable(extreme, np.dtype(dtype))
    wide = {"float32": "complex64"}.get(b.float_dtype, "complex128")
    usual = wide if made.dtype.kind == "c" else b.float_dtype
    return b.asarray(made, dtype=usual if dtype is None else dtype)


def broadcast_arrays(b: Functions, *arrays: Array) -> tuple[Array, ...]:
    """Arrays repeated to their common shape."""
    shape = broadcast_shapes(*(tuple(array.shape) for array in arrays))
    return tuple(b.broadcast_to(array, shape) for array in arrays)


def meshgrid(
    b: Functions, *arrays: Array, indexing: Literal["xy", "ij"] = "xy"
) -> tuple[Array, ...]:
    """The coordinates of a grid, from those along each axis."""
    if indexing not in {"xy", "ij"}:
        raise ArgumentError(f'indexing must be "xy" or "ij", got {indexing!r}')
    positions = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        positions[:2] = [1, 0]
    shape = [0] * len(arrays)
    for array, position in zip(arrays, positions, strict=True):
        shape[position] = math.prod(array.shape)
    return tuple(
        b.broadcast_to(_to_axis(b, array, position, len(shape)), tuple(shape))
        for array, position in zip(arrays, positions, strict=True)
    )


def _to_axis(b: Functions, x: Array, position: int, count: int) -> Array:
    """A row as an array of so many axes, all but one of length 1."""
    return b.reshape(x, (*(1,) * position, -1, *(1,) * (count - position - 1)))


def _like(b: Functions, x: Array, dtype: Any) -> Any:
    """The type that is asked for, or x's."""
    return b.dtype(x) if dtype is None else dtype
