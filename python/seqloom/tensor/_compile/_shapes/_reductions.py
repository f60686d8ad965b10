"""Over axes: the axes go, or stay with length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from seqloom.tensor._compile._shapes._trial import promoted

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule, Shape

_NAMES = """
    sum mean var max min prod any all argmax argmin count_nonzero logsumexp std
"""
_OF_SOME = frozenset({"max", "min", "argmax", "argmin"})
_ALONG = "softmax softmax_grad log_softmax log_softmax_grad"


def reduced(shape: Shape, axis: Any, *, keepdims: bool) -> Shape:
    """A shape without some axes; None is all of them."""
    gone = gone_axes(len(shape), axis)
    if keepdims:
        return tuple(1 if place in gone else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in gone)


def gone_axes(rank: int, axis: Any) -> set[int]:
    """The axes that a reduction takes away; a single number has one to take, or none."""
    if axis is None:
        return set(range(rank))
    gone = set(normalize_axis_tuple(axis, max(rank, 1)))
    return gone if rank else set()


def _reduce(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """One number for each place along the other axes."""
    axis, keepdims = options.get("axis"), bool(options.get("keepdims", False))
    given: Shape = args[0].shape
    shape = reduced(given, axis, keepdims=keepdims)
    if name in _OF_SOME and 0 in (given[each] for each in gone_axes(len(given), axis)):
        raise ValueError("no numbers along an axis of size 0, so there is none to choose")
    return shape, promoted(target, name, args, options)


def _along(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As the first argument, in the type that the backend computes in."""
    normalize_axis_index(options.get("axis", -1), max(len(args[0].shape), 1))
    return args[0].shape, promoted(target, name, args, {**options, "axis": -1})


def _cumulative(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As many sums as numbers, one more with the empty sum; a single number has an axis."""
    shape, axis = list(args[0].shape) or [1], options.get("axis")
    if axis is None and len(shape) > 1:
        raise ValueError(f"{name} needs an axis where there are several")
    place = 0 if axis is None else normalize_axis_index(axis, len(shape))
    shape[place] += bool(options.get("include_initial"))
    return tuple(shape), promoted(target, name, args, options)


RULES: dict[str, Rule] = {
    **dict.fromkeys(_NAMES.split(), _reduce),
    **dict.fromkeys(_ALONG.split(), _along),
    **dict.fromkeys(("cumulative_sum", "cumulative_prod"), _cumulative),
    "logcumsumexp": _along,
}
