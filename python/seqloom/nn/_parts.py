"""The parts of a module: modules, parameters and buffers with their paths."""

from __future__ import annotations

from collections import deque
from collections.abc import ValuesView
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

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


def _items(value: Any) -> Any:
    """What a container holds, with the key or the place of each."""
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).items()
    return enumerate(value)
