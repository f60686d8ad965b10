"""Refuses fields of a module that would hide parameters from training and records."""

from __future__ import annotations

import re
import sys
from collections import ChainMap, UserDict, UserList, deque
from collections.abc import ItemsView, ValuesView
from contextlib import suppress
from functools import cache, partial
from types import FunctionType, GeneratorType, MethodType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.nn._parts import (
    PLAIN,
    find_parts,
    is_container,
    is_module,
    items_of,
    list_fields,
    list_own,
    say_unannotated,
)
from seqloom.nn._stored import Param, Stored
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

# What holds no part that is hidden; a field is mostly one of these.
_NEVER = (Stored, Tensor, int, float, str, bytes, type(None))
# Iterators: to look for parts in one would use it up.
_SINGLE_USE = (GeneratorType, map, filter, zip)
_CALLABLES: dict[type, str] = {
    MethodType: "a bound method",
    partial: "a partial",
    FunctionType: "a function",
}
_COLLECTIONS = (set, frozenset, deque, ValuesView, ItemsView)
_HOLDERS = (SimpleNamespace, UserDict, UserList, ChainMap)
# Objects of these libraries are handles, tables and models of others: none of them holds a
# part, and a search in them would be long.
_OTHERS = sys.stdlib_module_names | {
    *("jax", "jaxlib", "numpy", "pandas", "polars", "pyarrow", "scipy", "seqloom"),
    *("sklearn", "torch"),
}
_MOST_OBJECTS = 2000  # a search in the user's objects ends after so many


def require_visible_field(owner: object, name: str, value: object) -> None:
    """Refuse a value of a module's attribute whose parameters nothing would find."""
    if type(value) in PLAIN:
        return
    named = getattr(owner, "part_names", ())  # declared in place of annotations
    if name not in list_fields(type(owner)) and name not in named:
        if find_parts(value):
            raise ArgumentError(say_unannotated(owner, name, value))
        if isinstance(value, Tensor):
            raise ArgumentError(
                f"{type(owner).__name__}.{name} is a tensor but is not annotated; add "
                f"`{name}: Tensor` to the class for a constant (neither trained nor saved, "
                "moved by `to`), or assign a Buffer (saved) or a Param (trained and saved)"
            )
    elif isinstance(value, Stored) or is_module(value):
        _require_annotated_kind(owner, name, value)
        return
    for path, each in _list_suspects(value, name):
        _require_visible(owner, name, path, each)


def require_part_again(owner: object, name: str, value: object) -> None:
    """Refuse plain data where a part was; None, another part or a module may come."""
    before = list_own(owner).get(name)
    if not isinstance(before, Stored) or value is None:
        return
    is_part = isinstance(value, Stored) or is_module(value)
    if is_part or type(value).__name__ in list_declared(type(owner), name):
        return
    kind = "Param" if isinstance(before, Param) else "Buffer"
    lost = "neither trained nor saved" if kind == "Param" else "not saved"
    raise ArgumentError(
        f"{type(owner).__name__}.{name} is a {kind}; a {type(value).__name__} in its place "
        f"would be {lost}. Set its values: module.{name}.assign(values); or assign another "
        f"sl.nn.{kind}, or None to remove it"
    )


def require_all_visible(modules: list[Any]) -> None:
    """Check the fields of modules, which may have changed after their assignment."""
    for module in modules:
        for name, value in list_own(module).items():
            require_visible_field(module, name, value)


def require_no_class_parts(kind: type) -> None:
    """Refuse parts that are attributes of a class: all its objects would share them."""
    for name, value in vars(kind).items():
        if not name.startswith("__") and find_parts(value):
            raise ArgumentError(
                f"{kind.__name__}.{name} holds parameters of the class, which all its "
                f"objects would share; annotate `{name}: {type(value).__name__}` and make "
                "them in __init__"
            )


def _require_annotated_kind(owner: object, name: str, value: object) -> None:
    """Refuse a part in a field whose annotation says that it is something else."""
    declared = list_declared(type(owner), name)
    given = "Param" if isinstance(value, Param) else type(value).__name__
    is_other = list(declared) == [_OTHER_KIND.get(given)]
    if declared and (is_other or declared <= _PLAIN_NAMES):
        raise ArgumentError(
            f"{type(owner).__name__}.{name} is annotated as {' | '.join(sorted(declared))} "
            f"but got a {given}, which is {_IS.get(given, 'a module')}; annotate the field "
            f"`{name}: {given}`, or assign what the annotation says"
        )


_OTHER_KIND = {"Param": "Buffer", "Buffer": "Param"}
_IS = {"Param": "trained and saved", "Buffer": "saved but not trained"}
_PLAIN_NAMES = frozenset({"int", "float", "str", "bool", "bytes", "complex"})


