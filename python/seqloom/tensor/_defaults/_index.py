"""``x[key]`` with NumPy's keys, from what the standard promises of ``x[...]``.

The standard knows a key for every axis, of numbers and slices, or of numbers and arrays;
what mixes slices with arrays is taken apart here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions


def index(b: Functions, x: Array, key: Any) -> Array:
    """First the numbers and slices, then the arrays."""
    parts = parts_of(b, key, x.shape)
    arrays = [part for part in parts if not is_basic(part)]
    if not arrays or not any(isinstance(part, slice) for part in parts):
        return x[tuple(parts)]
    basic = tuple(part if is_basic(part) else slice(None) for part in parts)
    left = [part for part in parts if not isinstance(part, int)]
    axes = [axis for axis, part in enumerate(left) if not is_basic(part)]
    return _take_arrays(b, x[basic], arrays, axes, together=_stand_together(parts))


def is_basic(part: Any) -> bool:
    """Whether a part of a key is a number, a slice or a new axis."""
    return part is None or isinstance(part, (int, slice))


def parts_of(b: Functions, key: Any, shape: Sequence[int]) -> list[Any]:
    """The key with one part for each axis: an ellipsis written out, the end filled."""
    given = list(cast("tuple[Any, ...]", key)) if isinstance(key, tuple) else [key]
    parts = [array for part in given for array in _positions(b, part)]
    taken = sum(1 for part in parts if part is not None and part is not ...)
    rest: list[Any] = [slice(None)] * (len(shape) - taken)
    for position, part in enumerate(parts):
        if part is ...:
            return parts[:position] + rest + parts[position + 1 :]
    return parts + rest


def _positions(b: Functions, part: Any) -> Sequence[Any]:
    """A part of a key; an array of truths as the positions that are true."""
    if is_basic(part) or part is ...:
        return (part,)
    part = b.asarray(part)
    return b.nonzero(part) if b.isdtype(b.dtype(part), "bool") else (part,)


def _stand_together(parts: list[Any]) -> bool:
    """Whether the arrays and integers of a key are neighbours, without a slice between."""
    positions = [
        at for at, part in enumerate(parts) if isinstance(part, int) or not is_basic(part)
    ]
    return positions == list(range(positions[0], positions[0] + len(positions)))


def _take_arrays(
    b: Functions, x: Array, arrays: list[Array], axes: list[int], *, together: bool
) -> Array:
    """Arrays of indices along some axes, whole slices along the others."""
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
    """The first axes, as many as `count`, behind `position` others."""
    order = [*range(count, count + position), *range(count)]
    return b.permute_dims(x, (*order, *range(count + position, len(x.shape))))
