"""Removes from a graph what does not have to be computed."""

from __future__ import annotations

from typing import Any

from seqloom.tensor._graph import Graph, Operation, Value, map_values
from seqloom.tensor._leaves import freeze

# Functions that change nothing if shape and dtype stay the same.
_IDLE = frozenset(
    {
        *("reshape", "broadcast_to", "astype", "asarray"),
        *("positive", "stop_gradient", "to_full_precision"),
    }
)


def simplify(graph: Graph) -> Graph:
    """Returns the graph without repeated operations, and without unused ones."""
    return _remove_unused(_remove_repeated(graph))


def _remove_repeated(graph: Graph) -> Graph:
    """Removes operations that change nothing, or that equal an earlier one."""
    replacements: dict[int, Value] = {}
    known: dict[Any, Operation] = {}
    kept: list[Operation] = []

    def replace(value: Value) -> Value:
        return replacements.get(value.number, value)

    for operation in graph.operations:
        args = map_values(operation.args, replace)
        current = Operation(
            operation.name, args, operation.options, operation.outputs, operation.where
        )
        if (same := _find_unchanged(current)) is not None:
            replacements[operation.outputs[0].number] = same
            continue
        first = known.setdefault(_identify(current), current)
        if first is current:
            kept.append(current)
        else:
            pairs = zip(operation.outputs, first.outputs, strict=True)
            replacements.update((old.number, new) for old, new in pairs)
    outputs = [replace(value) for value in graph.outputs]
    return Graph(graph.inputs, graph.constants, kept, outputs, graph.donated)


def _find_unchanged(operation: Operation) -> Value | None:
    """Returns the operand if the operation gives it back unchanged."""
    source = operation.args[0] if operation.args else None
    if not isinstance(source, Value) or source.weak:
        return None
    result = operation.outputs[0]
    if (source.shape, source.dtype) != (result.shape, result.dtype):
        return None
    # A copy is recorded as a product with Python's 1.
    is_copy = operation.name == "multiply" and _is_one(operation.args[1])
    return source if is_copy or operation.name in _IDLE else None


def _is_one(factor: object) -> bool:
    """Returns True for the integer 1; True and 1.0 may change the dtype."""
    return type(factor) is int and factor == 1


def _identify(operation: Operation) -> object:
    """Returns what is equal for equal operations; a loop equals no other."""
    if operation.name == "scan":
        return id(operation)
    args = map_values(operation.args, lambda value: ("%", value.number))
    return operation.name, freeze(args), freeze(operation.options)


def _remove_unused(graph: Graph) -> Graph:
    """Keeps only what the outputs depend on."""
    needed = {value.number for value in graph.outputs}
    kept: list[Operation] = []
    for operation in reversed(graph.operations):
        if any(value.number in needed for value in operation.outputs):
            kept.append(operation)
            needed.update(value.number for value in operation.inputs())
    constants = {n: array for n, array in graph.constants.items() if n in needed}
    return Graph(graph.inputs, constants, kept[::-1], graph.outputs, graph.donated)
