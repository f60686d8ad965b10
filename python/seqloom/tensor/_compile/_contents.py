"""Contents of the values that a step reaches from outside of its arguments.

`describe` returns a `Node`: a hashable form of the value, a function that reads its
contents again, and the contents, such as the items of a list.
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
    Missing,
    Node,
    describe_function,
    is_of_library,
    list_attributes,
    read_cell,
)
from seqloom.tensor._leaves import HasLeaves, Leaf, freeze, make_identity
from seqloom.tensor._tensor import Gradients, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterator, Mapping

PLAIN = frozenset({int, str, bytes, bool, type(None)})
# An array is compared at each call, which takes time. Larger arrays are refused.
_MAX_BYTES = 1 << 20
# Modules whose objects in C hold no values that change: types, locks, compiled patterns.
_CONSTANTS = frozenset({
    "builtins", "_abc", "_thread", "_operator", "datetime", "decimal", "re", "functools",
    "numpy", "torch", "jax", "jaxlib", "ml_dtypes", "seqloom",
})  # fmt: skip


_Describe = TypeVar("_Describe", bound="Callable[[Any], Node]")
_DESCRIBE: list[tuple[tuple[type, ...], Callable[[Any], Node]]] = []


def _describes(*kinds: type) -> Callable[[_Describe], _Describe]:
    """Note the function that describes values of some classes; the first noted decides."""

    def note(function: _Describe) -> _Describe:
        _DESCRIBE.append((kinds, function))
        return function

    return note


def describe(value: Any) -> Node:
    """Describe a value that may change between two calls."""
    for kinds, describe_kind in _DESCRIBE:
        if isinstance(value, kinds):
            return describe_kind(value)
    is_holder = hasattr(cast("Any", type(value)), "leaves")
    return _describe_holder(value) if is_holder else _describe_object(value)


def _describe_holder(value: HasLeaves) -> Node:
    """Describe a module or an optimiser by all but its arrays."""
    parts = list(list_objects(_read_static(value)))
    return Node(type(value), parts=parts, digest=_read_static)


def _read_static(value: HasLeaves) -> object:
    return value.leaves()[0]


def list_objects(static: object, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the objects that a key compares by identity, with their paths."""
    if type(static) is tuple:
        items = cast("tuple[Any, ...]", static)
        first = items[0] if items else None
        if isinstance(first, type) and hasattr(first, "leaves"):
            path = path or first.__name__
        elif type(first) is str:
            path = f"{path}.{first}"
        for item in items:
            yield from list_objects(item, path)
    elif type(static) not in PLAIN and not isinstance(static, float):
        yield path, getattr(static, "target", static)


@_describes(Tensor, Gradients, Leaf, Backend, ModuleType, Logger, IOBase)
def _constant(value: object) -> Node:
    """Describe a value by its identity alone; its contents are not compared."""
    return Node(make_identity(value))


@_describes(np.generic)
def _scalar(value: np.generic) -> Node:
    return Node((type(value), value.dtype.str, value.tobytes()))


@_describes(int, float, complex, str, bytes)
def _number(value: complex | str | bytes) -> Node:
    """Describe a number or a text; one of a subclass may have attributes."""
    kind = type(value)
    if kind in (float, complex):
        return Node((kind, repr(value)))
    own = list_attributes(value)
    parts = own if is_of_library(kind) else [*own, ("", kind)]
    return Node((kind, repr(value)), _read_attributes, parts)  # NaN has an equal text


@_describes(np.dtype, PurePath, range, dt.date, dt.time, dt.timedelta)
def _hashable(value: Hashable) -> Node:
    """Describe a value that does not change, and may be equal to others."""
    return Node((type(value), value))


