"""Functions that move, sort, search and count elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._elements import broadcast_shapes
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_grad,
    add_shape_rule,
    find_dtype,
    make_dummy,
    to_axis_tuple,
    unbroadcast,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, OneArray, Options, Shape
    from seqloom.tensor._families._numpy_arrays import Floats


# Default implementations ---------------------------------------------------------------


def moveaxis(b: Functions, x: Array, source: Any, destination: Any) -> Array:
    """Return `x` with one or more axes moved to other positions."""
    count = len(x.shape)
    sources, positions = (_to_axis_tuple(axes, count) for axes in (source, destination))
    order = [axis for axis in range(count) if axis not in sources]
    for position, axis in sorted(zip(positions, sources, strict=True)):
        order.insert(position, axis)
    return b.permute_dims(x, tuple(order))


def tril(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Return `x` with zeros above the k-th diagonal of each matrix."""
    return b.where(_make_lower_triangle(b, x, k), x, 0)


def triu(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Return `x` with zeros below the k-th diagonal of each matrix."""
    return b.where(_make_lower_triangle(b, x, k - 1), 0, x)


def _make_lower_triangle(b: Functions, x: Array, k: int) -> Array:
    """Return a matrix that is True on and below the k-th diagonal."""
    rows, columns = x.shape[-2:]
    return b.greater_equal(
        b.expand_dims(b.arange(k, rows + k), axis=1),
        b.expand_dims(b.arange(columns), axis=0),
    )


def _to_axis_tuple(axes: Any, count: int) -> list[int]:
    """Return one or more axes as a tuple of nonnegative numbers."""
    if not isinstance(axes, tuple):
        return [axes % count]
    return [axis % count for axis in cast("tuple[int, ...]", axes)]


def make_axis_key(axis: int, part: Any) -> tuple[Any, ...]:
    """Return an index key that applies `part` to one axis and selects all other axes."""
    return (*(slice(None),) * axis, part, ...)


def topk(b: Functions, x: Array, k: int, *, axis: int = -1) -> tuple[Array, Array]:
    """Return the k largest values along an axis, largest first, and their indices."""
    if not 0 <= k <= x.shape[axis]:
        raise ArgumentError(
            f"topk: k must be from 0 to {x.shape[axis]}, the length of axis {axis}; got {k}"
        )
    order = b.argsort(b.stop_gradient(x), axis=axis, descending=True)
    positions = b.index(order, make_axis_key(axis % len(x.shape), slice(0, k)))
    return b.take_along_axis(x, positions, axis=axis), positions


def one_hot(b: Functions, x: Array, num_classes: int, *, dtype: Any = "int64") -> Array:
    """Return 1 at the index of each integer along a new last axis, and 0 elsewhere."""
    classes = b.arange(num_classes, dtype=b.dtype(x))
    return b.astype(b.equal(b.expand_dims(x, axis=-1), classes), dtype)


def unique_all(b: Functions, x: Array) -> tuple[Array, Array, Array, Array]:
    """Return distinct values, their first indices, inverse indices and counts."""
    order, starts, firsts = _find_runs(b, x)
    row = b.reshape(x, (-1,))
    indices = b.take(order, firsts, axis=0)
    group = b.subtract(b.cumulative_sum(b.astype(starts, b.dtype(b.arange(1))), axis=0), 1)
    inverse = b.take(group, b.argsort(order), axis=0)
    values = b.take(row, indices, axis=0)
    return values, indices, b.reshape(inverse, x.shape), _count_runs(b, firsts, row)


def unique_counts(b: Functions, x: Array) -> tuple[Array, Array]:
    """Return the distinct values and their counts."""
    values, _, _, counts = b.unique_all(x)
    return values, counts


def unique_inverse(b: Functions, x: Array) -> tuple[Array, Array]:
    """Return the distinct values and, for each element, the index of its value."""
    values, _, inverse, _ = b.unique_all(x)
    return values, inverse


def unique_values(b: Functions, x: Array) -> Array:
    """Return the distinct values."""
    order, _, firsts = _find_runs(b, x)
    return b.take(b.reshape(x, (-1,)), b.take(order, firsts, axis=0), axis=0)


def isin(b: Functions, x: Array, y: Array, *, invert: bool = False) -> Array:
    """Return whether each element of `x` occurs in `y`; with `invert`, does not occur."""
    x, y = (b.asarray(array) for array in (x, y))
    row = b.reshape(y, (-1,))
    found = b.any(b.equal(b.expand_dims(x, axis=-1), row), axis=-1)
    return b.logical_not(found) if invert else found


def _find_runs(b: Functions, x: Array) -> tuple[Array, Array, Array]:
    """Return the order that sorts `x`, and where each run of equal values starts."""
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


def _count_runs(b: Functions, firsts: Array, row: Array) -> Array:
    """Return the length of each run of equal values."""
    end = b.full((1,), row.shape[0], dtype=b.dtype(firsts))
    ends = b.concat([firsts, end])
    return b.subtract(b.index(ends, slice(1, None)), firsts)


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {
    "matrix_transpose": Rule(
        keep.save_nothing, lambda b, _, grad, __: (b.matrix_transpose(grad),)
    ),
    "broadcast_to": Rule(
        keep.save_shape, lambda b, shape, grad, _: (unbroadcast(b, grad, shape),)
    ),
    "flip": Rule(
        keep.save_rest_and_options, lambda b, saved, grad, _: (b.flip(grad, **saved[1]),)
    ),
}


@add_grad(GRAD_RULES, "reshape", "expand_dims", "squeeze", save=keep.save_shape)
def _grad_reshape(b: Functions, shape: Shape, grad: Array, _needs: Needs) -> Parts:
    return (b.reshape(grad, shape),)


@add_grad(GRAD_RULES, "permute_dims", save=keep.save_rest)
def _grad_permute_dims(b: Functions, saved: Args, grad: Array, _needs: Needs) -> Parts:
    (axes,) = saved
    back = sorted(range(len(axes)), key=lambda position: axes[position] % len(axes))
    return (b.permute_dims(grad, tuple(back)),)


@add_grad(GRAD_RULES, "roll", save=keep.save_rest_and_options)
def _grad_roll(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    (shift,), options = saved
    back = (
        tuple(-distance for distance in cast("Any", shift))
        if isinstance(shift, tuple)
        else -shift
    )
    return (b.roll(grad, back, **options),)


@add_grad(GRAD_RULES, "sort", save=keep.save_with_options)
def _grad_sort(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    x, options = saved
    axis = to_axis_tuple(options.get("axis", -1), len(x.shape))[0]
    ranks = b.argsort(b.argsort(x, **options), axis=axis)
    return (b.take_along_axis(grad, ranks, axis=axis),)


def _save_topk(args: Args, out: Array, _needs: Needs, options: Options) -> Any:
    """Save the indices of the largest values, the shape and the axis."""
    return out[1], tuple(args[0].shape), options.get("axis", -1)


@add_grad(GRAD_RULES, "topk", save=_save_topk)
def _grad_topk(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    positions, shape, axis = saved
    zeros = b.zeros(shape, dtype=grad.dtype)
    return (b.put_along_axis(zeros, positions, grad, axis=axis),)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    "searchsorted": lambda call: (call.args[1].shape, find_dtype(call))
}


_AXIS_FUNCTIONS = "permute_dims expand_dims squeeze matrix_transpose"


def _moved_axes_rule(name: str) -> ShapeRule:
    """Return the shape rule of a NumPy function that moves, adds or removes axes."""
    function: Callable[..., Any] = getattr(np, name)

    def infer_shape(call: Call) -> Spec:
        x, *rest = call.args
        # Each axis gets a unique length, by which it is recognised in the result.
        coded = tuple(1 if n == 1 else axis for axis, n in enumerate(x.shape, 2))
        found = function(make_dummy(coded), *rest, **call.options).shape
        return tuple(1 if it == 1 else x.shape[it - 2] for it in found), x.dtype

    return infer_shape


@add_shape_rule(SHAPE_RULES, "reshape")
def _shape_reshape(call: Call) -> Spec:
    """Return the given shape; -1 is computed from the other axes."""
    x, shape, *rest = call.args
    # NumPy raises an error if the sizes do not match.
    np.reshape(make_dummy(x.shape), shape, *rest, **call.options)
    sizes: list[int] = [shape] if isinstance(shape, int) else list(shape)
    if -1 in sizes:
        at = sizes.index(-1)
        sizes[at] = math.prod(x.shape) // math.prod(sizes[:at] + sizes[at + 1 :])
    return tuple(sizes), x.dtype


@add_shape_rule(SHAPE_RULES, "broadcast_to")
def _shape_broadcast_to(call: Call) -> Spec:
    x, shape = call.args
    # NumPy raises an error if the shape does not broadcast.
    np.broadcast_to(make_dummy(x.shape), shape)
    return broadcast_shapes(x.shape, (shape,) if isinstance(shape, int) else shape), x.dtype


@add_shape_rule(SHAPE_RULES, "flip", "roll")
def _shape_permute_elements(call: Call) -> Spec:
    """Return the shape of the first argument; raise if an axis does not exist."""
    x, axis = call.args[0], call.options.get("axis")
    if axis is not None:
        normalize_axis_tuple(axis, len(x.shape), allow_duplicate=True)
    return x.shape, x.dtype


SHAPE_RULES.update({**{name: _moved_axes_rule(name) for name in _AXIS_FUNCTIONS.split()}})


@add_shape_rule(SHAPE_RULES, "sort", "argsort")
def _shape_sort(call: Call) -> Spec:
    """Return the shape of the first argument."""
    x, options = call.args[0], call.options
    normalize_axis_index(options.get("axis", -1), len(x.shape))
    return x.shape, find_dtype(call._replace(options={**options, "axis": -1}))


@add_shape_rule(SHAPE_RULES, "topk")
def _shape_topk(call: Call) -> list[Spec]:
    """Return the shapes of the `k` largest values and of their indices."""
    x, k = call.args
    at = normalize_axis_index(call.options.get("axis", -1), len(x.shape))
    if not 0 <= k <= x.shape[at]:
        raise ValueError(
            f"k must be from 0 to {x.shape[at]}, the length of the axis, got {k}"
        )
    shape = tuple(k if axis == at else size for axis, size in enumerate(x.shape))
    return [(shape, x.dtype), (shape, find_dtype(Call(call.target, "argsort", (x,), {})))]


@add_shape_rule(SHAPE_RULES, "one_hot")
def _shape_one_hot(call: Call) -> Spec:
    """Return the shape of the argument with an additional last axis for the classes."""
    classes: int = call.get(1, "num_classes")
    return (*call.args[0].shape, classes), find_dtype(call)


# NumPy versions ------------------------------------------------------------------------


def numpy_tril(x: Floats, *, k: int = 0) -> Floats:
    """Return `x` with zeros above the k-th diagonal of each matrix."""
    return np.tril(_require_matrices("tril", x), k)


def numpy_triu(x: Floats, *, k: int = 0) -> Floats:
    """Return `x` with zeros below the k-th diagonal of each matrix."""
    return np.triu(_require_matrices("triu", x), k)


def _require_matrices(name: str, x: Floats) -> Floats:
    """Return the array; raise for a vector, from which NumPy would create a matrix."""
    if x.ndim < 2:  # noqa: PLR2004  # a matrix
        raise ShapeError(f"{name} needs matrices, this array has shape {x.shape}")
    return x


def numpy_sort(
    x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Floats:
    """Return the values sorted along an axis."""
    found = np.sort(x, axis=axis, stable=stable)
    return np.flip(found, axis=axis) if descending else found


def numpy_argsort(
    x: Floats, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> NDArray[np.int64]:
    """Return the indices that sort the values; equal values keep their order."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable)
    found = np.argsort(np.flip(x, axis=axis), axis=axis, stable=stable)
    return x.shape[axis] - 1 - np.flip(found, axis=axis)


# NumPy functions that need no wrapper.
LIBRARY_FUNCTIONS = {
    "broadcast_to": np.broadcast_to,
    "expand_dims": np.expand_dims,
    "flip": np.flip,
    "isin": np.isin,
    "matrix_transpose": np.matrix_transpose,
    "moveaxis": np.moveaxis,
    "permute_dims": np.permute_dims,
    "reshape": np.reshape,
    "roll": np.roll,
    "searchsorted": np.searchsorted,
    "squeeze": np.squeeze,
}
