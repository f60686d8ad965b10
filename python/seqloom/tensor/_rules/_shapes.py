"""Functions that move numbers and change none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import axes_of, unbroadcast
from seqloom.tensor._rules._rule import ALL, Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _reshape(b: ArrayFunctions, shape: Any, grad: Array, _needs: keep.Needs) -> Parts:
    return (b.reshape(grad, shape),)


def _keep_shape(args: keep.Args, _out: Any, _needs: Any, _options: Any) -> Any:
    """The shape of the input."""
    return tuple(args[0].shape)


def _permute_dims(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (axes,) = saved
    back = sorted(range(len(axes)), key=lambda position: axes[position] % len(axes))
    return (b.permute_dims(grad, tuple(back)),)


def _matrix_transpose(
    b: ArrayFunctions, _saved: Any, grad: Array, _needs: keep.Needs
) -> Parts:
    return (b.matrix_transpose(grad),)


def _broadcast_to(b: ArrayFunctions, shape: Any, grad: Array, _needs: keep.Needs) -> Parts:
    return (unbroadcast(b, grad, shape),)


def _keep_shapes(args: keep.Args, _out: Any, _needs: Any, options: keep.Options) -> Any:
    """The shapes of all inputs and the axis."""
    return [tuple(arg.shape) for arg in args], options.get("axis", 0)


def _concat(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    shapes, axis = saved
    flat, start = axis is None, 0
    axis = 0 if flat else axis % len(shapes[0])
    parts: list[Array | None] = []
    for shape, need in zip(shapes, needs, strict=True):
        stop = start + (math.prod(shape) if flat else shape[axis])
        part = _slice(b, grad, axis, slice(start, stop)) if need else None
        parts.append(b.reshape(part, shape) if flat and need else part)
        start = stop
    return parts


def _slice(b: ArrayFunctions, grad: Array, axis: int, which: Any) -> Array:
    """A part along one axis."""
    return b.index(grad, (slice(None),) * axis + (which,))


def _stack(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    shapes, axis = saved
    axis %= len(shapes[0]) + 1
    return [
        _slice(b, grad, axis, position) if need else None
        for position, need in enumerate(needs)
    ]


def _keep_pieces(args: keep.Args, _out: Any, _needs: Any, options: keep.Options) -> Any:
    """What the input looks like, and the axis."""
    return tuple(args[0].shape), args[0].dtype, options.get("axis", 0)


def _unstack(b: ArrayFunctions, saved: Any, grads: Any, _needs: keep.Needs) -> Parts:
    shape, dtype, axis = saved
    axis %= len(shape)
    rest = shape[:axis] + shape[axis + 1 :]
    pieces = [b.zeros(rest, dtype=dtype) if grad is None else grad for grad in grads]
    return (b.stack(pieces, axis=axis),)


def _flip(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    _, options = saved
    return (b.flip(grad, **options),)


def _roll(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (shift,), options = saved
    back = (
        tuple(-distance for distance in cast("Any", shift))
        if isinstance(shift, tuple)
        else -shift
    )
    return (b.roll(grad, back, **options),)


def _repeat(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, (repeats,), options = saved
    axis = options.get("axis")
    flat = axis is None
    inside = (math.prod(shape),) if flat else shape
    axis = 0 if flat else axis % len(shape)
    if isinstance(repeats, int):
        apart = (*inside[: axis + 1], repeats, *inside[axis + 1 :])
        back = b.sum(b.reshape(grad, apart), axis=axis + 1)
    else:
        positions = b.repeat(b.arange(inside[axis]), repeats)
        back = b.scatter_index(grad, (slice(None),) * axis + (positions,), inside)
    return (b.reshape(back, shape) if flat else back,)


def _tile(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    shape, (times,), _ = saved
    ndim = max(len(shape), len(times))
    sizes = (1,) * (ndim - len(shape)) + shape
    times = (1,) * (ndim - len(times)) + tuple(times)
    apart = [size for pair in zip(times, sizes, strict=True) for size in pair]
    total = b.sum(b.reshape(grad, tuple(apart)), axis=tuple(range(0, 2 * ndim, 2)))
    return (b.reshape(total, shape),)


def _pad(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (widths,) = saved
    sizes = zip(widths, grad.shape, strict=True)
    # What was added is cut off; what a negative width had cut gets zeros.
    inside = tuple(
        slice(max(before, 0), size - max(after, 0)) for (before, after), size in sizes
    )
    grad = b.index(grad, inside)
    cut = tuple((max(-before, 0), max(-after, 0)) for before, after in widths)
    return (b.pad(grad, cut) if any(map(any, cut)) else grad,)


def _sort(b: ArrayFunctions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    x, options = saved
    axis = axes_of(options.get("axis", -1), len(x.shape))[0]
    ranks = b.argsort(b.argsort(x, **options), axis=axis)
    return (b.take_along_axis(grad, ranks, axis=axis),)


RULES: dict[str, Rule] = {
    "reshape": Rule(_keep_shape, _reshape),
    "expand_dims": Rule(_keep_shape, _reshape),
    "squeeze": Rule(_keep_shape, _reshape),
    "permute_dims": Rule(keep.further, _permute_dims),
    "matrix_transpose": Rule(keep.nothing, _matrix_transpose),
    "broadcast_to": Rule(_keep_shape, _broadcast_to),
    "concat": Rule(_keep_shapes, _concat, of_sequence=True),
    "stack": Rule(_keep_shapes, _stack, of_sequence=True),
    "unstack": Rule(_keep_pieces, _unstack, tracked=ALL),
    "flip": Rule(keep.further_and_options, _flip),
    "roll": Rule(keep.further_and_options, _roll),
    "repeat": Rule(keep.shape_and_options, _repeat),
    "tile": Rule(keep.shape_and_options, _tile),
    "pad": Rule(keep.further, _pad),
    "sort": Rule(keep.first_and_options, _sort),
}