@_describes(type)
def _class(value: type) -> Node:
    """Describe a class of the user's by its methods and attributes."""
    if is_of_library(value):
        return Node(make_identity(value))
    # Without the attributes that Python itself sets, such as ``__module__``.
    parts: list[tuple[str, object]] = [
        (f".{name}", item)
        for name, item in vars(value).items()
        if not (name.startswith("__") and name.endswith("__"))
        or isinstance(item, (FunctionType, property))
    ]
    parts += [("", base) for base in (*value.__bases__, type(value))]
    return Node(make_identity(value), lambda kind: [*kind.__dict__.values()], parts)


_describes(FunctionType)(describe_function)


@_describes(MethodType, BuiltinFunctionType, MethodWrapperType)
def _bound_call(value: MethodType | BuiltinFunctionType) -> Node:
    """Describe a method with the object that it belongs to."""
    owner = value.__self__
    if owner is None or isinstance(owner, ModuleType):
        return Node(make_identity(value))
    name = getattr(value, "__func__", None) or value.__name__
    parts = [("", owner), ("", name)]
    return Node(type(value), lambda method: [method.__self__], parts)


@_describes(partial)
def _partial(value: partial[object]) -> Node:
    """Describe a function with some of its arguments."""
    arguments = [*enumerate(value.args), *value.keywords.items()]
    parts = [("", value.func), *((f"({name})", item) for name, item in arguments)]
    return Node(
        (partial, *(name for name, _ in arguments)),
        lambda it: [it.func, *it.args, *it.keywords, *it.keywords.values()],
        parts,
    )


@_describes(property, staticmethod, classmethod)
def _wrapper(
    value: property | staticmethod[..., object] | classmethod[object, ..., object],
) -> Node:
    """Describe a property, a static method or a class method by its function."""
    function = value.fget if isinstance(value, property) else value.__func__
    return Node(type(value), parts=[("", function)])


@_describes(ReferenceType)
def _reference(value: ReferenceType[Any]) -> Node:
    """Describe a weak reference by the object that it refers to."""
    return Node(ReferenceType, lambda reference: [reference()], [("()", value())])


@_describes(np.ndarray)
def _array(value: np.ndarray[Any, Any]) -> Node:
    """Describe an array by its contents."""
    if value.dtype.hasobject:
        items: list[object] = value.ravel().tolist()
        parts = [(f"[{index}]", item) for index, item in enumerate(items)]
        form = (type(value), value.shape)
        return Node(form, lambda array: array.ravel().tolist(), parts)
    form = (type(value), value.shape, value.dtype.str)
    if value.nbytes > _MAX_BYTES:
        problem = f"the array {{}} of {value.nbytes / 1e6:.0f} MB"
        return Node((form, make_identity(value)), problem=problem)
    return Node(
        form,
        _read_attributes,
        list_attributes(value),
        lambda array: (array.shape, array.dtype.str, zlib.crc32(array.tobytes())),
    )


@_describes(dict, MappingProxyType)
def _dict(value: Mapping[Any, Any]) -> Node:
    """Describe a dict, and a subclass of it."""
    parts: list[tuple[str, Any]] = [(f"[{key!r}]", item) for key, item in value.items()]
    parts += list_attributes(value)
    return Node((type(value), *map(freeze, value)), _read_mapping, parts)


def _read_mapping(value: Mapping[Any, Any]) -> list[Any]:
    return [*value, *value.values(), *_read_attributes(value)]


def _read_attributes(value: object) -> list[Any]:
    return [*getattr(value, "__dict__", {}).values()]


_DICTS: tuple[dict[Any, Any], ...] = ({}, OrderedDict())


@_describes(*(type(it) for d in _DICTS for it in (d.keys(), d.values(), d.items())))
def _view(value: Any) -> Node:
    """Describe the keys, values or items of a dict by the dict."""
    node = _dict(value.mapping)
    form = (cast("Any", type(value)), node.form)
    return Node(form, lambda view: _read_mapping(view.mapping), node.parts)


@_describes(CellType)
def _cell(value: CellType) -> Node:
    """Describe the variable of a closure by its value."""
    parts = [(".cell_contents", read_cell(value))]
    return Node(CellType, lambda cell: [read_cell(cell)], parts)


