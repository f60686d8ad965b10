"""Functions that move numbers and change none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from seqloom.errors import ShapeError
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._rule import Parts, Rule, add_rule, unbroadcast
from seqloom.tensor._families._shape_rule import Call, Kind, ShapeRule, add_shape, make_bare
from seqloom.tensor._index import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._element_types import Array
    from seqloom.tensor._families._functions import Functions
    from seqloom.tensor._families._numpy_arrays import Floats


# Default bodies ------------------------------------------------------------------------


def moveaxis(b: Functions, x: Array, source: Any, destination: Any) -> Array:
    """One axis, or several, at other positions."""
    count = len(x.shape)
    sources, positions = (_within(axes, count) for axes in (source, destination))
    order = [axis for axis in range(count) if axis not in sources]
    for position, axis in sorted(zip(positions, sources, strict=True)):
        order.insert(position, axis)
    return b.permute_dims(x, tuple(order))


def tril(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Zeros above the k-th diagonal of each matrix."""
    return b.where(_below(b, x, k), x, 0)


def triu(b: Functions, x: Array, *, k: int = 0) -> Array:
    """Zeros below the k-th diagonal of each matrix."""
    return b.where(_below(b, x, k - 1), 0, x)


def _below(b: Functions, x: Array, k: int) -> Array:
    """Which positions of a matrix lie on its k-th diagonal or below."""
    rows, columns = x.shape[-2:]
    return b.greater_equal(
        b.expand_dims(b.arange(k, rows + k), axis=1),
        b.expand_dims(b.arange(columns), axis=0),
    )


def _within(axes: Any, count: int) -> list[int]:
    """An axis, or several, as numbers from 0 up."""
    if not isinstance(axes, tuple):
        return [axes % count]
    return [axis % count for axis in cast("tuple[int, ...]", axes)]


def along(axis: int, part: Any) -> tuple[Any, ...]:
    """The key that takes a part of one axis and all of the others."""
    return (*(slice(None),) * axis, part, ...)


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {
    "matrix_transpose": Rule(
        keep.nothing, lambda b, _, grad, __: (b.matrix_transpose(grad),)
    ),
    "broadcast_to": Rule(
        keep.shape, lambda b, shape, grad, _: (unbroadcast(b, grad, shape),)
    ),
    "flip": Rule(
        keep.further_and_options, lambda b, saved, grad, _: (b.flip(grad, **saved[1]),)
    ),
}


@add_rule(RULES, "reshape", "expand_dims", "squeeze", save=keep.shape)
def _pull_reshape(b: Functions, shape: Any, grad: Array, _needs: keep.Needs) -> Parts:
    return (b.reshape(grad, shape),)


@add_rule(RULES, "permute_dims", save=keep.further)
def _pull_permute_dims(b: Functions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (axes,) = saved
    back = sorted(range(len(axes)), key=lambda position: axes[position] % len(axes))
    return (b.permute_dims(grad, tuple(back)),)


@add_rule(RULES, "roll", save=keep.further_and_options)
def _pull_roll(b: Functions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (shift,), options = saved
    back = (
        tuple(-distance for distance in cast("Any", shift))
        if isinstance(shift, tuple)
        else -shift
    )
    return (b.roll(grad, back, **options),)


# Shapes --------------------------------------------------------------------------------


SHAPES: dict[str, ShapeRule] = {}


_ORDERING = "permute_dims expand_dims squeeze matrix_transpose"


def _order_axes(name: str) -> ShapeRule:
    """Makes the rule of a function of NumPy that moves axes, or those of length 1."""
    function: Callable[..., Any] = getattr(np, name)

    def rule(call: Call) -> Kind:
        x, *rest = call.args
        # Each axis gets a length that finds it in the result.
        coded = tuple(1 if n == 1 else axis for axis, n in enumerate(x.shape, 2))
        found = function(make_bare(coded), *rest, **call.options).shape
        return tuple(1 if it == 1 else x.shape[it - 2] for it in found), x.dtype

    return rule


@add_shape(SHAPES, "reshape")
def _shape_reshape(call: Call) -> Kind:
    """The given shape; -1 is what the other axes leave."""
    x, shape, *rest = call.args
    np.reshape(make_bare(x.shape), shape, *rest, **call.options)  # refuses another size
    sizes: list[int] = [shape] if isinstance(shape, int) else list(shape)
    if -1 in sizes:
        at = sizes.index(-1)
        sizes[at] = math.prod(x.shape) // math.prod(sizes[:at] + sizes[at + 1 :])
    return tuple(sizes), x.dtype


@add_shape(SHAPES, "broadcast_to")
def _shape_broadcast_to(call: Call) -> Kind:
    """The given shape."""
    x, shape = call.args
    np.broadcast_to(make_bare(x.shape), shape)  # refuses one that does not fit
    return broadcast_shapes(x.shape, (shape,) if isinstance(shape, int) else shape), x.dtype


@add_shape(SHAPES, "flip", "roll")
def _shape_permute_elements(call: Call) -> Kind:
    """The shape of the first argument, whose axes must exist."""
    x, axis = call.args[0], call.options.get("axis")
    if axis is not None:
        normalize_axis_tuple(axis, len(x.shape), allow_duplicate=True)
    return x.shape, x.dtype


SHAPES.update(
    {
        **{name: _order_axes(name) for name in _ORDERING.split()},
    }
)


# NumPy ---------------------------------------------------------------------------------


def numpy_tril(x: Floats, *, k: int = 0) -> Floats:
    """Zeros above the k-th diagonal of each matrix."""
    return np.tril(_matrices("tril", x), k)


def numpy_triu(x: Floats, *, k: int = 0) -> Floats:
    """Zeros below the k-th diagonal of each matrix."""
    return np.triu(_matrices("triu", x), k)


def _matrices(name: str, x: Floats) -> Floats:
    """The array, which NumPy would repeat to a matrix where it is a row."""
    if x.ndim < 2:  # noqa: PLR2004  # a matrix
        raise ShapeError(f"{name} is of matrices, this array has shape {x.shape}")
    return x


# NumPy's own functions.
LIBRARY = {
    "broadcast_to": np.broadcast_to,
    "expand_dims": np.expand_dims,
    "flip": np.flip,
    "matrix_transpose": np.matrix_transpose,
    "moveaxis": np.moveaxis,
    "permute_dims": np.permute_dims,
    "reshape": np.reshape,
    "roll": np.roll,
    "squeeze": np.squeeze,
}
