"""Submodules, parameters and buffers of a module, by path."""

from __future__ import annotations

import zlib
from copy import copy, deepcopy
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._initialisers import is_float
from seqloom.nn._parameters import Buffer, ModuleArray, Param
from seqloom.tensor import Tensor
from seqloom.tensor._leaves import to_cache_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._leaves import HasLeaves, Leaf

    Describer = Callable[[Any, list[Leaf]], object]

Parts = list[tuple[str, Any]]  # pairs of path and module or array

# Call method of a container -> function that returns the arguments of its layers.
ARGUMENT_FINDERS: dict[Any, Callable[[Any], Any]] = {}
PLAIN_VALUE_TYPES = frozenset({int, float, str, bool, type(None)})


@runtime_checkable
class HasParts(Protocol):
    """Protocol of a module, for files that cannot import `Module`."""

    def named(self, kind: type[Any] = object) -> Iterator[tuple[str, Any]]:
        """Yield the submodules, parameters and buffers, with their paths."""
        ...


def list_fields(module: type) -> Mapping[str, object]:
    """Return the annotated fields of a class and its bases."""
    return getattr(module, "__dataclass_fields__", {})


def collect_parts(module: object, prefix: str, parts: Parts) -> None:
    """Append all submodules and parameters to `parts`, parents first."""
    fields = list_fields(type(module))
    # The parameter names of GRU and LSTM depend on layers and directions, so
    # annotations cannot list the names.
    named = getattr(module, "param_names", ())
    for name, value in vars(module).items():
        if type(value) in PLAIN_VALUE_TYPES:
            continue
        if name in fields or name in named:
            _collect_value(value, prefix + name, parts)
        elif find_parts(value):  # parameters were added after assignment
            raise ArgumentError(explain_missing_annotation(module, name, value))


def list_parts(module: object) -> Parts:
    """Return all submodules and arrays, possibly repeated; raise on a cycle."""
    parts: Parts = []
    try:
        collect_parts(module, "", parts)
    except RecursionError:
        _require_no_cycle(module, "", ())
        raise
    return parts


def _require_no_cycle(value: object, path: str, above: tuple[object, ...]) -> None:
    """Raise if a module contains itself."""
    if any(value is other for other in above):
        raise ArgumentError(
            f"{type(above[0]).__name__}: {path[1:]} is a module that contains this field, "
            "so paths would never end. To refer to a module without owning it, assign "
            "weakref.ref(module)"
        )
    if is_module(value):
        items: Iterable[tuple[Any, Any]] = list_module_fields(value).items()
    else:
        items = list_items(value) if is_container(value) else ()
    for name, item in list(items):
        _require_no_cycle(item, f"{path}.{name}", (*above, value))


def list_modules(module: HasParts) -> list[Any]:
    """Return a module and all its submodules."""
    return [module, *(part for _, part in module.named() if is_module(part))]


def find_parts(value: object) -> Parts:
    """Return the modules, parameters and buffers in a value."""
    parts: Parts = []
    _collect_value(value, "", parts)
    return parts


def explain_missing_annotation(owner: object, name: str, value: object) -> str:
    """Return the message for an attribute that has parameters but no annotation."""
    path = find_parts(value)[0][0]
    where = f" ({name}{path})" if path else ""
    return (
        f"{type(owner).__name__}.{name} holds parameters{where} but is not annotated, so "
        f"they would be neither trained nor saved; add `{name}: {type(value).__name__}` to "
        "the class"
    )


def _collect_value(value: object, path: str, parts: Parts) -> None:
    """Append a module with its contents, a parameter or a buffer."""
    role = _class_roles.get(type(value)) or _find_class_role(type(value))
    if role == "stored":
        parts.append((path, value))
    elif role == "module":
        parts.append((path, value))
        collect_parts(value, f"{path}.", parts)
    elif role == "container":
        for key, item in list_items(value):
            _collect_value(item, f"{path}.{key}", parts)


# Cache of the role of each class, which every step needs for every field.
_class_roles: dict[type, str] = {}


def _find_class_role(kind: type[Any]) -> str:
    """Return and cache whether a class is a module, an array, a container or plain."""
    role = "module" if hasattr(kind, "named") else "plain"
    bases = {
        ModuleArray: "stored",
        dict: "container",
        list: "container",
        tuple: "container",
    }
    role = next((bases[base] for base in bases if issubclass(kind, base)), role)
    _class_roles[kind] = role
    return role


def list_module_fields(module: Any) -> dict[str, Any]:
    """Return all attributes of a module by name, also attributes without annotation."""
    return cast("Any", vars(module))


def label_layer(module: object) -> str:
    """Return the path and class of a layer for a message: ``head.0 (Linear)``."""
    stored = (
        value
        for value in list_module_fields(module).values()
        if isinstance(value, ModuleArray)
    )
    path = next((value.path.rpartition(".")[0] for value in stored), "")
    name = type(module).__name__
    return f"{path} ({name})" if path else name


def require_axis(module: object, x: Any, axis: int, length: int, *, form: str) -> None:
    """Raise if an axis of the input does not have the length that the layer needs."""
    shape: Any = getattr(x, "shape", None)
    least = axis + 1 if axis >= 0 else -axis
    if shape is not None and (len(shape) < least or shape[axis] != length):
        raise ShapeError(
            f"{label_layer(module)}: expected x of shape {form}, got {tuple(shape)}"
        )


