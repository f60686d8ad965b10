"""Over axes: the axes go, or stay with length 1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._shapes._elementwise import like_first
from seqloom.tensor._compile._shapes._trial import promoted

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._shapes._trial import Kind, Rule, Shape

_NAMES = """
    sum mean var max min prod any all argmax argmin count_nonzero logsumexp std
"""
_ALONG = "softmax softmax_grad log_softmax log_softmax_grad"


def reduced(shape: Shape, axis: Any, *, keepdims: bool) -> Shape:
    """A shape without some axes; None is all of them."""
    rank = len(shape)
    axes: Any = range(rank) if axis is None else axis
    axes = (axes,) if isinstance(axes, int) else axes
    gone: set[int] = {each % rank for each in axes} if rank else set()
    if keepdims:
        return tuple(1 if place in gone else size for place, size in enumerate(shape))
    return tuple(size for place, size in enumerate(shape) if place not in gone)


def _reduce(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """One number for each place along the other axes."""
    axis, keepdims = options.get("axis"), bool(options.get("keepdims", False))
    shape = reduced(args[0].shape, axis, keepdims=keepdims)
    return shape, promoted(target, name, args, options)


def _cumulative(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind:
    """As many sums as numbers, one more with the empty sum."""
    shape, axis = list(args[0].shape), options.get("axis")
    if options.get("include_initial"):
        shape[-1 if axis is None else axis] += 1
    return tuple(shape), promoted(target, name, args, options)


RULES: dict[str, Rule] = {
    **dict.fromkeys(_NAMES.split(), _reduce),
    **dict.fromkeys(_ALONG.split(), like_first),
    "cumulative_sum": _cumulative,
}
