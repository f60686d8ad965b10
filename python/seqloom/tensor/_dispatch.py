"""The door: tensors in, the backend's function on their arrays, tensors out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import BackendError
from seqloom.tensor._held import Held, hold, new
from seqloom.tensor._memory._origin import caller
from seqloom.tensor._native_error import translated
from seqloom.tensor._watch import watchers

if TYPE_CHECKING:
    from types import FrameType

    from seqloom.tensor._backend import Backend


def apply(name: str, *args: Any, **options: Any) -> Any:
    """Calls the backend's function of that name on tensors and constants.

    Args:
        name: A function of `Backend`.
        *args: Tensors, lists of tensors, numbers, NumPy arrays, keys.
        **options: Passed on.

    Returns:
        A tensor, or a tuple where the function gives several arrays; a list among them
        is a list of tensors.

    Raises:
        ShapeError: The shapes do not go together; it names them.
        DTypeError: The operation does not take these element types.
        OutOfRangeError: An index or an axis lies beyond the size.
        BackendError: No argument is a tensor, or two are of backends that cannot meet.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.apply("exp", sl.tensor.backend("numpy").tensor([0.0])).item()
        1.0
    """
    tensors = tensors_in(args)
    backend = shared_backend(tensors)
    try:
        out = getattr(backend, name)(*[raw_of(arg, backend) for arg in args], **options)
    except Exception as error:
        ours = translated(error, name, args, backend)
        if ours is error:
            raise
        raise ours from error
    if watchers:
        tell(name, out, backend)
    kind, frame = type(tensors[0]), caller(1)
    if not isinstance(out, (tuple, list)):
        return hold(new(kind), out, backend, frame)
    several = cast("list[Any]", out)
    return tuple(
        [
            _nested(each, kind, backend, frame)
            if type(each) in _NESTED
            else hold(new(kind), each, backend, frame)
            for each in several
        ]
    )


# Results among several that are no array: nothing, or arrays of their own.
_NESTED = frozenset({type(None), list, tuple})


def _nested(part: Any, kind: Any, backend: Backend, frame: FrameType) -> Any:
    """One of several results: nothing, or a list of arrays as one of tensors."""
    if part is None:
        return None
    found = [
        _nested(each, kind, backend, frame)
        if type(each) in _NESTED
        else hold(new(kind), each, backend, frame)
        for each in part
    ]
    return found if type(part) is list else tuple(found)


def tell(name: str, out: Any, backend: Backend) -> None:
    """Tells those who watch what an operation has given."""
    for each in watchers:
        each.applied(name, out, backend)


def raw_of(arg: Any, backend: Backend) -> Any:
    """The array of a tensor, alone or within lists and tuples; else as it is.

    Args:
        arg: An argument.
        backend: Who will compute; NumPy's arrays become its own, copied.

    Returns:
        What the backend's function takes.
    """
    if isinstance(arg, Held):
        return arg.raw
    if isinstance(arg, (list, tuple)):
        raws = [_part(item, backend) for item in cast("list[Any]", arg)]
        return raws if isinstance(arg, list) else tuple(raws)
    if isinstance(arg, np.ndarray):  # its owner may write it before a gradient reads it
        return backend.asarray(arg, copy=True)
    return _number(arg, backend) if isinstance(arg, np.generic) else arg


def _number(scalar: Any, backend: Backend) -> Any:
    """One number of NumPy's: a fraction is as Python's, and takes the tensor's type."""
    return float(scalar) if scalar.dtype.kind == "f" else backend.asarray(scalar)


def _part(item: Any, backend: Backend) -> Any:
    """An array of several; a whole number among them is a size, an axis or a place."""
    is_whole = isinstance(item, np.integer)
    return item.item() if is_whole else raw_of(item, backend)


def tensors_in(args: Any) -> list[Held]:
    """The tensors among arguments, alone or within lists and tuples."""
    found: list[Held] = []
    for arg in args:
        if isinstance(arg, Held):
            found.append(arg)
        elif type(arg) is list or type(arg) is tuple:
            found += tensors_in(arg)
    return found


def shared_backend(tensors: list[Held]) -> Backend:
    """The outermost backend of tensors; the others must lie inside it."""
    if not tensors:
        raise BackendError("none of the arguments is a tensor: there is no backend to ask")
    found = tensors[0].backend
    for each in tensors:
        if each.backend is not found:
            found = _outer(found, each.backend)
    return found


def _outer(one: Backend, other: Backend) -> Backend:
    """Of two backends, the one that contains the other."""
    if contains(one, other):
        return one
    if contains(other, one):
        return other
    raise BackendError(
        f"tensors of {_numbered(one)} and of {_numbered(other)} cannot meet; make both on "
        "the same backend"
    )


def contains(outer: Backend, inner: Backend) -> bool:
    """Says whether a backend is another, or one that the other is over.

    Args:
        outer: A backend.
        inner: Another.

    Returns:
        True where arrays of `inner` are constants for `outer`.
    """
    while outer is not inner:
        within = getattr(outer, "inner", None)
        if within is None:
            return not hasattr(inner, "inner") and outer.name == inner.name
        outer = within
    return True


def _numbered(backend: Backend) -> str:
    """A backend's name, with the number of its level: two may have the same name."""
    number = getattr(backend, "number", None)
    return backend.name if number is None else f"{backend.name} (level {number})"
