"""Results by axis: reductions, and the same elements in another shape."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from seqloom.tensor._compile._shapes._call import (
    Call,
    Kind,
    Rule,
    Shape,
    find_dtype,
    make_bare,
)
from seqloom.tensor._index import broadcast_shapes

if TYPE_CHECKING:
    from collections.abc import Callable

_REDUCTIONS = """
    sum mean var max min prod any all argmax argmin count_nonzero logsumexp std
"""
_CHOOSING = frozenset({"max", "min", "argmax", "argmin"})
_ALONG = "softmax softmax_grad log_softmax log_softmax_grad logcumsumexp"
_ORDERING = "permute_dims expand_dims squeeze matrix_transpose"


def _reduce(call: Call) -> Kind:
    """The shape without the reduced axes, or with length 1 there."""
    shape: Shape = call.args[0].shape
    axes = _find_axes(len(shape), call.options.get("axis"))
    if call.name in _CHOOSING and 0 in (shape[axis] for axis in axes):
        raise ValueError(f"{call.name} cannot reduce an axis of length 0")
    if call.options.get("keepdims"):
        reduced = tuple(1 if axis in axes else n for axis, n in enumerate(shape))
    else:
        reduced = tuple(n for axis, n in enumerate(shape) if axis not in axes)
    return reduced, find_dtype(call)


def _find_axes(rank: int, axis: Any) -> set[int]:
    """The reduced axes; an array without axes may be reduced along axis 0."""
    if axis is None:
        return set(range(rank))
    axes = set(normalize_axis_tuple(axis, max(rank, 1)))
    return axes if rank else set()


def _along(call: Call) -> Kind:
    """The shape of the first argument, whose axis must exist."""
    target, name, args, options = call
    normalize_axis_index(options.get("axis", -1), max(len(args[0].shape), 1))
    return args[0].shape, find_dtype(Call(target, name, args, {**options, "axis": -1}))


def _cumulative(call: Call) -> Kind:
    """One element more if the initial one is included; no axes count as one."""
    shape, axis = list(call.args[0].shape) or [1], call.options.get("axis")
    if axis is None and len(shape) > 1:
        raise ValueError(f"{call.name} needs an axis, because the array has {len(shape)}")
    axis = 0 if axis is None else normalize_axis_index(axis, len(shape))
    shape[axis] += bool(call.options.get("include_initial"))
    return tuple(shape), find_dtype(call)


def _order_axes(name: str) -> Rule:
    """Makes the rule of a function of NumPy that moves axes, or those of length 1."""
    function: Callable[..., Any] = getattr(np, name)

    def rule(call: Call) -> Kind:
        x, *rest = call.args
        # Each axis gets a length that finds it in the result.
        coded = tuple(1 if n == 1 else axis for axis, n in enumerate(x.shape, 2))
        found = function(make_bare(coded), *rest, **call.options).shape
        return tuple(1 if it == 1 else x.shape[it - 2] for it in found), x.dtype

    return rule


def _reshape(call: Call) -> Kind:
    """The given shape; -1 is what the other axes leave."""
    x, shape, *rest = call.args
    np.reshape(make_bare(x.shape), shape, *rest, **call.options)  # refuses another size
    sizes: list[int] = [shape] if isinstance(shape, int) else list(shape)
    if -1 in sizes:
        at = sizes.index(-1)
        sizes[at] = math.prod(x.shape) // math.prod(sizes[:at] + sizes[at + 1 :])
    return tuple(sizes), x.dtype


def _broadcast_to(call: Call) -> Kind:
    """The given shape."""
    x, shape = call.args
    np.broadcast_to(make_bare(x.shape), shape)  # refuses one that does not fit
    return broadcast_shapes(x.shape, (shape,) if isinstance(shape, int) else shape), x.dtype


def _repeat(call: Call) -> Kind:
    """An axis, or all elements, as often as the number says."""
    (x, repeats), axis = call.args[:2], call.get(2, "axis")
    if not isinstance(repeats, int) or repeats < 0:
        found = np.repeat(make_bare(x.shape), repeats, axis)  # a number for each, or wrong
        return found.shape, x.dtype
    if axis is None:
        return (math.prod(x.shape) * repeats,), x.dtype
    shape = list(x.shape)
    shape[normalize_axis_index(axis, len(shape))] *= repeats
    return tuple(shape), x.dtype


def _tile(call: Call) -> Kind:
    """Each axis as often as its number says; the shorter of both starts with ones."""
    x, times = call.args
    times = (times,) if isinstance(times, int) else tuple(times)
    rank = max(len(times), len(x.shape))
    padded = ((*(1,) * (rank - len(it)), *it) for it in (x.shape, times))
    return tuple(size * n for size, n in zip(*padded, strict=True)), x.dtype


def _concat(call: Call) -> Kind:
    """The sum of the lengths along the axis; of all lengths if there is no axis."""
    shapes = [value.shape for value in call.args[0]]
    axis = call.options.get("axis", (*call.args, 0)[1])
    if axis is None:
        shape = (sum(map(math.prod, shapes)),)
    else:
        at = normalize_axis_index(axis, len(shapes[0]))
        _require_equal_shapes(shapes, at)
        total = sum(shape[at] for shape in shapes)
        shape = (*shapes[0][:at], total, *shapes[0][at + 1 :])
    return shape, find_dtype(call._replace(options={"axis": axis}))


def _require_equal_shapes(shapes: list[Shape], axis: int | None = None) -> None:
    """Refuses shapes that differ in more than one axis."""
    rest = {(len(s), *(n for at, n in enumerate(s) if at != axis)) for s in shapes}
    if len(rest) > 1:
        raise ValueError(f"the shapes {', '.join(map(str, shapes))} do not fit together")


def _stack(call: Call) -> Kind:
    """A new axis, as long as the list."""
    values = call.args[0]
    _require_equal_shapes([value.shape for value in values])
    shape = list(values[0].shape)
    axis = normalize_axis_index(
        call.options.get("axis", (*call.args, 0)[1]), len(shape) + 1
    )
    shape.insert(axis, len(values))
    return tuple(shape), find_dtype(call._replace(options={"axis": axis}))


def _unstack(call: Call) -> list[Kind]:
    """The slices along an axis."""
    x = call.args[0]
    shape = list(x.shape)
    axis = call.options.get("axis", (*call.args, 0)[1])
    count = shape.pop(normalize_axis_index(axis, len(shape)))
    return [(tuple(shape), x.dtype)] * count


def _pad(call: Call) -> Kind:
    """Each axis longer by what is added before and after."""
    x = call.args[0]
    sizes = zip(x.shape, call.get(1, "widths"), strict=True)
    return tuple(size + before + after for size, (before, after) in sizes), x.dtype


def _permute_elements(call: Call) -> Kind:
    """The shape of the first argument, whose axes must exist."""
    x, axis = call.args[0], call.options.get("axis")
    if axis is not None:
        normalize_axis_tuple(axis, len(x.shape), allow_duplicate=True)
    return x.shape, x.dtype


RULES: dict[str, Rule] = {
    **dict.fromkeys(_REDUCTIONS.split(), _reduce),
    **dict.fromkeys(_ALONG.split(), _along),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), _cumulative),
    **{name: _order_axes(name) for name in _ORDERING.split()},
    "reshape": _reshape,
    "broadcast_to": _broadcast_to,
    "repeat": _repeat,
    "tile": _tile,
    **dict.fromkeys(("flip", "roll"), _permute_elements),
    "concat": _concat,
    "stack": _stack,
    "unstack": _unstack,
    "pad": _pad,
}
