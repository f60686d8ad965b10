"""The numbers of each call as arrays, for libraries that would promote by them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._recorded import NUMBERS_ALONE
from seqloom.tensor._compile._simplify import mapped
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    import numpy as np


def cast_numbers(graph: Graph) -> Graph:
    """The graph with each number cast to the type of the array that it meets.

    Args:
        graph: Its weak inputs come as arrays of one element.

    Returns:
        A new graph, in which no number decides an element type.
    """
    weak = {value.number for value in graph.inputs if value.weak}
    made: dict[tuple[int, Any], Operation] = {}
    operations: list[Operation] = []
    free = _highest(graph) + 1

    def cast(value: Value, dtype: np.dtype[Any]) -> Value:
        known = made.get((value.number, dtype))
        if known is None:
            output = Value(free + len(made), (), dtype)
            known = Operation("astype", (value, dtype), {}, (output,))
            made[value.number, dtype] = known
            operations.append(known)
        return known.outputs[0]

    for operation in graph.operations:
        if operation.name not in NUMBERS_ALONE and _meets(operation, weak):
            dtype = _type_beside(operation, weak)
            args = mapped(operation.args, lambda v, d=dtype: cast(v, d) if v.weak else v)
            operation = Operation(  # noqa: PLW2901
                operation.name, args, operation.options, operation.outputs, operation.where
            )
        operations.append(operation)
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _meets(operation: Operation, weak: set[int]) -> bool:
    """Whether an operation reads a number of the call."""
    return any(value.number in weak for value in operation.inputs())


def _type_beside(operation: Operation, weak: set[int]) -> np.dtype[Any]:
    """The type that a number takes: the result's, of a comparison that of the array."""
    made = operation.outputs[0].dtype
    if made.kind != "b":
        return made
    return next(v.dtype for v in operation.inputs() if v.number not in weak)


def _highest(graph: Graph) -> int:
    """The largest number of a value."""
    made = (value for operation in graph.operations for value in operation.outputs)
    numbers = [value.number for value in (*graph.inputs, *made)]
    return max([*numbers, *graph.constants], default=0)
