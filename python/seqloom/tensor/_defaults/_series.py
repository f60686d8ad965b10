"""Along an axis: differences, and what is brought together up to each position."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import normalize_axis_index

from seqloom.errors import ArgumentError
from seqloom.tensor._defaults._shape import along

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._defaults._standard import Array, Functions


def cumulative_prod(
    b: Functions,
    x: Array,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Array:
    """Products up to each position."""
    if axis is None and len(x.shape) > 1:
        raise ArgumentError("cumulative_prod needs an axis where there are several")
    x = x if x.shape else b.reshape(x, (1,))
    position = normalize_axis_index(axis or 0, len(x.shape))
    x = b.astype(x, _of_products(b, x) if dtype is None else dtype)
    found = _running(b, b.multiply, x, position, 1)
    if not include_initial:
        return found
    return b.pad(found, [(int(at == position), 0) for at in range(len(x.shape))], value=1)


def logcumsumexp(b: Functions, x: Array, *, axis: int) -> Array:
    """The logarithms of the sums of exponentials up to each position."""
    position = normalize_axis_index(axis, len(x.shape))
    return _running(b, b.logaddexp, x, position, -math.inf)


def diff(
    b: Functions,
    x: Array,
    prepend: Array | None = None,
    append: Array | None = None,
    *,
    axis: int = -1,
    n: int = 1,
) -> Array:
    """Each value less the one before it, n times."""
    if n < 0:
        raise ArgumentError(f"diff: n must be at least 0, got {n}")
    position = normalize_axis_index(axis, len(x.shape))
    parts = [part for part in (prepend, x, append) if part is not None]
    x = b.concat(parts, axis=position) if n and len(parts) > 1 else x
    for _ in range(min(n, x.shape[position])):
        x = b.subtract(
            b.index(x, along(position, slice(1, None))),
            b.index(x, along(position, slice(None, -1))),
        )
    return x


def _running(
    b: Functions, join: Callable[[Array, Array], Array], x: Array, axis: int, empty: float
) -> Array:
    """All values up to each position joined, by doubling: no division, so 0 is right."""
    length, reach = x.shape[axis], 1
    while reach < length:
        widths = [(reach * (at == axis), 0) for at in range(len(x.shape))]
        before = b.index(x, along(axis, slice(0, length - reach)))
        x = join(x, b.pad(before, widths, value=empty))
        reach *= 2
    return x


def _of_products(b: Functions, x: Array) -> Any:
    """The type that products of such numbers have."""
    return b.dtype(b.prod(b.ones((1,), dtype=b.dtype(x))))