@cache
def list_declared(kind: type, name: str) -> frozenset[str]:
    """Return the names of the classes in a simple annotation, without None."""
    declared: Any = getattr(list_fields(kind).get(name), "type", "")
    text = declared.__name__ if isinstance(declared, type) else str(declared)
    text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$", r"\1", text.strip("'\""))
    names = {each.strip().rpartition(".")[2] for each in text.split("|")}
    is_simple = all(each.isidentifier() for each in names)
    return frozenset(names - {"None"} if is_simple else ())


# Parts in objects in which `walk` does not look ------------------------------------------


def _list_suspects(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield what a field is or holds, but for plain values and parts."""
    if is_container(value):
        for key, item in items_of(value):
            if type(item) not in PLAIN:
                yield from _list_suspects(item, f"{path}.{key}")
    elif not isinstance(value, _NEVER) and not is_module(value):
        yield path, value


def _require_visible(owner: object, name: str, path: str, value: object) -> None:
    """Refuse an object in a field that hides parts."""
    label = f"{type(owner).__name__}.{name}"
    # Refuses a value whose parameters are hidden in a callable or an iterator.
    used = _find_stored_ids(_list_used(value))
    if used and used - _find_stored_ids(owner):
        raise ArgumentError(
            f"{label} holds {_CALLABLES[type(value)]} that calls a module's parameters, "
            "so they would be neither trained nor saved; assign the module itself, or "
            "write a Module that holds it in a field and calls it"
        )
    kind: Any = type(value)
    if issubclass(kind, _SINGLE_USE):
        raise ArgumentError(
            f"{label} holds a {kind.__name__}, whose parameters cannot be found, so they "
            "would be neither trained nor saved; make a list of it: list(...)"
        )
    parts = list(_search(value, path))
    own = _find_stored_ids(owner) if parts else set[int]()
    if inside := next((at for at, part in parts if id(part) not in own), None):
        raise ArgumentError(
            f"{label} holds parameters inside a {type(value).__name__} ({inside}), so they "
            "would be neither trained nor saved; put them into a list, a tuple or a dict, "
            "or make their class a Module"
        )


def _search(value: Any, path: str) -> Iterator[tuple[str, Stored]]:
    """Yield the parameters and buffers inside an object, with what leads to them."""
    seen: set[int] = set()
    waiting = deque([(path, value)])
    while waiting and len(seen) < _MOST_OBJECTS:
        where, each = waiting.popleft()
        if type(each) in PLAIN or id(each) in seen:
            continue
        seen.add(id(each))
        if isinstance(each, Stored):
            yield where, each
        elif is_module(each):
            yield from ((f"{where}.{at}", part) for at, part in each.named(Stored))
        else:
            waiting.extend((f"{where}{name}", item) for name, item in _list_inside(each))


def _list_inside(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield what an object holds, with the text that follows its path."""
    kind = cast("type[Any]", type(value))
    if is_container(value):
        yield from ((f"[{key!r}]", item) for key, item in items_of(value))
    elif issubclass(kind, _COLLECTIONS):
        yield from (("[...]", item) for item in list(value))
    elif issubclass(kind, np.ndarray):
        items: list[Any] = value.ravel().tolist() if value.dtype.hasobject else []
        yield from (("[...]", item) for item in items)
    elif kind in _CALLABLES:
        yield from (("(...)", item) for item in _list_used(value))
    elif _is_users(kind):
        yield from _list_attributes(value, kind)


@cache
def _is_users(kind: type) -> bool:
    """Return whether the attributes of a class are searched.

    It is not that of a library.
    """
    top = kind.__module__.partition(".")[0]
    return issubclass(kind, _HOLDERS) or (top not in _OTHERS and not issubclass(kind, type))


def _list_attributes(value: Any, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, those in ``__slots__`` too; calls no property."""
    own: dict[str, Any] = getattr(value, "__dict__", {})
    yield from ((f".{name}", item) for name, item in list(own.items()))
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with suppress(AttributeError):
                yield f".{name}", object.__getattribute__(value, name)


# Callables and iterators -----------------------------------------------------------------


def _find_stored_ids(value: object) -> set[int]:
    """Return the ids of the parameters and buffers that a value is or holds."""
    return {id(part) for _, part in find_parts(value) if isinstance(part, Stored)}


def _list_used(value: object) -> list[Any]:
    """Return what a callable uses: its object, its arguments, its closure."""
    if type(value) is MethodType:
        return [value.__self__]
    if type(value) is partial:
        return [value.func, *_list_used(value.func), *value.args, *value.keywords.values()]
    if type(value) is not FunctionType:
        return []
    used: list[Any] = list(value.__defaults__ or ())
    for cell in value.__closure__ or ():
        with suppress(ValueError):  # a variable that is not set yet
            used.append(cell.cell_contents)
    return used
