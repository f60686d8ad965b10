"""Which level a derivative is computed on.

A derivative inside another one needs a level of its own, over that of the outer: were both
on one level, the inner backward would consume what the outer one recorded.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeGuard, TypeVar

from seqloom.errors import ArgumentError, GradientError
from seqloom.tensor._autodiff import Autodiff
from seqloom.tensor._tape import TrackedArray
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._families import Array

_T = TypeVar("_T")


class OwnEngine(Protocol):
    """A backend that records on a tape of its own, with the methods of `Autodiff`.

    It has an attribute ``is_engine``, and is made with the backend to compute on.
    """

    inner: Any

    def leaf(self, value: Array) -> Any:
        """Makes a leaf: operations on it are recorded."""
        ...

    def gradients(self, raw: Any, seed: Array, *, retain: bool = False) -> dict[int, Array]:
        """Computes the gradients of a result by all leaves."""
        ...

    def lower(self, raw: Any) -> Array:
        """Returns the inner array of an array of this engine."""
        ...

    def leaf_number(self, raw: Any) -> int | None:
        """Returns the number by which the gradient by an array is found."""
        ...


# A backend that records, on which derivatives are computed.
Engine: TypeAlias = Autodiff | OwnEngine

# The level of the innermost derivative that is being computed in this thread.
_active: ContextVar[Engine | None] = ContextVar("active", default=None)


def level_over(backend: Backend) -> Engine:
    """Returns the level of a new derivative, over the active one if that fits."""
    current = _active.get()
    inner = backend
    if current is not None and _lies_over(current, backend):
        inner = current
    if is_own_engine(inner) and inner is not current:
        return inner  # which is its own level
    state: dict[str, Engine] = vars(inner)
    if "differentiable" not in state:
        kind: type = type(inner) if is_own_engine(inner) else Autodiff
        state["differentiable"] = kind(inner)
    return state["differentiable"]


def is_own_engine(backend: object) -> TypeGuard[OwnEngine]:
    """Whether a backend records gradients on a tape of its own, not by `Autodiff`."""
    # Not getattr: backends over another one pass unknown names on to it.
    return "is_engine" in vars(backend)


def _lies_over(outer: object, inner: object) -> bool:
    """Whether a backend is another one, or lies over it."""
    if outer is None or outer is inner:
        return outer is not None
    return _lies_over(getattr(outer, "inner", None), inner)


def depth(backend: object) -> int:
    """Returns how many backends one lies over."""
    below = getattr(backend, "inner", None)
    return 0 if below is None else 1 + depth(below)


@contextmanager
def active(level: Engine) -> Generator[None]:
    """Computes derivatives inside this block over a level."""
    token = _active.set(level)
    try:
        yield
    finally:
        _active.reset(token)


def select(args: Sequence[_T], numbers: Sequence[int]) -> list[_T]:
    """Returns the arguments to differentiate by."""
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise ArgumentError(
                f"there is no argument {number} (counted from 0) to compute a gradient by; "
                f"the function was called with {len(args)} arguments"
            )
    return [args[number] for number in numbers]


def leaves_over(points: Sequence[object]) -> tuple[Engine, list[Tensor]]:
    """Returns a level for a new derivative, and the arguments as its leaves."""
    tensors = [_require_tensor(point) for point in points]
    level = level_over(tensors[0].backend)
    return level, [Tensor(level.leaf(tensor.raw), level) for tensor in tensors]


def _require_tensor(point: object) -> Tensor:
    """Refuses an argument to differentiate by that is no tensor."""
    if not isinstance(point, Tensor):
        raise ArgumentError(
            "a gradient is computed by tensors only; this argument is "
            f"{type(point).__name__}"
        )
    return point


def is_on(level: Engine, value: object) -> bool:
    """Whether a level tracks a tensor."""
    return (
        isinstance(value, Tensor)
        and level.leaf_number(value.raw) is not None
        and (not isinstance(value.raw, TrackedArray) or value.raw.level is level)
    )


def lower_result(level: Engine, value: Any) -> Any:
    """Returns a result as the level below has it; other values stay as they are."""
    if not is_on(level, value):
        return value
    return Tensor(level.lower(value.raw), level.inner)


def gradients_of(level: Engine, loss: Any) -> dict[int, Array]:
    """Returns the gradients of a scalar by the number of each leaf of a level."""
    if not is_on(level, loss):
        raise GradientError(
            "the loss does not depend on any trainable parameter, nor on an input that "
            "gradients are computed by"
        )
    if loss.shape != ():
        raise GradientError(f"the loss must be a scalar, got shape {loss.shape}")
    return level.gradients(loss.raw, level.inner.ones((), dtype=loss.raw.dtype))


def tensors_on(level: Engine, values: Sequence[object]) -> list[Tensor]:
    """Returns the tensors among values whose arrays a level tracks."""
    return [
        value
        for value in values
        if isinstance(value, Tensor) and isinstance(value.raw, TrackedArray)
        if value.raw.level is level
    ]


def outermost_level(values: Sequence[object]) -> Any:
    """Returns the outermost level that tracks one of the values, or None."""
    raws = [value.raw for value in values if isinstance(value, Tensor)]
    levels = [raw.level for raw in raws if isinstance(raw, TrackedArray)]
    return max(levels, key=depth, default=None)
