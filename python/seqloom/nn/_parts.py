"""Finds the parts of a module, and refuses fields that would hide them."""

from __future__ import annotations

from collections import deque
from collections.abc import ValuesView
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import FunctionType, GeneratorType, MethodType
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Parts = list[tuple[str, Any]]  # paths and modules, parameters or buffers

# Iterators: to look for parts in one would use it up.
_SINGLE_USE = (GeneratorType, map, filter, zip)
_PLAIN = frozenset({int, float, str, bool, type(None)})
_CALLABLES: dict[type, str] = {
    MethodType: "a bound method",
    partial: "a partial",
    FunctionType: "a function",
}


@runtime_checkable
class HasParts(Protocol):
    """A module, for files that `Module` imports."""

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Yields the parts with their paths."""
        ...


def list_fields(module: type) -> Mapping[str, object]:
    """Returns the annotated fields of a class and its bases."""
    return getattr(module, "__dataclass_fields__", {})


def walk(module: object, prefix: str, parts: Parts) -> None:
    """Adds all parts of a module, each before its own parts; hot in eager steps."""
    fields = list_fields(type(module))
    for name, value in vars(module).items():
        if type(value) not in _PLAIN and name in fields:
            _collect(value, prefix + name, parts)


def find_parts(value: object) -> Parts:
    """Returns the parts that a value is or holds."""
    parts: Parts = []
    _collect(value, "", parts)
    return parts


def _collect(value: object, path: str, parts: Parts) -> None:
    """Adds a part and the parts in it, or the parts in a container."""
    if isinstance(value, (Stored, Tensor)):
        parts.append((path, value))
    elif hasattr(value, "named"):  # a module; isinstance of the Protocol is slower
        parts.append((path, value))
        walk(value, f"{path}.", parts)
    elif isinstance(value, (dict, list, tuple)):
        for key, item in _items_of(value):
            _collect(item, f"{path}.{key}", parts)


def require_visible_parts(owner: object, name: str, value: object) -> None:
    """Refuses a value of a module's attribute whose parameters nothing would find."""
    label = f"{type(owner).__name__}.{name}"
    is_field = name in list_fields(type(owner))
    if not is_field and find_parts(value):
        raise ArgumentError(
            f"{label} holds parameters but is not annotated, so they would be neither "
            f"trained nor saved; add `{name}: {type(value).__name__}` to the class"
        )
    if is_field and (kind := _find_hidden_kind(value)):
        raise ArgumentError(
            f"{label} holds parameters inside a {kind}, so they would be neither trained "
            "nor saved; put them into a list, a tuple or a dict, or make their class a "
            "Module"
        )
    _require_visible_calls(owner, label, value)


def _require_visible_calls(owner: object, label: str, value: object) -> None:
    """Refuses a value whose parameters are hidden in a callable or an iterator."""
    if kind := _find_calling_kind(value, owner):
        raise ArgumentError(
            f"{label} holds {kind} that calls a module's parameters, so they would be "
            "neither trained nor saved; assign the module itself, or write a Module that "
            "holds it in a field and calls it"
        )
    if kind := _find_single_use_kind(value):
        raise ArgumentError(
            f"{label} holds a {kind}, whose parameters cannot be found, so they would be "
            "neither trained nor saved; make a list of it: list(...)"
        )


def _find_hidden_kind(value: object) -> str | None:
    """Returns the class of an object in which `walk` does not find the parts."""
    if _is_container(value):
        return _find_in_items(value, _find_hidden_kind)
    hidden = _list_hidden(value)
    return type(value).__name__ if hidden and find_parts(hidden) else None


def _list_hidden(value: Any) -> list[Any]:
    """Returns the contents of a container whose items have no path."""
    kind = cast("type[Any]", type(value))
    if issubclass(kind, (set, frozenset, deque, ValuesView)):
        return list(value)
    if issubclass(kind, np.ndarray):
        return value.ravel().tolist() if value.dtype.hasobject else []
    if is_dataclass(kind) and not hasattr(kind, "named"):
        return [getattr(value, field.name, None) for field in fields(kind)]
    return []


def _find_calling_kind(value: object, owner: object) -> str | None:
    """Returns the kind of a callable that uses parameters outside of the owner."""
    if _is_container(value):
        return _find_in_items(value, lambda item: _find_calling_kind(item, owner))
    used = _list_used(value)
    is_lost = used and _find_stored_ids(used) - _find_stored_ids(owner)
    return _CALLABLES[type(value)] if is_lost else None


def _find_stored_ids(value: object) -> set[int]:
    """Returns the ids of the parameters and buffers that a value is or holds."""
    return {id(part) for _, part in find_parts(value) if isinstance(part, Stored)}


def _list_used(value: object) -> list[Any]:
    """Returns what a callable uses: its object, its arguments, its closure."""
    if type(value) is MethodType:
        return [value.__self__]
    if type(value) is partial:
        return [value.func, *_list_used(value.func), *value.args, *value.keywords.values()]
    if type(value) is FunctionType:
        return [*_list_closure(value), *(value.__defaults__ or ())]
    return []


def _list_closure(function: FunctionType) -> list[object]:
    """Returns the values that a function closes over, without those not set yet."""
    values: list[object] = []
    for cell in function.__closure__ or ():
        with suppress(ValueError):
            values.append(cell.cell_contents)
    return values


def _find_single_use_kind(value: object) -> str | None:
    """Returns the class of an iterator that is the value, or is in its lists."""
    if _is_container(value):
        return _find_in_items(value, _find_single_use_kind)
    kind = cast("type[Any]", type(value))
    return kind.__name__ if issubclass(kind, _SINGLE_USE) else None


def _find_in_items(value: object, find: Callable[[object], str | None]) -> str | None:
    """Returns the first result for an item of a container."""
    kinds = (find(item) for _, item in _items_of(value))
    return next((kind for kind in kinds if kind), None)


def _is_container(value: object) -> bool:
    """Returns True for a dict, a list or a tuple."""
    return isinstance(value, (dict, list, tuple))


def _items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """Returns the items of a container, with their keys or positions."""
    return value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType]
