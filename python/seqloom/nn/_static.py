"""What of a module decides the program of a step: everything but its numbers."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.nn._stored import Buffer, Param, Stored
from seqloom.tensor._leaves import frozen

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.nn._module import Module
    from seqloom.tensor._leaves import Leaf

_PLAIN = frozenset({int, float, str, bool, type(None)})
# An array that is read at each call costs time; a larger one is better a `Buffer`.
_MOST_BYTES = 1 << 20


def static_of(module: Module, found: list[Leaf]) -> Any:
    """All of a module but its numbers; these are added to `found`."""
    fields = vars(module).items()
    parts = [(name, _static(each, found)) for name, each in fields if name != "training"]
    return (type(module), module.training, *parts)


def _static(value: Any, found: list[Leaf]) -> Any:
    """What of a field decides the program."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind in _PLAIN:
        return (kind, value)
    return (_TAKERS.get(kind) or _taker(kind))(value, found)


def _stored(value: Stored, found: list[Leaf]) -> Any:
    """A parameter or buffer: all but its numbers."""
    found.append(value)
    return value.static


def _holder(value: Any, found: list[Leaf]) -> Any:
    """A module, or whatever else says what it holds."""
    static, leaves = value.leaves()
    found += leaves
    return static


def _row(value: Any, found: list[Leaf]) -> Any:
    """A list or tuple."""
    return (type(value), *[_static(each, found) for each in value])


def _named(value: dict[Any, Any], found: list[Leaf]) -> Any:
    """A dict, in its order."""
    return (type(value), *[(name, _static(each, found)) for name, each in value.items()])


def _array(value: np.ndarray[Any, Any], _found: list[Leaf]) -> Any:
    """An array in a field by its contents, which its owner may write between two calls."""
    if value.nbytes > _MOST_BYTES or value.dtype.hasobject:
        return frozen(value)
    return (np.ndarray, value.shape, value.dtype.str, zlib.crc32(value.tobytes()))


def _other(value: Any, _found: list[Leaf]) -> Any:
    """A function, or plain data."""
    return frozen(value)


_TAKERS: dict[type, Callable[[Any, list[Leaf]], Any]] = {
    Param: _stored,
    Buffer: _stored,
    list: _row,
    tuple: _row,
    dict: _named,
    np.ndarray: _array,
}


def _taker(kind: type) -> Callable[[Any, list[Leaf]], Any]:
    """How fields of a class that is met for the first time are read."""
    found = _holder if hasattr(kind, "leaves") else _other
    for base, taker in ((Stored, _stored), (list, _row), (tuple, _row), (dict, _named)):
        if issubclass(kind, base):
            found = taker
    _TAKERS[kind] = found
    return found
