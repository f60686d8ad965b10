"""Copies where one array would otherwise serve two owners.

What a program returns belongs to the caller, what it writes belongs to a leaf: the two may
not share memory, nor may an array be written that is read later. The functions here find
such places in a graph, and put copies there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._simplify import mapped
from seqloom.tensor._graph import Graph, Operation, Value, values_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# Functions whose results may share the memory of their first argument.
VIEWS = frozenset(
    {
        *(
            "reshape",
            "permute_dims",
            "broadcast_to",
            "expand_dims",
            "squeeze",
            "index",
            "flip",
        ),
        *("matrix_transpose", "unstack", "roll", "tile", "repeat"),
        *("astype", "asarray", "stop_gradient", "positive", "to_full_precision"),
    }
)
# Functions that may write into some of their arguments: the places of those.
WRITES: dict[str, tuple[int, ...]] = {"adamw": (0, 2, 3), "sgd": (0, 2)}


def separated(
    graph: Graph, kept: set[int], written: int, new: Callable[..., Value]
) -> Graph:
    """The graph with a copy wherever memory would be shared or written too early.

    Args:
        graph: Its first `written` outputs are the new state.
        kept: Numbers of the inputs that somebody may write later: state, and the arrays of
            NumPy that the call was given.
        written: How many outputs are state.
        new: Makes a value from a shape and an element type.

    Returns:
        A new graph.
    """
    apart = _outputs_apart(graph, kept, written, new)
    return _writes_apart(apart, new)


def _outputs_apart(
    graph: Graph, kept: set[int], written: int, new: Callable[..., Value]
) -> Graph:
    """No output shares memory with what is kept, nor the new state with anything."""
    roots = _roots(graph.operations)
    fixed = {value.number for value in graph.inputs} | set(graph.constants)
    taken, copies, outputs = set[int](), list[Operation](), list[Value]()
    for place, value in enumerate(graph.outputs):
        root = roots.get(value.number, value.number)
        foreign = fixed if place < written else kept
        if root in foreign or root in taken:
            copies.append(_copy(value, new))
            value = copies[-1].outputs[0]  # noqa: PLW2901
        taken.add(root)
        outputs.append(value)
    operations = [*graph.operations, *copies]
    return Graph(graph.inputs, graph.constants, operations, outputs, graph.donated)


def _writes_apart(graph: Graph, new: Callable[..., Value]) -> Graph:
    """What an operation may write is read by none after it, and belongs to the program."""
    roots = _roots(graph.operations)
    last = _last_uses(graph, roots)
    donated = {graph.inputs[place].number for place in graph.donated}
    mine = donated | {v.number for op in graph.operations for v in op.outputs}
    operations: list[Operation] = []
    for place, operation in enumerate(graph.operations):
        copies: dict[int, Operation] = {}
        for value in _written_by(operation):
            root = roots.get(value.number, value.number)
            free = root == value.number and root in mine and last[root] <= place
            if not free:
                copies[value.number] = _copy(value, new)
        operations += [*copies.values(), _reading(operation, copies)]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _written_by(operation: Operation) -> Iterator[Value]:
    """The values that an operation may write into."""
    for place in WRITES.get(operation.name, ()):
        yield from values_in(operation.args[place])


def _reading(operation: Operation, copies: dict[int, Operation]) -> Operation:
    """An operation that reads copies in place of some values."""
    if not copies:
        return operation

    def now(value: Value) -> Value:
        made = copies.get(value.number)
        return value if made is None else made.outputs[0]

    args = mapped(operation.args, now)
    return Operation(
        operation.name, args, operation.options, operation.outputs, operation.where
    )


def _roots(operations: list[Operation]) -> dict[int, int]:
    """Of each value that may be a view, whose memory it may share."""
    found: dict[int, int] = {}
    for operation in operations:
        sources = list(values_in(operation.args[:1])) if operation.name in VIEWS else []
        for value in operation.outputs if sources else ():
            number = sources[0].number
            found[value.number] = found.get(number, number)
    return found


def _last_uses(graph: Graph, roots: dict[int, int]) -> dict[int, int]:
    """Where each memory is read last; an output is read after everything."""
    found: dict[int, int] = {}
    for place, operation in enumerate(graph.operations):
        for value in operation.inputs():
            found[roots.get(value.number, value.number)] = place
    for value in graph.outputs:
        found[roots.get(value.number, value.number)] = len(graph.operations)
    return found


def _copy(value: Value, new: Callable[..., Value]) -> Operation:
    """An operation that gives the same values in memory of their own."""
    args: tuple[Any, ...] = (value, 1)
    name = "multiply"
    if value.dtype == np.bool_:
        name, args = "logical_or", (value, value)
    return Operation(name, args, {}, (new(value.shape, value.dtype),), "copy")
