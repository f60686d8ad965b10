"""Which values occur, how often and where."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def unique_all(b: Functions, x: Array) -> tuple[Array, Array, Array, Array]:
    """The values, where each occurs first, which one each position holds, and counts."""
    order, starts, firsts = _groups(b, x)
    row = b.reshape(x, (-1,))
    indices = b.take(order, firsts, axis=0)
    group = b.subtract(b.cumulative_sum(_whole(b, starts), axis=0), 1)
    inverse = b.take(group, b.argsort(order), axis=0)
    values = b.take(row, indices, axis=0)
    return values, indices, b.reshape(inverse, x.shape), _sizes(b, firsts, row)


def unique_counts(b: Functions, x: Array) -> tuple[Array, Array]:
    """The values, and how often each occurs."""
    values, _, _, counts = b.unique_all(x)
    return values, counts


def unique_inverse(b: Functions, x: Array) -> tuple[Array, Array]:
    """The values, and which of them each position holds."""
    values, _, inverse, _ = b.unique_all(x)
    return values, inverse


def unique_values(b: Functions, x: Array) -> Array:
    """The values that occur."""
    order, _, firsts = _groups(b, x)
    return b.take(b.reshape(x, (-1,)), b.take(order, firsts, axis=0), axis=0)


def isin(b: Functions, x: Array, y: Array, *, invert: bool = False) -> Array:
    """Whether each value of `x` is one of `y`'s; with `invert`, whether it is none."""
    x, y = (b.asarray(array) for array in (x, y))
    row = b.reshape(y, (-1,))
    found = b.any(b.equal(b.expand_dims(x, axis=-1), row), axis=-1)
    return b.logical_not(found) if invert else found


def _groups(b: Functions, x: Array) -> tuple[Array, Array, Array]:
    """The order of the values, where in it a new one begins, and those positions."""
    row = b.reshape(b.stop_gradient(x), (-1,))
    order = b.argsort(row)
    ranked = b.take(row, order, axis=0)
    count = row.shape[0]
    later = b.not_equal(
        b.index(ranked, slice(min(1, count), count)),
        b.index(ranked, slice(0, max(count - 1, 0))),
    )
    first = b.ones((min(1, count),), dtype="bool")
    starts = b.concat([first, later])
    return order, starts, b.nonzero(starts)[0]


def _sizes(b: Functions, firsts: Array, row: Array) -> Array:
    """How many positions lie from each to the next."""
    end = b.full((1,), row.shape[0], dtype=b.dtype(firsts))
    ends = b.concat([firsts, end])
    return b.subtract(b.index(ends, slice(1, None)), firsts)


def _whole(b: Functions, x: Array) -> Array:
    """Truths as numbers that count."""
    return b.astype(x, b.dtype(b.arange(1)))
