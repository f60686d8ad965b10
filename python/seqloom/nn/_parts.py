"""Finds the parts of a module: its modules, parameters and buffers, by path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

from seqloom.errors import ArgumentError, ShapeError
from seqloom.nn._stored import Stored

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

Parts = list[tuple[str, Any]]  # paths and modules, parameters or buffers

# Methods of containers that pass arguments on, with functions that say what they take.
CONTAINERS: dict[Any, Callable[[Any], Any]] = {}
PLAIN = frozenset({int, float, str, bool, type(None)})


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
    # GRU and LSTM name their parameters by layer and direction, so no annotation can.
    named = getattr(module, "part_names", ())
    for name, value in vars(module).items():
        if type(value) in PLAIN:
            continue
        if name in fields or name in named:
            _collect(value, prefix + name, parts)
        elif find_parts(value):  # a list that got a part after it was assigned
            raise ArgumentError(say_unannotated(module, name, value))


def list_parts(module: object) -> Parts:
    """Returns all parts of a module, some of them twice; refuses one within itself."""
    parts: Parts = []
    try:
        walk(module, "", parts)
    except RecursionError:
        _require_no_cycle(module, "", ())
        raise
    return parts


def _require_no_cycle(value: object, path: str, above: tuple[object, ...]) -> None:
    """Refuses a module that is a part of itself."""
    if any(value is other for other in above):
        raise ArgumentError(
            f"{type(above[0]).__name__}: {path[1:]} is a module that this field is a part "
            "of, so paths would never end; to refer to a module without owning it, assign "
            "weakref.ref(module)"
        )
    if is_module(value):
        items: Iterable[tuple[Any, Any]] = list_own(value).items()
    else:
        items = items_of(value) if is_container(value) else ()
    for name, item in list(items):
        _require_no_cycle(item, f"{path}.{name}", (*above, value))


def list_modules(module: HasParts) -> list[Any]:
    """Returns a module and all modules in it."""
    return [module, *(part for _, part in module.named() if is_module(part))]


def find_parts(value: object) -> Parts:
    """Returns the parts that a value is or holds."""
    parts: Parts = []
    _collect(value, "", parts)
    return parts


def say_unannotated(owner: object, name: str, value: object) -> str:
    """Says which part an attribute without annotation holds, and how to annotate it."""
    path = find_parts(value)[0][0]
    where = f" ({name}{path})" if path else ""
    return (
        f"{type(owner).__name__}.{name} holds parameters{where} but is not annotated, so "
        f"they would be neither trained nor saved; add `{name}: {type(value).__name__}` to "
        "the class"
    )


def _collect(value: object, path: str, parts: Parts) -> None:
    """Adds a part and the parts in it, or the parts in a container."""
    role = _roles.get(type(value)) or _find_role(type(value))
    if role == "stored":
        parts.append((path, value))
    elif role == "module":
        parts.append((path, value))
        walk(value, f"{path}.", parts)
    elif role == "container":
        for key, item in items_of(value):
            _collect(item, f"{path}.{key}", parts)


# What a value of a class is to a module: looked up for each field of each step.
_roles: dict[type, str] = {}


def _find_role(kind: type[Any]) -> str:
    """Finds the role of a class that is met for the first time."""
    role = "module" if hasattr(kind, "named") else "plain"
    bases = {Stored: "stored", dict: "container", list: "container", tuple: "container"}
    role = next((bases[base] for base in bases if issubclass(kind, base)), role)
    _roles[kind] = role
    return role


def list_own(module: Any) -> dict[str, Any]:
    """Returns the attributes of a module by name, fields or not."""
    return cast("Any", vars(module))


def spell_layer(module: object) -> str:
    """Returns the path and the class of a layer for a message: ``head.0 (Linear)``."""
    stored = (value for value in list_own(module).values() if isinstance(value, Stored))
    path = next((value.path.rpartition(".")[0] for value in stored), "")
    name = type(module).__name__
    return f"{path} ({name})" if path else name


def require_axis(module: object, x: Any, axis: int, length: int, *, form: str) -> None:
    """Refuses an input whose axis has another length than the layer needs."""
    shape: Any = getattr(x, "shape", None)
    least = axis + 1 if axis >= 0 else -axis
    if shape is not None and (len(shape) < least or shape[axis] != length):
        raise ShapeError(
            f"{spell_layer(module)}: expected x of shape {form}, got {tuple(shape)}"
        )


def is_module(value: object) -> bool:
    """Returns True for a module, not for its class."""
    return hasattr(type(value), "named")  # isinstance of the Protocol is slower


def is_container(value: object) -> bool:
    """Returns True for a dict, a list or a tuple."""
    return isinstance(value, (dict, list, tuple))


def items_of(value: Any) -> Iterable[tuple[Any, Any]]:
    """Returns the items of a container, with their keys or positions."""
    return value.items() if isinstance(value, dict) else enumerate(value)  # pyright: ignore[reportUnknownVariableType]
