"""Describes the values outside of a step that the step can reach.

`describe` returns a `Snapshot` of a value. A snapshot has a hashable form of the value, its
contents, and a function that reads the contents again. The contents of a list are its
items.
"""

from __future__ import annotations

import datetime as dt
import sys
import zlib
from collections import OrderedDict, deque
from contextlib import suppress
from functools import lru_cache, partial
from inspect import getattr_static
from io import IOBase
from logging import Logger
from pathlib import PurePath
from threading import local
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import ReferenceType

import numpy as np

from seqloom.tensor._backend import Backend
from seqloom.tensor._compile._code import (
    NoValue,
    Snapshot,
    describe_function,
    is_in_library,
    list_attributes,
    read_closure_cell,
)
from seqloom.tensor._leaves import HasLeaves, Leaf, make_identity, to_cache_key
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping

SIMPLE_TYPES = frozenset({int, str, bytes, bool, type(None)})
# Size limit of arrays that are compared at each call. Larger arrays raise an error.
_MAX_COMPARED_BYTES = 1 << 20
# Modules with C types whose instances are constant, such as locks and compiled
# patterns.
_CONSTANT_MODULES = frozenset({
    "builtins", "_abc", "_thread", "_operator", "datetime", "decimal", "re", "functools",
    "numpy", "torch", "jax", "jaxlib", "ml_dtypes", "seqloom",
})  # fmt: skip


_Describer = TypeVar("_Describer", bound="Callable[[Any], Snapshot]")
_DESCRIBERS: list[tuple[tuple[type, ...], Callable[[Any], Snapshot]]] = []


def _describes(*kinds: type) -> Callable[[_Describer], _Describer]:
    """Return a decorator that registers a function as the describer of classes."""

    def register(function: _Describer) -> _Describer:
        _DESCRIBERS.append((kinds, function))
        return function

    return register


def describe(value: Any) -> Snapshot:
    """Describe a value that may change between two calls."""
    for kinds, describe_kind in _DESCRIBERS:
        if isinstance(value, kinds):
            return describe_kind(value)
    is_holder = hasattr(cast("Any", type(value)), "leaves")
    return _describe_holder(value) if is_holder else _describe_object(value)


def _describe_holder(value: HasLeaves) -> Snapshot:
    """Describe a module or an optimiser, without its arrays."""
    parts = list(list_objects(_read_static(value)))
    return Snapshot(type(value), parts=parts, digest=_read_static)


def _read_static(value: HasLeaves) -> object:
    return value.leaves()[0]


