"""Functions that read chosen positions, or write them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import as_input, unbroadcast
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _index(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, (key,), _ = saved
    return (b.scatter_index(grad, key, shape),)


def _scatter_index(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    key, _ = saved
    return (b.index(grad, key),)


def _take(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, (positions,), options = saved
    axis = options.get("axis")
    axis = 0 if axis is None else axis % len(shape)
    return (b.scatter_index(grad, (slice(None),) * axis + (positions,), shape),)


def _take_along_axis(
    b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs
) -> Parts:
    shape, (positions,), options = saved
    axis = options.get("axis", -1) % len(shape)
    positions = b.where(b.less(positions, 0), b.add(positions, shape[axis]), positions)
    # Both may have been repeated along the other axes.
    wide = (*grad.shape[:axis], shape[axis], *grad.shape[axis + 1 :])
    if tuple(positions.shape) != tuple(grad.shape):
        positions = b.broadcast_to(positions, tuple(grad.shape))
    added = b.scatter_add(b.zeros(wide, dtype=grad.dtype), positions, grad, axis=axis)
    return (unbroadcast(b, added, shape),)


def _keep_positions(args: keep.Args, _out: Any, needs: keep.Needs, options: Any) -> Any:
    """The indices, the shape and dtype of the values if they are tracked, the options."""
    return args[1], keep.like(args[2]) if needs[2] else None, options


def _scatter_add(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    positions, like, options = saved
    axis = options["axis"] % len(grad.shape)
    by_source = _gather(b, grad, positions, axis) if like else None
    return grad if needs[0] else None, None, by_source


def _gather(b: ArrayFunctions, grad: Array, positions: Array, axis: int) -> Array:
    """The values at the indices, which may be fewer than the array has on other axes."""
    reach = tuple(
        slice(None) if other == axis else slice(0, size)
        for other, size in enumerate(positions.shape)
    )
    return b.take_along_axis(b.index(grad, reach), positions, axis=axis)


def _put_along_axis(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    positions, like, options = saved
    by_x = by_values = None
    if needs[0]:
        nothing = b.zeros(tuple(positions.shape), dtype=grad.dtype)
        by_x = b.put_along_axis(grad, positions, nothing, **options)
    if like:
        by_values = as_input(b, b.take_along_axis(grad, positions, **options), like)
    return by_x, None, by_values


def _slice_update(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    key, like, _ = saved
    by_x = by_values = None
    if needs[0]:
        by_x = b.slice_update(grad, key, 0.0)
    if like:
        by_values = as_input(b, b.index(grad, key), like)
    return by_x, None, by_values


def _slice_add(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    key, like, _ = saved
    by_values = as_input(b, b.index(grad, key), like) if like else None
    return grad if needs[0] else None, None, by_values


def _keep_found(args: keep.Args, out: Any, _needs: Any, options: keep.Options) -> Any:
    """Where the largest stood, the shape and the axis."""
    return out[1], tuple(args[0].shape), options.get("axis", -1)


def _topk(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    positions, shape, axis = saved
    zeros = b.zeros(shape, dtype=grad.dtype)
    return (b.put_along_axis(zeros, positions, grad, axis=axis),)


def _embedding(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, (ids,), _ = saved
    return (b.embedding_grad(grad, ids, rows=shape[0]),)


def _embedding_grad(
    b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs
) -> Parts:
    return (b.embedding(grad, saved[0]),)


RULES: dict[str, Rule] = {
    "index": Rule(keep.shape_and_options, _index),
    "scatter_index": Rule(keep.further, _scatter_index),
    "take": Rule(keep.shape_and_options, _take),
    "take_along_axis": Rule(keep.shape_and_options, _take_along_axis),
    "scatter_add": Rule(_keep_positions, _scatter_add),
    "put_along_axis": Rule(_keep_positions, _put_along_axis),
    "slice_update": Rule(_keep_positions, _slice_update),
    "slice_add": Rule(_keep_positions, _slice_add),
    "topk": Rule(_keep_found, _topk),
    "embedding": Rule(keep.shape_and_options, _embedding),
    "embedding_grad": Rule(keep.further, _embedding_grad),
}
