"""The parts of a module: modules, parameters and buffers with their paths."""

from __future__ import annotations

from collections import deque
from collections.abc import ValuesView
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, GeneratorType, MethodType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

Found = list[tuple[str, Any]]

# What can be read once only, so that nobody sees what is in it.
_ONCE = (GeneratorType, map, filter, zip)

_PLAIN = frozenset({int, float, str, bool, type(None)})


def field_names(module: type) -> Mapping[str, Any]:
    """The annotated fields of a class and those above it."""
    return getattr(module, "__dataclass_fields__", {})


def walk(module: Any, prefix: str, found: Found) -> None:
    """Collects all parts below a module, parents first; each step walks, so it is quick."""
    fields = field_names(cast("Any", type(module)))
    held = cast("dict[str, Any]", vars(module))
    for name, value in held.items():
        if type(value) not in _PLAIN and name in fields:
            _collect(value, prefix + name, found)


def parts_of(value: Any) -> Found:
    """The parts that a value is or holds."""
    found: Found = []
    _collect(value, "", found)
    return found


def _collect(value: Any, path: str, found: Found) -> None:
    """Collects what a field holds: a part and those below it, or those in containers."""
    if isinstance(value, (Stored, Tensor)):
        found.append((path, value))
    elif hasattr(value, "named"):  # a module
        found.append((path, value))
        walk(value, f"{path}.", found)
    elif isinstance(value, (dict, list, tuple)):
        for key, item in _items(value):
            _collect(item, f"{path}.{key}", found)


def overlooked(value: Any) -> str | None:
    """The class of what holds parts in a field where `walk` does not look for them."""
    if isinstance(value, (dict, list, tuple)):
        found = (overlooked(item) for _, item in _items(value))
        return next((each for each in found if each), None)
    inside = _hidden(value)
    return type(value).__name__ if inside and parts_of(inside) else None


def _hidden(value: Any) -> list[Any]:
    """What is in a container that has no place for each part."""
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    if issubclass(kind, (set, frozenset, deque, ValuesView)):
        return list(value)
    if issubclass(kind, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if is_dataclass(kind) and not hasattr(kind, "named"):
        return [getattr(value, each.name, None) for each in fields(kind)]
    return []


def called_within(value: Any, owner: Any) -> str | None:
    """What calls parameters that are no parts of their owner."""
    if isinstance(value, (dict, list, tuple)):
        found = (called_within(item, owner) for _, item in _items(value))
        return next((each for each in found if each), None)
    bound = _bound(value)
    is_lost = bound and _stored_ids(bound) - _stored_ids(owner)
    return _CALLABLES[type(value)] if is_lost else None


_CALLABLES = {
    MethodType: "a bound method",
    partial: "a partial",
    FunctionType: "a function",
}


def _stored_ids(value: Any) -> set[int]:
    """The parameters and buffers that a value is or holds."""
    return {id(part) for _, part in parts_of(value) if isinstance(part, Stored)}


def _bound(value: Any) -> list[Any]:
    """What a callable takes along: its object, its arguments, the names around it."""
    if type(value) is MethodType:
        return [value.__self__]
    if type(value) is partial:
        return [value.func, *_bound(value.func), *value.args, *value.keywords.values()]
    if type(value) is FunctionType:
        return [*_around(value), *(value.__defaults__ or ())]
    return []


def _around(function: FunctionType) -> list[Any]:
    """The values of the names around a function that it reads; some have none yet."""
    found: list[Any] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            found.append(cell.cell_contents)
    return found


def read_once(value: Any) -> str | None:
    """The class of a value, or of one in its lists, that looking into it uses up."""
    if isinstance(value, (dict, list, tuple)):
        found = (read_once(item) for _, item in _items(value))
        return next((each for each in found if each), None)
    kind: type[Any] = type(value)  # pyright: ignore[reportUnknownVariableType]
    return kind.__name__ if issubclass(kind, _ONCE) else None


def _items(value: Any) -> Any:
    """What a container holds, with the key or the place of each."""
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).items()
    return enumerate(value)