def list_objects(static: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the objects that a signature key compares by identity, with their paths."""
    if type(static) is tuple:
        items = cast("tuple[Any, ...]", static)
        first = items[0] if items else None
        if isinstance(first, type) and hasattr(first, "leaves"):
            path = path or first.__name__
        elif type(first) is str:
            path = f"{path}.{first}"
        for item in items:
            yield from list_objects(item, path)
    elif type(static) not in SIMPLE_TYPES and not isinstance(static, float):
        yield path, getattr(static, "target", static)


@_describes(Tensor, Gradients, Leaf, Backend, ModuleType, Logger, IOBase)
def _describe_constant(value: object) -> Snapshot:
    """Describe a value by its identity; its contents are not compared."""
    return Snapshot(make_identity(value))


@_describes(np.generic)
def _describe_scalar(value: np.generic) -> Snapshot:
    return Snapshot((type(value), value.dtype.str, value.tobytes()))


@_describes(int, float, complex, str, bytes)
def _describe_number(value: complex | str | bytes) -> Snapshot:
    """Describe a number or string; instances of subclasses may have attributes."""
    kind = type(value)
    if kind in (float, complex):
        return Snapshot((kind, repr(value)))
    own = list_attributes(value)
    parts = own if is_in_library(kind) else [*own, ("", kind)]
    # Compare the text, because NaN is not equal to NaN.
    return Snapshot((kind, repr(value)), _read_fields, parts)


@_describes(np.dtype, PurePath, range, dt.date, dt.time, dt.timedelta)
def _describe_hashable(value: Hashable) -> Snapshot:
    """Describe an immutable value."""
    return Snapshot((type(value), value))


@_describes(type)
def _describe_class(value: type) -> Snapshot:
    """Describe a user class by its methods and attributes."""
    if is_in_library(value):
        return Snapshot(make_identity(value))
    # Attributes that Python sets, such as ``__module__``, are excluded.
    parts: list[tuple[str, object]] = [
        (f".{name}", item)
        for name, item in vars(value).items()
        if not (name.startswith("__") and name.endswith("__"))
        or isinstance(item, (FunctionType, property))
    ]
    parts += [("", base) for base in (*value.__bases__, type(value))]
    return Snapshot(make_identity(value), lambda kind: [*kind.__dict__.values()], parts)


_describes(FunctionType)(describe_function)


@_describes(MethodType, BuiltinFunctionType, MethodWrapperType)
def _describe_method(value: MethodType | BuiltinFunctionType) -> Snapshot:
    """Describe a bound method and the object to which it belongs."""
    owner = value.__self__
    if owner is None or isinstance(owner, ModuleType):
        return Snapshot(make_identity(value))
    name = getattr(value, "__func__", None) or value.__name__
    parts = [("", owner), ("", name)]
    return Snapshot(type(value), lambda method: [method.__self__], parts)


@_describes(partial)
def _describe_partial(value: partial[object]) -> Snapshot:
    """Describe a partial function, with its arguments."""
    arguments = [*enumerate(value.args), *value.keywords.items()]
    parts = [("", value.func), *((f"({name})", item) for name, item in arguments)]
    return Snapshot(
        (partial, *(name for name, _ in arguments)),
        lambda it: [it.func, *it.args, *it.keywords, *it.keywords.values()],
        parts,
    )


@_describes(property, staticmethod, classmethod)
def _describe_wrapper(
    value: property | staticmethod[..., object] | classmethod[object, ..., object],
) -> Snapshot:
    """Describe a property, static method or class method by its function."""
    function = value.fget if isinstance(value, property) else value.__func__
    return Snapshot(type(value), parts=[("", function)])


@_describes(ReferenceType)
def _describe_reference(value: ReferenceType[Any]) -> Snapshot:
    """Describe a weak reference by its referent."""
    return Snapshot(ReferenceType, lambda reference: [reference()], [("()", value())])


@_describes(np.ndarray)
def _describe_array(value: np.ndarray[Any, Any]) -> Snapshot:
    """Describe an array by its contents."""
    if value.dtype.hasobject:
        items: list[object] = value.ravel().tolist()
        parts = [(f"[{index}]", item) for index, item in enumerate(items)]
        form = (type(value), value.shape)
        return Snapshot(form, lambda array: array.ravel().tolist(), parts)
    form = (type(value), value.shape, value.dtype.str)
    if value.nbytes > _MAX_COMPARED_BYTES:
        problem = f"the array {{}} of {value.nbytes / 1e6:.0f} MB"
        return Snapshot((form, make_identity(value)), problem=problem)
    return Snapshot(
        form,
        _read_fields,
        list_attributes(value),
        lambda array: (array.shape, array.dtype.str, zlib.crc32(array.tobytes())),
    )


@_describes(dict, MappingProxyType)
def _describe_dict(value: Mapping[Any, Any]) -> Snapshot:
    """Describe a dict, or an instance of a subclass."""
    parts: list[tuple[str, Any]] = [(f"[{key!r}]", item) for key, item in value.items()]
    parts += list_attributes(value)
    return Snapshot((type(value), *map(to_cache_key, value)), _read_mapping, parts)


def _read_mapping(value: Mapping[Any, Any]) -> list[Any]:
    return [*value, *value.values(), *_read_fields(value)]


def _read_fields(value: object) -> list[Any]:
    return [*getattr(value, "__dict__", {}).values()]


_DICT_TYPES: tuple[dict[Any, Any], ...] = ({}, OrderedDict())


@_describes(*(type(it) for d in _DICT_TYPES for it in (d.keys(), d.values(), d.items())))
def _describe_view(value: Any) -> Snapshot:
    """Describe a view of a dict (keys, values or items) by the dict."""
    node = _describe_dict(value.mapping)
    form = (cast("Any", type(value)), node.description)
    return Snapshot(form, lambda view: _read_mapping(view.mapping), node.parts)


@_describes(CellType)
def _describe_cell(value: CellType) -> Snapshot:
    """Describe a closure variable by its value."""
    parts = [(".cell_contents", read_closure_cell(value))]
    return Snapshot(CellType, lambda cell: [read_closure_cell(cell)], parts)


@_describes(list, tuple, set, frozenset, deque)
def _describe_container(value: Collection[Any]) -> Snapshot:
    """Describe a list, tuple, set or deque, or an instance of a subclass."""
    is_set = issubclass(type(value), (set, frozenset))
    items: list[Any] = sorted(value, key=repr) if is_set else list(value)
    parts = [(f"[{index}]", item) for index, item in enumerate(items)]
    parts += list_attributes(value)
    return Snapshot((type(value), len(value)), lambda it: [*it, *_read_fields(it)], parts)


# Other objects --------------------------------------------------------------------------


def _describe_object(value: Any) -> Snapshot:
    """Describe an object by its attributes, and by its class if it is a user class."""
    kind = cast("type[Any]", type(value))
    if hasattr(kind, "__dlpack__"):
        return Snapshot(make_identity(value), digest=_read_version)
    wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
    # The object is a compiled or cached function.
    if wrapped is not None and is_in_library(kind):
        return Snapshot(make_identity(value), parts=[("", wrapped)])
    # The attributes of a `threading.local` are those of the current thread.
    if _has_hidden_state(kind) and not isinstance(value, local):
        return _describe_c_object(value, kind)
    slots = [(f".{slot.__name__}", _read_slot(slot, value)) for slot in _find_slots(kind)]
    parts = [*list_attributes(value), *slots]
    if not is_in_library(kind):
        parts.append(("", kind))
    return Snapshot((kind, *(name for name, _ in parts)), _read_object, parts)


def _describe_c_object(value: Any, kind: type[Any]) -> Snapshot:
    """Describe an object that is implemented in C."""
    if hasattr(kind, "__next__"):
        return Snapshot(make_identity(value), problem="the iterator {}")
    with suppress(TypeError):  # The object does not support the buffer protocol.
        if memoryview(value).nbytes > _MAX_COMPARED_BYTES:
            return Snapshot(make_identity(value), problem="the large buffer {}")
        return Snapshot(kind, digest=lambda it: zlib.crc32(memoryview(it).tobytes()))
    top = kind.__module__.partition(".")[0]
    is_constant = top in _CONSTANT_MODULES or isinstance(value, type)
    problem = "" if is_constant else f"{{}}, a {kind.__name__},"
    return Snapshot(make_identity(value), problem=problem)


def _read_object(value: Any) -> list[Any]:
    own = getattr(value, "__dict__", None)
    values = [] if own is None else [*own, *own.values()]
    return values + [
        _read_slot(slot, value) for slot in _find_slots(cast("Any", type(value)))
    ]


def _read_slot(slot: Any, value: object) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:  # The slot of the instance has no value.
        return NoValue


@lru_cache(4096)
def _find_slots(kind: Any) -> tuple[Any, ...]:
    """Return the descriptors of the ``__slots__`` of a class and its bases."""
    bases: tuple[type, ...] = kind.__mro__
    own = (vars(base).values() for base in bases if "__slots__" in vars(base))
    values = (value for values in own for value in values)
    return tuple(value for value in values if isinstance(value, MemberDescriptorType))


def _read_version(value: Any) -> object:
    """Return a value that changes when a PyTorch array is written; None for JAX arrays."""
    if getattr_static(cast("Any", type(value)), "_version", None) is None:
        return None  # JAX arrays are immutable
    place = value.data_ptr()
    if value.device.type != "cpu" or value.nbytes > _MAX_COMPARED_BYTES:
        return (value._version, place)  # noqa: SLF001
    uint8 = sys.modules["torch"].uint8  # PyTorch is imported, because the array exists.
    return (place, bytes(value.detach().contiguous().flatten().view(uint8).numpy()))


@lru_cache(4096)
def _has_hidden_state(kind: type) -> bool:
    """Return True for a class whose instances have more state than Python attributes."""
    # `copyreg` uses the same test to decide whether attributes suffice to copy an
    # object.
    size = object.__basicsize__ + 8 * len(_find_slots(kind))
    size += 8 * (kind.__dictoffset__ > 0) + 8 * (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ > size or kind.__itemsize__ > 0
