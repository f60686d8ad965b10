"""Takes out of a graph what need not be computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.tensor._graph import Graph, Operation, Value
from seqloom.tensor._leaves import frozen

if TYPE_CHECKING:
    from collections.abc import Callable


def simplified(graph: Graph) -> Graph:
    """The graph without doubled operations, and without those that nothing needs.

    Args:
        graph: What was captured.

    Returns:
        A new graph of the same inputs and outputs.
    """
    return _without_unused(_without_doubles(graph))


def _without_doubles(graph: Graph) -> Graph:
    """Operations that change nothing, or equal an earlier one, give way."""
    instead: dict[int, Value] = {}
    known: dict[Any, Operation] = {}
    kept: list[Operation] = []

    def now(value: Value) -> Value:
        return instead.get(value.number, value)

    for operation in graph.operations:
        args = mapped(operation.args, now)
        renamed = Operation(
            operation.name, args, operation.options, operation.outputs, operation.where
        )
        if (same := _unchanged(renamed)) is not None:
            instead[operation.outputs[0].number] = same
            continue
        first = known.setdefault(_identity(renamed), renamed)
        if first is renamed:
            kept.append(renamed)
        else:
            pairs = zip(operation.outputs, first.outputs, strict=True)
            instead.update((old.number, new) for old, new in pairs)
    outputs = [now(value) for value in graph.outputs]
    return Graph(graph.inputs, graph.constants, kept, outputs, graph.donated)


# Functions that give the same values wherever shape and type stay as they are.
_IDLE = frozenset(
    {
        *("reshape", "broadcast_to", "astype", "asarray"),
        *("positive", "stop_gradient", "to_full_precision"),
    }
)


def _unchanged(operation: Operation) -> Value | None:
    """The value that an operation gives back as it is."""
    source = operation.args[0] if operation.args else None
    if not isinstance(source, Value) or source.weak:
        return None
    made = operation.outputs[0]
    if (source.shape, source.dtype) != (made.shape, made.dtype):
        return None
    by_one = operation.name == "multiply" and _is_one(operation.args[1])
    return source if by_one or operation.name in _IDLE else None


def _is_one(factor: Any) -> bool:
    """Whether a factor is Python's 1: a copy is written as a product with it."""
    return type(factor) is int and factor == 1


def _identity(operation: Operation) -> Any:
    """Equal for operations that compute the same; a loop is like no other."""
    if operation.name == "scan":
        return id(operation)
    args = mapped(operation.args, lambda value: ("%", value.number))
    return operation.name, frozen(args), frozen(operation.options)


def _without_unused(graph: Graph) -> Graph:
    """Only what the outputs depend on."""
    needed = {value.number for value in graph.outputs}
    kept: list[Operation] = []
    for operation in reversed(graph.operations):
        if any(value.number in needed for value in operation.outputs):
            kept.append(operation)
            needed.update(value.number for value in operation.inputs())
    constants = {n: each for n, each in graph.constants.items() if n in needed}
    return Graph(graph.inputs, constants, kept[::-1], graph.outputs, graph.donated)


def mapped(tree: Any, change: Callable[[Value], Any]) -> Any:
    """Nested lists and tuples with another thing for each value."""
    if isinstance(tree, Value):
        return change(tree)
    if type(tree) in (list, tuple):
        return type(tree)(mapped(each, change) for each in cast("list[Any]", tree))
    return tree


__all__ = ["mapped", "simplified"]
