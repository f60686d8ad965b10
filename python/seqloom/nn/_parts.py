"""The parts of a module: modules, parameters and buffers with their paths."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.nn._stored import Stored
from seqloom.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Mapping

Found = list[tuple[str, Any]]

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


def _items(value: Any) -> Any:
    """What a container holds, with the key or the place of each."""
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).items()
    return enumerate(value)
