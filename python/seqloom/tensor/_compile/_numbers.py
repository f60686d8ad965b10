"""Casts the numbers of a call, for libraries that promote an array by its element type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._capture import NUMBERS_ALONE
from seqloom.tensor._graph import Graph, Operation, Value, map_values

if TYPE_CHECKING:
    import numpy as np


def cast_numbers(graph: Graph) -> Graph:
    """Casts each number, an array without axes, to the dtype of the array it meets."""
    weak = {value.number for value in graph.inputs if value.weak}
    casts: dict[tuple[int, np.dtype[Any]], Operation] = {}
    operations: list[Operation] = []
    first_free = _find_highest(graph) + 1

    def cast(value: Value, dtype: np.dtype[Any]) -> Value:
        if not value.weak:
            return value
        known = casts.get((value.number, dtype))
        if known is None:
            output = Value(first_free + len(casts), (), dtype)
            known = Operation("astype", (value, dtype), {}, (output,))
            casts[value.number, dtype] = known
            operations.append(known)
        return known.outputs[0]

    for operation in graph.operations:
        if operation.name not in NUMBERS_ALONE and _reads_number(operation, weak):
            dtype = _find_common_dtype(operation, weak)
            args = map_values(operation.args, lambda v, d=dtype: cast(v, d))
            operation = Operation(  # noqa: PLW2901
                operation.name, args, operation.options, operation.outputs, operation.where
            )
        operations.append(operation)
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _reads_number(operation: Operation, weak: set[int]) -> bool:
    """Returns True if an operation reads a number of the call."""
    return any(value.number in weak for value in operation.inputs())


def _find_common_dtype(operation: Operation, weak: set[int]) -> np.dtype[Any]:
    """Returns the dtype of the result; of a comparison, the dtype of the array."""
    dtype = operation.outputs[0].dtype
    if dtype.kind != "b":
        return dtype
    return next(v.dtype for v in operation.inputs() if v.number not in weak)


def _find_highest(graph: Graph) -> int:
    """Returns the largest number of a value."""
    outputs = (value for operation in graph.operations for value in operation.outputs)
    numbers = [value.number for value in (*graph.inputs, *outputs)]
    return max([*numbers, *graph.constants], default=0)
