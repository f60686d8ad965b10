"""Functions that remove axes: sums, means, extremes, products."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import axes_of, broadcast_reduced, restore_axes
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _keep_like(args: keep.Args, _out: Any, _needs: Any, options: keep.Options) -> Any:
    """What the input looks like, and the options."""
    return tuple(args[0].shape), args[0].dtype, options


def _sum(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, dtype, options = saved
    grad = grad if grad.dtype == dtype else b.astype(grad, dtype)
    return (broadcast_reduced(b, grad, shape, options),)


def _mean(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, _, options = saved
    return (
        broadcast_reduced(b, b.multiply(grad, 1 / _count(shape, options)), shape, options),
    )


def _count(shape: tuple[int, ...], options: keep.Options) -> int:
    """How many numbers a reduction brings together."""
    axes = axes_of(options.get("axis"), len(shape))
    return max(math.prod(shape[axis] for axis in axes), 1)


def _var(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    x, options = saved
    shape, axis = tuple(x.shape), options.get("axis")
    free = _count(shape, options) - options.get("correction", 0.0)
    distance = b.subtract(x, b.mean(x, axis=axis, keepdims=True))
    if free <= 0:  # the variance itself is no number, or an infinity
        slope = b.where(b.equal(distance, 0), math.nan, b.full_like(x, math.inf))
        return (b.multiply(slope, restore_axes(b, grad, shape, options)),)
    share = restore_axes(b, b.multiply(grad, 2 / free), shape, options)
    return (b.multiply(distance, share),)


def _std(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """Of equal values, which have no slope, 0."""
    (x,), out, options = saved
    shape, axis = tuple(x.shape), options.get("axis")
    free = _count(shape, options) - options.get("correction", 0.0)
    wide = restore_axes(b, out, shape, options)
    safe = b.where(b.equal(wide, 0), 1.0, wide)
    share = b.multiply(grad, 1 / free if free > 0 else math.inf)
    share = b.divide(restore_axes(b, share, shape, options), safe)
    distance = b.subtract(x, b.mean(x, axis=axis, keepdims=True))
    return (b.multiply(distance, share),)


def _extreme(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """To the largest or smallest; equal ones share."""
    (x,), out, options = saved
    shape = tuple(x.shape)
    best = b.astype(b.equal(x, restore_axes(b, out, shape, options)), grad.dtype)
    ties = b.sum(best, axis=options.get("axis"), keepdims=True)
    share = b.divide(restore_axes(b, grad, shape, options), ties)
    return (b.multiply(best, share),)


def _logsumexp(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x,), out, options = saved
    shape = tuple(x.shape)
    share = b.exp(b.subtract(x, restore_axes(b, out, shape, options)))
    return (b.multiply(share, restore_axes(b, grad, shape, options)),)


def _prod(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """The product of all others, without a division, so that zeros are right."""
    x, options = saved
    shape = tuple(x.shape)
    gone = axes_of(options.get("axis"), len(shape))
    order = (*(axis for axis in range(len(shape)) if axis not in gone), *gone)
    wide = b.permute_dims(x, order)
    count = math.prod(shape[axis] for axis in gone)
    rows = b.reshape(wide, (*wide.shape[: len(shape) - len(gone)], count))
    others = b.multiply(
        _before(b, rows), b.flip(_before(b, b.flip(rows, axis=-1)), axis=-1)
    )
    back = tuple(order.index(axis) for axis in range(len(shape)))
    others = b.permute_dims(b.reshape(others, tuple(wide.shape)), back)
    return (b.multiply(others, restore_axes(b, grad, shape, options)),)


def _before(b: ArrayFunctions, rows: Array) -> Array:
    """The product of all before each position of a row, by doubling."""
    length, reach = rows.shape[-1], 1
    found = _shift_right(b, rows, 1)
    while reach < length:
        found = b.multiply(found, _shift_right(b, found, reach))
        reach *= 2
    return found


def _shift_right(b: ArrayFunctions, rows: Array, positions: int) -> Array:
    """Rows moved to the right, ones coming in."""
    shape = (*rows.shape[:-1], positions)
    kept = b.index(rows, (..., slice(0, rows.shape[-1] - positions)))
    return b.concat([b.ones(shape, dtype=rows.dtype), kept], axis=-1)


def _cumulative_sum(
    b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs
) -> Parts:
    shape, _, options = saved
    axis = options.get("axis")
    axis = axis if axis is not None else 0
    if options.get("include_initial", False):
        axis %= len(shape)
        grad = b.index(grad, (slice(None),) * axis + (slice(1, None),))
    return (b.flip(b.cumulative_sum(b.flip(grad, axis=axis), axis=axis), axis=axis),)


def _logcumsumexp(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    """Sums from the end of weighted shares; positive and negative weights apart."""
    (x,), out, options = saved
    axis = options["axis"]
    low = b.where(b.isfinite(out), out, 0.0)

    def share(weights: Array) -> Array:
        some = b.greater(weights, 0)
        logs = b.log(b.where(some, weights, 1.0))
        logs = b.where(some, b.subtract(logs, low), -math.inf)
        total = b.flip(b.logcumsumexp(b.flip(logs, axis=axis), axis=axis), axis=axis)
        return b.exp(b.add(total, x))

    return (b.subtract(share(grad), share(b.negative(grad))),)


RULES: dict[str, Rule] = {
    "sum": Rule(_keep_like, _sum),
    "mean": Rule(_keep_like, _mean),
    "var": Rule(keep.first_and_options, _var),
    "std": Rule(keep.everything, _std),
    "max": Rule(keep.everything, _extreme),
    "min": Rule(keep.everything, _extreme),
    "prod": Rule(keep.first_and_options, _prod),
    "logsumexp": Rule(keep.everything, _logsumexp),
    "cumulative_sum": Rule(_keep_like, _cumulative_sum),
    "logcumsumexp": Rule(keep.everything, _logcumsumexp),
}
