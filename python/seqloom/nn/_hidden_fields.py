"""Checks that reject a field if its parameters would not be trained or saved."""

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
from seqloom.nn._parameters import ModuleArray, Param
from seqloom.nn._submodules import (
    PLAIN_VALUE_TYPES,
    explain_missing_annotation,
    find_parts,
    is_container,
    is_module,
    list_fields,
    list_items,
    list_module_fields,
)
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator

# Types that cannot contain parameters; most fields have one of these types.
_LEAF_TYPES = (ModuleArray, Tensor, int, float, str, bytes, type(None))
# Iterators are not searched, because a search for parameters would exhaust them.
_ITERATOR_TYPES = (GeneratorType, map, filter, zip)
_CALLABLE_NAMES: dict[type, str] = {
    MethodType: "a bound method",
    partial: "a partial",
    FunctionType: "a function",
}
_COLLECTION_TYPES = (set, frozenset, deque, ValuesView, ItemsView)
_WRAPPER_TYPES = (SimpleNamespace, UserDict, UserList, ChainMap)
# Objects of these libraries are file handles, tables and models that contain no seqloom
# parameters, and a search in them would take long.
_UNSEARCHED_LIBRARIES = sys.stdlib_module_names | {
    *("jax", "jaxlib", "numpy", "pandas", "polars", "pyarrow", "scipy", "seqloom"),
    *("sklearn", "torch"),
}
_MAX_SEARCHED_OBJECTS = 2000  # largest number of objects to search


def require_no_hidden_params(owner: object, name: str, value: object) -> None:
    """Raise if an attribute's value contains parameters that the module cannot find."""
    if type(value) in PLAIN_VALUE_TYPES:
        return
    named = getattr(owner, "param_names", ())  # fields of GRU and LSTM
    if name not in list_fields(type(owner)) and name not in named:
        if find_parts(value):
            raise ArgumentError(explain_missing_annotation(owner, name, value))
        if isinstance(value, Tensor):
            raise ArgumentError(
                f"{type(owner).__name__}.{name} is a tensor but is not annotated. Add "
                f"`{name}: Tensor` to the class for a constant (neither trained nor saved, "
                "moved by `to`). Or assign a Buffer (saved) or a Param (trained and saved)"
            )
    elif isinstance(value, ModuleArray) or is_module(value):
        _require_annotated_kind(owner, name, value)
        return
    for path, item in _list_searched_objects(value, name):
        _require_no_hidden_arrays(owner, name, path, item)


def require_param_not_replaced(owner: object, name: str, value: object) -> None:
    """Raise if a value other than None or a module replaces a parameter or buffer."""
    before = list_module_fields(owner).get(name)
    if not isinstance(before, ModuleArray) or value is None:
        return
    is_part = isinstance(value, ModuleArray) or is_module(value)
    if is_part or type(value).__name__ in list_annotated_classes(type(owner), name):
        return
    kind = "Param" if isinstance(before, Param) else "Buffer"
    lost = "neither trained nor saved" if kind == "Param" else "not saved"
    raise ArgumentError(
        f"{type(owner).__name__}.{name} is a {kind}; a {type(value).__name__} in its place "
        f"would be {lost}. Set its values: module.{name}.assign(values); or assign another "
        f"sl.nn.{kind}, or None to remove it"
    )


def recheck_hidden_params(modules: list[Any]) -> None:
    """Check all fields again, because containers may have changed since assignment."""
    for module in modules:
        for name, value in list_module_fields(module).items():
            require_no_hidden_params(module, name, value)


def require_no_class_params(kind: type) -> None:
    """Raise if a class attribute is a parameter, which all instances would share."""
    for name, value in vars(kind).items():
        if not name.startswith("__") and find_parts(value):
            raise ArgumentError(
                f"{kind.__name__}.{name} contains parameters as a class attribute, which "
                f"all instances would share; annotate `{name}: {type(value).__name__}` and "
                "create them in __init__"
            )


def _require_annotated_kind(owner: object, name: str, value: object) -> None:
    """Raise if a parameter or module is in a field that is annotated as another type."""
    declared = list_annotated_classes(type(owner), name)
    class_name = "Param" if isinstance(value, Param) else type(value).__name__
    is_other = list(declared) == [_OTHER_ARRAY_CLASS.get(class_name)]
    if declared and (is_other or declared <= _PLAIN_TYPE_NAMES):
        raise ArgumentError(
            f"{type(owner).__name__}.{name} is annotated as {' | '.join(sorted(declared))} "
            f"but got a {class_name}, which is {_CLASS_USES.get(class_name, 'a module')}; "
            f"annotate it as `{name}: {class_name}`, or assign an object of the other type"
        )


_OTHER_ARRAY_CLASS = {"Param": "Buffer", "Buffer": "Param"}
_CLASS_USES = {"Param": "trained and saved", "Buffer": "saved but not trained"}
_PLAIN_TYPE_NAMES = frozenset({"int", "float", "str", "bool", "bytes", "complex"})


