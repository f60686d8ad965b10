"""`apply`: tensors in, the backend's function on their arrays, tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom.errors import BackendError, OutOfRangeError
from seqloom.tensor._autocast import cast_arguments, casting
from seqloom.tensor._native_error import translate
from seqloom.tensor._origin import caller
from seqloom.tensor._state import TensorState, fill, new

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

    from seqloom.tensor._families import Array
    from seqloom.tensor._tape import Node


class Observer(Protocol):
    """Receives each operation, in the thread that runs it."""

    def on_apply(self, name: str, out: Any, backend: Any) -> None:
        """Receives the array or arrays that an operation has computed."""
        ...

    def on_pull(self, node: Node, parts: Sequence[Array | None], inner: Any) -> None:
        """Receives the gradients by the inputs of a recorded operation."""
        ...


# Functions over an axis of one tensor. Libraries differ in what they make of a tensor that
# has none: the standard has no axis 0 of it.
# fmt: off
_REDUCTIONS = frozenset((
    "all", "any", "argmax", "argmin", "count_nonzero", "flip", "logsumexp", "max", "mean",
    "min", "prod", "repeat", "roll", "squeeze", "std", "sum", "take", "var",
))
_SCANS = frozenset((
    "argsort", "cumulative_prod", "cumulative_sum", "logcumsumexp", "sort", "unstack",
    "vecdot",
))
# fmt: on
_OVER_AXES = _REDUCTIONS | _SCANS

# Normally empty, so that an operation pays for one test only.
observers: list[Observer] = []


def notify(name: str, out: object, backend: Any) -> None:
    """Passes the result of an operation to all observers."""
    for observer in observers:
        observer.on_apply(name, out, backend)


def apply(name: str, *args: object, **options: Any) -> Any:
    """Calls the backend's function of that name on tensors and constants.

    Args:
        name: A function of `Backend`.
        *args: Tensors, lists of tensors, numbers, NumPy arrays, keys.
        **options: Keyword arguments of the function.

    Returns:
        A tensor, or a tuple if the function returns several arrays; a list among them
        becomes a list of tensors.

    Raises:
        ShapeError: The shapes do not fit together; the message names them.
        DTypeError: The operation does not take these element types.
        OutOfRangeError: An index or an axis is out of range.
        BackendError: No argument is a tensor, or two tensors are on different backends.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.apply("exp", sl.tensor.backend("numpy").tensor([0.0])).item()
        1.0
    """
    if casting.get() is not None:
        args = cast_arguments(name, args, apply)
    tensors = tensors_in(args)
    backend = find_shared_backend(tensors)
    try:
        if name in _OVER_AXES and not tensors[0].raw.shape:
            _require_axis(name, options.get("axis"))
        out = getattr(backend, name)(*[to_raw(arg, backend) for arg in args], **options)
    except Exception as error:
        ours = translate(error, name, args, backend)
        if ours is error:
            raise
        raise ours from error
    if observers:
        notify(name, out, backend)
    kind, frame = type(tensors[0]), caller(1)
    if not isinstance(out, (tuple, list)):
        return fill(new(kind), out, backend, frame)
    # `_wrap` written out for the usual case: a call costs more than the test.
    return tuple(
        [
            _wrap(part, kind, backend, frame)
            if type(part) in _NESTED
            else fill(new(kind), part, backend, frame)
            for part in cast("list[Any]", out)
        ]
    )


def _require_axis(name: str, axis: object) -> None:
    """Refuses an axis of a tensor that has none; None and () are all of them."""
    if axis == () or (axis is None and name in _REDUCTIONS):
        return
    which = "" if axis is None else f" {axis}"
    raise OutOfRangeError(
        f"{name}: a tensor without axes has no axis{which}; give it one by "
        "x.reshape((1,)), or leave out axis= where the function allows it"
    )


# Results among several that are no array: nothing, or arrays of their own.
_NESTED = frozenset({type(None), list, tuple})


def _wrap(part: Any, kind: Any, backend: Any, frame: FrameType) -> Any:
    """Makes tensors of one result: of an array, or of each in nested lists and tuples."""
    if part is None:
        return None
    if type(part) not in _NESTED:
        return fill(new(kind), part, backend, frame)
    return type(part)([_wrap(inner, kind, backend, frame) for inner in part])


def to_raw(arg: Any, backend: Any) -> Any:
    """Returns what a backend's function takes: arrays in place of tensors."""
    if isinstance(arg, TensorState):
        return arg.raw
    if isinstance(arg, (list, tuple)):
        # An integer among several is a size, an axis or an index.
        raws = [
            item.item() if isinstance(item, np.integer) else to_raw(item, backend)
            for item in cast("list[Any]", arg)
        ]
        return raws if isinstance(arg, list) else tuple(raws)
    if isinstance(arg, np.ndarray):  # its owner may write it before a gradient reads it
        return backend.asarray(arg, copy=True)
    return _raw_number(arg, backend) if isinstance(arg, np.generic) else arg


def _raw_number(scalar: Any, backend: Any) -> Any:
    """Converts a NumPy scalar: a float as Python's, which takes the tensor's type."""
    return float(scalar) if scalar.dtype.kind == "f" else backend.asarray(scalar)


def tensors_in(args: Any) -> list[TensorState]:
    """Returns the tensors among arguments, alone or within lists and tuples."""
    found: list[TensorState] = []
    for arg in args:
        if isinstance(arg, TensorState):
            found.append(arg)
        elif type(arg) is list or type(arg) is tuple:
            found += tensors_in(arg)
    return found


def find_shared_backend(tensors: Sequence[TensorState]) -> Any:
    """Returns the outermost backend of tensors; the others must lie inside it."""
    if not tensors:
        raise BackendError("no argument is a tensor; pass at least one")
    found = tensors[0].backend
    for tensor in tensors:
        if tensor.backend is not found:
            found = _outer(found, tensor.backend)
    return found


def _outer(one: object, other: object) -> Any:
    """Returns the backend, of two, that contains the other."""
    if contains(one, other):
        return one
    if contains(other, one):
        return other
    raise BackendError(
        f"the tensors are on different backends, {_full_name(one)} and "
        f"{_full_name(other)}; make both on the same backend, or move one by .to(backend)"
    )


def contains(outer: Any, inner: Any) -> bool:
    """Whether a backend is another or lies over it: arrays of `inner` are constants."""
    while outer is not inner:
        within = getattr(outer, "inner", None)
        if within is None:
            return not hasattr(inner, "inner") and outer.name == inner.name
        outer = within
    return True


def _full_name(backend: Any) -> str:
    """Names a backend with the number of its level: two may have the same name."""
    number = getattr(backend, "number", None)
    return backend.name if number is None else f"{backend.name} (level {number})"
