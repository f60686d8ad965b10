"""Folds of reshaped values become folds of the values, beside which they then run."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._fusable import folded_as, folded_axes
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Iterator


def straightened_folds(graph: Graph) -> Graph:
    """Folds over rows that a reshape has joined become folds over the axes before it.

    A layer's product sees ``(batch, length, width)`` as ``(batch * length, width)``; the
    sum for its bias needs no such view.

    Args:
        graph: Any graph.

    Returns:
        One of the same inputs and outputs.
    """
    before = {op.outputs[0].number: op for op in graph.operations if op.name == "reshape"}
    operations = [_straightened(op, before) for op in graph.operations]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _straightened(operation: Operation, before: dict[int, Operation]) -> Operation:
    """A fold of what was there before the reshapes, where it is the same."""
    if folded_as(operation) is None or operation.options.get("keepdims"):
        return operation
    x: Value = operation.args[0]
    rank = len(folded_axes(operation))
    if folded_axes(operation) != tuple(range(rank)):
        return operation
    for source in _sources(x, before):
        axes = len(source.shape) - len(x.shape) + rank
        if axes > 0 and source.shape[axes:] == x.shape[rank:] and prod(source.shape):
            options = {**operation.options, "axis": tuple(range(axes))}
            outputs = operation.outputs
            return Operation(operation.name, (source,), options, outputs, operation.where)
    return operation


def _sources(x: Value, before: dict[int, Operation]) -> Iterator[Value]:
    """What a value was reshaped from, the furthest first."""
    found: list[Value] = []
    while x.number in before and isinstance(before[x.number].args[0], Value):
        x = before[x.number].args[0]
        found.append(x)
    return reversed(found)
