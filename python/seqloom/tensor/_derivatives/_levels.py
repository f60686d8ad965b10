"""Which level a derivative is taken on.

A derivative inside another one needs a level of its own, over that of the outer: were both
on one level, the inner backward would use up what the outer one recorded.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import ArgumentError, GradientError
from seqloom.tensor._autodiff import Autodiff, Traced
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from seqloom.tensor._backend import Array, Backend

# The innermost derivative that is being taken in this thread.
_active: ContextVar[Any] = ContextVar("active", default=None)


def level_over(backend: Backend) -> Any:
    """The level of a new derivative: over the active one where that is over the backend."""
    current = _active.get()
    inner = current if _lies_over(current, backend) else backend
    state: dict[str, Any] = vars(inner)
    follows = "follows" in state  # another engine, which is its own level
    if follows and inner is not current:
        return inner
    if "differentiable" not in state:
        kind = cast("Any", type(inner)) if follows else Autodiff
        state["differentiable"] = kind(inner)
    return state["differentiable"]


def _lies_over(outer: Any, inner: Any) -> bool:
    """Whether a backend is another one, or a decorator of it."""
    if outer is None or outer is inner:
        return outer is not None
    return _lies_over(getattr(outer, "inner", None), inner)


def depth(backend: Any) -> int:
    """How many backends one is a decorator of."""
    below = getattr(backend, "inner", None)
    return 0 if below is None else 1 + depth(below)


@contextmanager
def active(level: Any) -> Generator[None]:
    """Takes derivatives inside this block over a level."""
    token = _active.set(level)
    try:
        yield
    finally:
        _active.reset(token)


def chosen(args: Sequence[Any], numbers: Sequence[int]) -> list[Any]:
    """The arguments to differentiate by."""
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"a gradient by argument {number} was asked for (counted from 0); the "
                f"function was called with {len(args)}"
            )
    return [args[number] for number in numbers]


def leaves_over(points: Sequence[Any]) -> tuple[Any, list[Tensor]]:
    """A level for a new derivative, and the arguments as its leaves."""
    for point in points:
        if not isinstance(point, Tensor):
            raise ArgumentError(
                f"a gradient is taken by tensors; this argument is {type(point).__name__}"
            )
    level = level_over(points[0].backend)
    return level, [Tensor(level.leaf(point.raw), level) for point in points]


def is_on(level: Any, value: Any) -> bool:
    """Whether a tensor is followed by a level."""
    return (
        isinstance(value, Tensor)
        and level.leaf_number(value.raw) is not None
        and (not isinstance(value.raw, Traced) or value.raw.level is level)
    )


def plain(level: Any, value: Any) -> Any:
    """A result as the level below has it; what is no tensor as it is."""
    if not is_on(level, value):
        return value
    return Tensor(level.lower(value.raw), level.inner)


def gradients_of(level: Any, loss: Any) -> dict[int, Array]:
    """The gradients of a scalar by the number of each leaf of a level."""
    if not is_on(level, loss):
        raise GradientError(
            "the loss does not depend on anything that is followed: on no trainable "
            "parameter, and on no input that a gradient is asked by"
        )
    if loss.shape != ():
        raise GradientError(f"the loss must be a scalar; it has shape {loss.shape}")
    return level.gradients(loss.raw, level.inner.ones((), dtype=loss.raw.dtype))
