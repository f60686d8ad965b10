"""Growing arrays, and choosing the largest of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions


def pad(
    b: Functions, x: Array, widths: Sequence[tuple[int, int]], *, value: float = 0
) -> Array:
    """`value` before and after each axis; a negative width cuts instead."""
    for axis, (before, after) in enumerate(widths):
        x = _widen(b, x, axis, before, after, value)
    return x


def _widen(
    b: Functions, x: Array, axis: int, before: int, after: int, value: float
) -> Array:
    """One axis longer or shorter."""
    length = x.shape[axis]
    if before < 0 or after < 0:
        kept = slice(max(-before, 0), length - max(-after, 0))
        x = b.index(x, along(axis, kept))
    parts = [_block(b, x, axis, before, value), x, _block(b, x, axis, after, value)]
    parts = [part for part in parts if part is not None]
    return b.concat(parts, axis=axis) if len(parts) > 1 else x


def _block(b: Functions, x: Array, axis: int, width: int, value: float) -> Array | None:
    """A constant block to stand beside an array, if it has a width."""
    if width <= 0:
        return None
    shape = (*x.shape[:axis], width, *x.shape[axis + 1 :])
    return b.full(shape, value, dtype=b.dtype(x))


def spaced(
    b: Functions, x: Array, axis: int, *, start: int, step: int, length: int
) -> Array:
    """Zeros of that length with an axis' values at ``start, start + step, …``."""
    count = x.shape[axis]
    if step > 1 and count > 0:
        x = b.expand_dims(x, axis=axis + 1)
        x = b.pad(x, ((0, 0),) * (axis + 1) + ((0, step - 1),))
        x = b.reshape(x, (*x.shape[:axis], count * step, *x.shape[axis + 2 :]))
    after = length - start - x.shape[axis]
    return b.pad(x, ((0, 0),) * axis + ((start, after),))


def topk(b: Functions, x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """The k largest values along an axis, the largest first, and their positions."""
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(
            f"topk: k must be from 0 to {x.shape[axis]}, the length of axis {axis}; got {k}"
        )
    order = b.argsort(b.stop_gradient(x), axis=axis, descending=True)
    positions = b.index(order, along(axis % len(x.shape), slice(0, k)))
    return b.take_along_axis(x, positions, axis=axis), positions


def one_hot(b: Functions, x: Array, num_classes: int, *, dtype: Any = "int64") -> Array:
    """1 at each integer's place of a new last axis, 0 elsewhere."""
    classes = b.arange(num_classes, dtype=b.dtype(x))
    return b.astype(b.equal(b.expand_dims(x, axis=-1), classes), dtype)


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The key that takes a part of one axis and all of the others."""
    return (*(slice(None),) * axis, part, ...)
