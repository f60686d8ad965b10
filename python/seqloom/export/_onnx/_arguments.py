"""Arguments of a recorded operation, which may be passed by name or by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from seqloom.tensor._graph import Operation


def option(operation: Operation, name: str, position: int, *, default: Any = None) -> Any:
    """Gives an argument that may be passed by name or by position."""
    if name in operation.options:
        return operation.options[name]
    return operation.args[position] if len(operation.args) > position else default


def as_list(arg: Any) -> list[Any]:
    """Gives one or several arguments as a list."""
    return list(cast("Any", arg)) if isinstance(arg, (list, tuple)) else [arg]


def axes_of(operation: Operation) -> list[int]:
    """Lists the axes of an operation; none of them: all."""
    axis = option(operation, "axis", 1)
    return [] if axis is None else as_list(axis)
