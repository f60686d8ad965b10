"""What only the backend itself can say: it is asked by a trial on ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._graph import Value
from seqloom.tensor._lower import flat

if TYPE_CHECKING:
    from seqloom.tensor._backend import Array, Backend

Shape = tuple[int, ...]
Kind = tuple[Shape, np.dtype[Any]]
Rule = Callable[["Backend", str, tuple[Any, ...], dict[str, Any]], "Kind | list[Kind]"]

_known: dict[Any, np.dtype[Any]] = {}


def promoted(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> np.dtype[Any]:
    """The element type of a result, found once by a call on arrays of one element."""
    signature = (type(target), name, _signature(args), _signature(tuple(options.items())))
    if signature not in _known:
        small = [_ones(target, arg, lambda value: (1,) * len(value.shape)) for arg in args]
        with np.errstate(all="ignore"):  # ones lie outside of what atanh takes, say
            made = getattr(target, name)(*small, **options)
        _known[signature] = target.dtype(_first(made))
    return _known[signature]


def tried(
    target: Backend, name: str, args: tuple[Any, ...], options: dict[str, Any]
) -> Kind | list[Kind]:
    """The kinds of a function without a rule: it is called once, on ones."""
    whole = [_ones(target, arg, lambda value: value.shape) for arg in args]
    made = getattr(target, name)(*whole, **options)
    several = isinstance(made, (list, tuple))
    found = [(tuple(each.shape), target.dtype(each)) for each in flat(made)]
    return found if several else found[0]


def _first(made: Any) -> Array:
    """The first array of a result."""
    return flat(made)[0]


def _ones(target: Backend, arg: Any, shape_of: Callable[[Value], Shape]) -> Any:
    """An argument with ones for each value."""
    if isinstance(arg, Value):
        return 1.0 if arg.weak else target.ones(shape_of(arg), dtype=arg.dtype)
    if isinstance(arg, (list, tuple)):
        inside = [_ones(target, each, shape_of) for each in cast("list[Any]", arg)]
        return inside if isinstance(arg, list) else tuple(inside)
    return arg


def _signature(arg: Any) -> Any:
    """All of an argument that may decide an element type, hashable."""
    if isinstance(arg, Value):
        return (arg.dtype, len(arg.shape), arg.weak)
    if isinstance(arg, (list, tuple)):
        return tuple(_signature(each) for each in cast("list[Any]", arg))
    return (type(arg), repr(arg))
