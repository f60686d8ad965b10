"""Inserts copies where one array would otherwise have two owners.

What a program returns belongs to the caller, and what it writes belongs to a leaf. The two
must not share memory, and an array must not be overwritten before its last reader.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._graph import Graph, Operation, Value, map_values, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Functions whose results may share the memory of their first argument.
_VIEWS = frozenset(
    {
        *("reshape", "permute_dims", "broadcast_to", "expand_dims", "squeeze", "index"),
        *("flip", "matrix_transpose", "unstack", "roll", "tile", "repeat"),
        *("astype", "asarray", "stop_gradient", "positive", "to_full_precision"),
    }
)
# Functions that may overwrite the arguments in these positions.
WRITES: dict[str, tuple[int, ...]] = {"adamw": (0, 2, 3), "sgd": (0, 2)}


def insert_copies(
    graph: Graph,
    shared: set[int],  # inputs that somebody may write later: state, and NumPy arrays
    state_count: int,  # so many outputs, the first ones, are the new state
    new_value: Callable[..., Value],
) -> Graph:
    """Returns the graph with a copy wherever memory would be shared or overwritten."""
    graph = _copy_outputs(graph, shared, state_count, new_value)
    return _copy_before_writes(graph, new_value)


def _copy_outputs(
    graph: Graph, shared: set[int], state_count: int, new_value: Callable[..., Value]
) -> Graph:
    """Copies results that share memory with state, and state that shares it at all."""
    roots = _find_roots(graph.operations)
    fixed = {value.number for value in graph.inputs} | set(graph.constants)
    used, copies, outputs = set[int](), list[Operation](), list[Value]()
    for position, value in enumerate(graph.outputs):
        root = roots.get(value.number, value.number)
        foreign = fixed if position < state_count else shared
        if root in foreign or root in used:
            copies.append(_make_copy(value, new_value))
            value = copies[-1].outputs[0]  # noqa: PLW2901
        used.add(root)
        outputs.append(value)
    operations = [*graph.operations, *copies]
    return Graph(graph.inputs, graph.constants, operations, outputs, graph.donated)


def _copy_before_writes(graph: Graph, new_value: Callable[..., Value]) -> Graph:
    """Copies what an operation would overwrite, unless it is the last reader and owner."""
    roots = _find_roots(graph.operations)
    last = _find_last_uses(graph, roots)
    donated = {graph.inputs[position].number for position in graph.donated}
    own = donated | {v.number for op in graph.operations for v in op.outputs}
    operations: list[Operation] = []
    for position, operation in enumerate(graph.operations):
        copies: dict[int, Operation] = {}
        for value in _find_written(operation):
            root = roots.get(value.number, value.number)
            is_free = root == value.number and root in own and last[root] <= position
            if not is_free:
                copies[value.number] = _make_copy(value, new_value)
        operations += [*copies.values(), _read_copies(operation, copies)]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _find_written(operation: Operation) -> Iterator[Value]:
    """Yields the values that an operation may overwrite."""
    for position in WRITES.get(operation.name, ()):
        yield from values_in(operation.args[position])


def _read_copies(operation: Operation, copies: dict[int, Operation]) -> Operation:
    """Returns an operation that reads the copies instead of the values."""
    if not copies:
        return operation

    def replace(value: Value) -> Value:
        copy = copies.get(value.number)
        return value if copy is None else copy.outputs[0]

    args = map_values(operation.args, replace)
    return Operation(
        operation.name, args, operation.options, operation.outputs, operation.where
    )


def _find_roots(operations: list[Operation]) -> dict[int, int]:
    """Finds for each value that may be a view the value whose memory it may share."""
    roots: dict[int, int] = {}
    for operation in operations:
        sources = list(values_in(operation.args[:1])) if operation.name in _VIEWS else []
        for value in operation.outputs if sources else ():
            number = sources[0].number
            roots[value.number] = roots.get(number, number)
    return roots


def _find_last_uses(graph: Graph, roots: dict[int, int]) -> dict[int, int]:
    """Finds the last position where each memory is read; outputs are read at the end."""
    last: dict[int, int] = {}
    for position, operation in enumerate(graph.operations):
        for value in operation.inputs():
            last[roots.get(value.number, value.number)] = position
    for value in graph.outputs:
        last[roots.get(value.number, value.number)] = len(graph.operations)
    return last


def _make_copy(value: Value, new_value: Callable[..., Value]) -> Operation:
    """Returns an operation that copies a value."""
    args: tuple[Any, ...] = (value, 1)
    name = "multiply"
    if value.dtype == np.bool_:
        name, args = "logical_or", (value, value)
    return Operation(name, args, {}, (new_value(value.shape, value.dtype),), "copy")
