"""Products of matrices and vectors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._rules import _keep as keep
from seqloom.tensor._rules._broadcast import as_input, axes_of
from seqloom.tensor._rules._rule import Parts, Rule

if TYPE_CHECKING:
    from seqloom.tensor._defaults import Array, ArrayFunctions


def _keep_factors(args: keep.Args, out: Any, needs: keep.Needs, options: Any) -> Any:
    """Of two factors, the one whose partner is followed; what both look like."""
    del out
    return (
        args[0] if needs[1] else None,
        args[1] if needs[0] else None,
        keep.like(args[0]),
        keep.like(args[1]),
        options,
    )


def _matmul(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    left, right, (left_shape, left_dtype), (right_shape, right_dtype), _ = saved
    left, right, grad = _as_matrices(b, (left, right, grad), left_shape, right_shape)
    by_left = by_right = None
    if needs[0]:
        wide = tuple(left_shape) if len(left_shape) > 1 else (1, *left_shape)
        by_left = b.matmul(grad, b.matrix_transpose(right))
        by_left = b.reshape(as_input(b, by_left, (wide, left_dtype)), tuple(left_shape))
    if needs[1]:
        wide = tuple(right_shape) if len(right_shape) > 1 else (*right_shape, 1)
        by_right = b.matmul(b.matrix_transpose(left), grad)
        by_right = b.reshape(as_input(b, by_right, (wide, right_dtype)), tuple(right_shape))
    return by_left, by_right


def _as_matrices(b: ArrayFunctions, arrays: Any, left_shape: Any, right_shape: Any) -> Any:
    """A product with a vector as one of matrices: an axis of length 1 put in."""
    left, right, grad = arrays
    if len(left_shape) == 1:
        left = None if left is None else b.expand_dims(left, axis=0)
        grad = b.expand_dims(grad, axis=-2 if len(right_shape) > 1 else -1)
    if len(right_shape) == 1:
        right = None if right is None else b.expand_dims(right, axis=1)
        grad = b.expand_dims(grad, axis=-1)
    return left, right, grad


def _keep_linear(args: keep.Args, _out: Any, needs: keep.Needs, _options: Any) -> Any:
    """The input if the weight is followed, the weight if the input is; a shape."""
    x, weight = args[:2]
    kept = x if needs[1] else None, weight if needs[0] else None
    return *kept, tuple(x.shape)


def _linear(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    x, weight, shape = saved
    count = math.prod(shape[:-1])
    rows = b.reshape(grad, (count, grad.shape[-1]))
    by_x = by_weight = by_bias = None
    if needs[0]:
        by_x = b.reshape(b.matmul(rows, weight), shape)
    if needs[1]:
        by_weight = b.matmul(b.matrix_transpose(rows), b.reshape(x, (count, shape[-1])))
    if needs[2:] and needs[2]:
        by_bias = b.sum(rows, axis=0)
    return by_x, by_weight, by_bias


def _tensordot(b: ArrayFunctions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    left, right, *likes, options = saved
    sizes = [len(shape) for shape, _ in likes]
    ours, theirs = _find_contracted_axes(options.get("axes", 2), *sizes)
    free, other = _rest(ours, sizes[0]), _rest(theirs, sizes[1])
    positions = list(range(len(grad.shape)))
    by_left = by_right = None
    if needs[0]:
        by_left = b.tensordot(grad, right, axes=(positions[len(free) :], other))
        by_left = _in_order(b, by_left, [*free, *_met(ours, theirs)])
    if needs[1]:
        by_right = b.tensordot(left, grad, axes=(free, positions[: len(free)]))
        by_right = _in_order(b, by_right, [*_met(theirs, ours), *other])
    return by_left, by_right


def _rest(axes: list[int], ndim: int) -> list[int]:
    """The axes that are not summed over."""
    return [axis for axis in range(ndim) if axis not in axes]


def _met(axes: list[int], by: list[int]) -> list[int]:
    """Axes in the order of those that they are paired with."""
    return [axis for _, axis in sorted(zip(by, axes, strict=True))]


def _find_contracted_axes(axes: Any, left: int, right: int) -> tuple[list[int], list[int]]:
    """The axes of both factors that are summed over, in pairs."""
    if isinstance(axes, int):
        return list(range(left - axes, left)), list(range(axes))
    ours, theirs = axes
    return list(axes_of(ours, left)), list(axes_of(theirs, right))


def _in_order(b: ArrayFunctions, part: Array, axes: list[int]) -> Array:
    """An array whose axes stand in another order, put right."""
    return b.permute_dims(part, tuple(axes.index(axis) for axis in range(len(axes))))


RULES: dict[str, Rule] = {
    "matmul": Rule(_keep_factors, _matmul),
    "linear": Rule(_keep_linear, _linear),
    "tensordot": Rule(_keep_factors, _tensordot),
}