@cache
def list_annotated_classes(kind: type, name: str) -> frozenset[str]:
    """Return the class names in a simple annotation, without None."""
    declared: Any = getattr(list_fields(kind).get(name), "type", "")
    text = declared.__name__ if isinstance(declared, type) else str(declared)
    text = re.sub(r"^(?:typing\.)?Optional\[(.*)\]$", r"\1", text.strip("'\""))
    names = {item.strip().rpartition(".")[2] for item in text.split("|")}
    is_simple = all(item.isidentifier() for item in names)
    return frozenset(names - {"None"} if is_simple else ())


# Parameters in objects that `collect_parts` does not search ----------------------------


def _list_searched_objects(value: object, path: str) -> Iterator[tuple[str, Any]]:
    """Yield the objects in a field, except plain values, parameters and modules."""
    if is_container(value):
        for key, item in list_items(value):
            if type(item) not in PLAIN_VALUE_TYPES:
                yield from _list_searched_objects(item, f"{path}.{key}")
    elif not isinstance(value, _LEAF_TYPES) and not is_module(value):
        yield path, value


def _require_no_hidden_arrays(owner: object, name: str, path: str, value: object) -> None:
    """Raise if an object in a field contains parameters that the module cannot find."""
    label = f"{type(owner).__name__}.{name}"
    # A callable or an iterator may hide parameters.
    used = _find_stored_ids(_list_closure_objects(value))
    if used and used - _find_stored_ids(owner):
        raise ArgumentError(
            f"{label} holds {_CALLABLE_NAMES[type(value)]} that uses a module's "
            "parameters, so they would be neither trained nor saved. Assign the module "
            "itself, or write a Module with a field for it"
        )
    kind: Any = type(value)
    if issubclass(kind, _ITERATOR_TYPES):
        raise ArgumentError(
            f"{label} holds a {kind.__name__}, whose parameters cannot be found, so they "
            "would be neither trained nor saved; make a list of it: list(...)"
        )
    parts = list(_find_arrays(value, path))
    own = _find_stored_ids(owner) if parts else set[int]()
    if inside := next((at for at, part in parts if id(part) not in own), None):
        raise ArgumentError(
            f"{label} holds parameters inside a {type(value).__name__} ({inside}), so they "
            "would be neither trained nor saved. Put them into a list, a tuple or a dict, "
            "or make their class a Module"
        )


def _find_arrays(value: Any, path: str) -> Iterator[tuple[str, ModuleArray]]:
    """Yield the parameters and buffers inside an object, and their access paths."""
    seen: set[int] = set()
    waiting = deque([(path, value)])
    while waiting and len(seen) < _MAX_SEARCHED_OBJECTS:
        where, current = waiting.popleft()
        if type(current) in PLAIN_VALUE_TYPES or id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, ModuleArray):
            yield where, current
        elif is_module(current):
            yield from ((f"{where}.{at}", part) for at, part in current.named(ModuleArray))
        else:
            items = _list_items(current)
            waiting.extend((f"{where}{name}", item) for name, item in items)


def _list_items(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each item in an object, with the suffix of the item's access path."""
    kind = cast("type[Any]", type(value))
    if is_container(value):
        yield from ((f"[{key!r}]", item) for key, item in list_items(value))
    elif issubclass(kind, _COLLECTION_TYPES):
        yield from (("[...]", item) for item in list(value))
    elif issubclass(kind, np.ndarray):
        items: list[Any] = value.ravel().tolist() if value.dtype.hasobject else []
        yield from (("[...]", item) for item in items)
    elif kind in _CALLABLE_NAMES:
        yield from (("(...)", item) for item in _list_closure_objects(value))
    elif _is_searched_class(kind):
        yield from _list_attributes(value, kind)


@cache
def _is_searched_class(kind: type) -> bool:
    """Return whether to search the attributes of a class; library classes are excluded."""
    top = kind.__module__.partition(".")[0]
    is_foreign = top in _UNSEARCHED_LIBRARIES or issubclass(kind, type)
    return issubclass(kind, _WRAPPER_TYPES) or not is_foreign


def _list_attributes(value: Any, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object, including slots; properties are not called."""
    own: dict[str, Any] = getattr(value, "__dict__", {})
    yield from ((f".{name}", item) for name, item in list(own.items()))
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            with suppress(AttributeError):
                yield f".{name}", object.__getattribute__(value, name)


# Callables and iterators -----------------------------------------------------------------


def _find_stored_ids(value: object) -> set[int]:
    """Return the ids of all parameters and buffers in a value."""
    return {id(part) for _, part in find_parts(value) if isinstance(part, ModuleArray)}


def _list_closure_objects(value: object) -> list[Any]:
    """Return the objects that a callable uses: its instance, arguments and closure."""
    if type(value) is MethodType:
        return [value.__self__]
    if type(value) is partial:
        captured = _list_closure_objects(value.func)
        return [value.func, *captured, *value.args, *value.keywords.values()]
    if type(value) is not FunctionType:
        return []
    used: list[Any] = list(value.__defaults__ or ())
    for cell in value.__closure__ or ():
        with suppress(ValueError):  # a closure variable without a value
            used.append(cell.cell_contents)
    return used