def is_module(value: object) -> bool:
    """Return True for a module, and False for its class."""
    return hasattr(type(value), "named")  # isinstance with a Protocol is slower


def is_container(value: object) -> bool:
    """Return True for a dict, a list or a tuple."""
    return isinstance(value, (dict, list, tuple))


def list_items(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the items of a container, with their keys or indices."""
    return value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType]


# Copies and moves ------------------------------------------------------------------------


def copy_fields(module: Any, twin: Any, memo: dict[int, Any]) -> None:
    """Copy the arrays, submodules and containers of a module; share the other fields."""

    def copy_value(value: Any) -> Any:
        is_part = isinstance(value, ModuleArray) or is_module(value)
        return deepcopy(value, memo) if is_part else value

    for name, value in list_module_fields(module).items():
        vars(twin)[name] = _map_items(value, copy_value, memo)


def move_constants(modules: list[Any], backend: Backend, dtype: str | None = None) -> None:
    """Move all fields that are tensors to a backend; convert floats to `dtype`."""

    def move_value(value: Any) -> Any:
        if not isinstance(value, Tensor):
            return value
        moved = value.to(backend)
        is_changed = dtype is not None and is_float(value.dtype) and moved.dtype != dtype
        return moved.astype(dtype) if is_changed else moved

    for module in modules:
        own = list_module_fields(module)
        for name, value in own.items():
            if type(value) not in PLAIN_VALUE_TYPES and _has_tensor(value):
                own[name] = _map_items(value, move_value, {})


def _has_tensor(value: object) -> bool:
    """Return whether a field is a tensor or a container of tensors."""
    if not is_container(value):
        return isinstance(value, Tensor)
    return any(_has_tensor(item) for _, item in list_items(value))


def _map_items(value: Any, change: Callable[[Any], Any], memo: dict[int, Any]) -> Any:
    """Apply a function to a value, or to all items of a container."""
    if not is_container(value):
        return change(value)
    if id(value) in memo:  # two fields may share a list, and a list may contain itself
        return memo[id(value)]
    if isinstance(value, tuple):
        items = [_map_items(item, change, memo) for _, item in list_items(value)]
        return _make_tuple(type(value), items)  # pyright: ignore[reportUnknownArgumentType]
    twin = memo.setdefault(id(value), copy(value))
    for key, item in list(list_items(value)):
        twin[key] = _map_items(item, change, memo)
    return twin


def _make_tuple(kind: Any, items: list[Any]) -> Any:
    """Create a tuple or a named tuple from a list of items."""
    return getattr(kind, "_make", kind)(items)


# Keys of compiled programs
# ---------------------------------------------------------------

# Larger arrays are compared by identity: a checksum at each call would take too long.
_MAX_CHECKSUM_BYTES = 1 << 20


def describe_fields(fields: Mapping[str, object], leaves: list[Leaf]) -> list[object]:
    """Describe the fields of a module as hashable values; append arrays to `leaves`."""
    return [
        (name, _describe_field(value, leaves))
        for name, value in fields.items()
        if name != "training"
    ]


def _describe_field(value: object, leaves: list[Leaf]) -> object:
    """Describe one field as a hashable value."""
    kind = cast("type[Any]", type(value))
    if kind in PLAIN_VALUE_TYPES:
        return (kind, value)
    return (_DESCRIBERS.get(kind) or _find_describer(kind))(value, leaves)


def _describe_stored(value: ModuleArray, leaves: list[Leaf]) -> object:
    """Describe a parameter or buffer as a hashable value."""
    leaves.append(value)
    return value.static


def _describe_with_leaves(value: HasLeaves, leaves: list[Leaf]) -> object:
    """Describe an object with a method `leaves`, such as a module."""
    static, own = value.leaves()
    leaves += own
    return static


def _describe_sequence(value: list[object], leaves: list[Leaf]) -> object:
    return (type(value), *[_describe_field(item, leaves) for item in value])


def _describe_dict(value: dict[object, object], leaves: list[Leaf]) -> object:
    """Describe a dict, including the order of its keys."""
    return (type(value), *[(key, _describe_field(v, leaves)) for key, v in value.items()])


def _describe_array(value: NDArray[np.generic], _leaves: list[Leaf]) -> object:
    """Describe an array by a checksum, because its contents may change between calls."""
    if value.nbytes > _MAX_CHECKSUM_BYTES or value.dtype.hasobject:
        return to_cache_key(value)
    return (np.ndarray, value.shape, value.dtype.str, zlib.crc32(value.tobytes()))


def _describe_other(value: object, _leaves: list[Leaf]) -> object:
    return to_cache_key(value)


_DESCRIBERS: dict[type, Describer] = {
    Param: _describe_stored,
    Buffer: _describe_stored,
    list: _describe_sequence,
    tuple: _describe_sequence,
    dict: _describe_dict,
    np.ndarray: _describe_array,
}


def _find_describer(kind: type) -> Describer:
    """Return the function that describes objects of a class, and cache it."""
    has_leaves = hasattr(kind, "leaves")
    describe: Describer = _describe_with_leaves if has_leaves else _describe_other
    for base in (ModuleArray, list, tuple, dict):
        if issubclass(kind, base):
            describe = _describe_stored if base is ModuleArray else _DESCRIBERS[base]
    _DESCRIBERS[kind] = describe
    return describe