@_describes(list, tuple, set, frozenset, deque)
def _container(value: Collection[Any]) -> Node:
    """Describe a list, a tuple, a set or a deque, and a subclass of these."""
    is_set = issubclass(type(value), (set, frozenset))
    items: list[Any] = sorted(value, key=repr) if is_set else list(value)
    parts = [(f"[{index}]", item) for index, item in enumerate(items)]
    parts += list_attributes(value)
    return Node((type(value), len(value)), lambda it: [*it, *_read_attributes(it)], parts)


# Other objects --------------------------------------------------------------------------


def _describe_object(value: Any) -> Node:
    """Describe an object by its attributes, and by its class if that is the user's."""
    kind = cast("type[Any]", type(value))
    if hasattr(kind, "__dlpack__"):
        return Node(make_identity(value), digest=_read_version)
    wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
    if wrapped is not None and is_of_library(kind):  # a compiled or cached function
        return Node(make_identity(value), parts=[("", wrapped)])
    # The attributes of a `threading.local` are those of this thread.
    if _has_hidden_state(kind) and not isinstance(value, local):
        return _describe_hidden(value, kind)
    slots = [(f".{slot.__name__}", _read_slot(slot, value)) for slot in _find_slots(kind)]
    parts = [*list_attributes(value), *slots]
    if not is_of_library(kind):
        parts.append(("", kind))
    return Node((kind, *(name for name, _ in parts)), _read_object, parts)


def _describe_hidden(value: Any, kind: type[Any]) -> Node:
    """Describe an object of C code."""
    if hasattr(kind, "__next__"):
        return Node(make_identity(value), problem="the iterator {}")
    with suppress(TypeError):  # it is not a buffer, such as a bytearray
        if memoryview(value).nbytes > _MAX_BYTES:
            return Node(make_identity(value), problem="the large buffer {}")
        return Node(kind, digest=lambda it: zlib.crc32(memoryview(it).tobytes()))
    top = kind.__module__.partition(".")[0]
    is_constant = top in _CONSTANTS or isinstance(value, type)
    problem = "" if is_constant else f"{{}}, a {kind.__name__},"
    return Node(make_identity(value), problem=problem)


def _read_object(value: Any) -> list[Any]:
    own = getattr(value, "__dict__", None)
    values = [] if own is None else [*own, *own.values()]
    return values + [
        _read_slot(slot, value) for slot in _find_slots(cast("Any", type(value)))
    ]


def _read_slot(slot: Any, value: object) -> Any:
    try:
        return slot.__get__(value)
    except AttributeError:  # not set
        return Missing


@lru_cache(4096)
def _find_slots(kind: Any) -> tuple[Any, ...]:
    """Return the descriptors of the ``__slots__`` of a class and its bases."""
    bases: tuple[type, ...] = kind.__mro__
    own = (vars(base).values() for base in bases if "__slots__" in vars(base))
    values = (value for values in own for value in values)
    return tuple(value for value in values if isinstance(value, MemberDescriptorType))


def _read_version(value: Any) -> object:
    """Return a value that differs after an array of torch was written; None for jax."""
    if getattr_static(cast("Any", type(value)), "_version", None) is None:
        return None  # arrays of jax do not change
    place = value.data_ptr()
    if value.device.type != "cpu" or value.nbytes > _MAX_BYTES:
        return (value._version, place)  # noqa: SLF001
    uint8 = sys.modules["torch"].uint8  # torch is imported, as it made the array
    return (place, bytes(value.detach().contiguous().flatten().view(uint8).numpy()))


@lru_cache(4096)
def _has_hidden_state(kind: type) -> bool:
    """Return True for a class whose objects hold more than Python attributes."""
    # `copyreg` finds out in the same way whether attributes are enough to copy an object.
    size = object.__basicsize__ + 8 * len(_find_slots(kind))
    size += 8 * (kind.__dictoffset__ > 0) + 8 * (kind.__weakrefoffset__ > 0)
    return kind.__basicsize__ > size or kind.__itemsize__ > 0
