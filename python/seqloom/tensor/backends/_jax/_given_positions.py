"""Looking at the indices and labels that a compiled step is given, before it runs.

A program of XLA cannot refuse anything. Indices nearly always are arguments, or follow from
them in a few steps over integers; these steps are done once more, by NumPy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._backend import backend
from seqloom.tensor._graph import Value, map_values, values_in
from seqloom.tensor.backends._jax._positions import (
    JaxPositions,
    find_positions,
    require_bounds,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Array
    from seqloom.tensor._compile import Graph
    from seqloom.tensor._graph import Operation

# What makes indices of integers, and costs little beside the operation that reads.
# fmt: off
_STEPS = frozenset({
    "abs", "add", "astype", "broadcast_to", "clip", "concat", "equal", "expand_dims",
    "flip", "floor_divide", "greater", "greater_equal", "index", "less", "less_equal",
    "logical_and", "logical_not", "logical_or", "maximum", "minimum", "moveaxis",
    "multiply", "negative", "not_equal", "permute_dims", "remainder", "reshape", "squeeze",
    "stack", "stop_gradient", "subtract", "take", "where",
})
# fmt: on
_WHOLE = "biu"  # kinds of integers and truths


class GivenPositions:
    """The indices of a graph that its inputs tell.

    Args:
        graph: A step.
    """

    def __init__(self, graph: Graph) -> None:
        self._made = {v.number: op for op in graph.operations for v in op.outputs}
        self._known = {
            number: np.asarray(array)
            for number, array in graph.constants.items()
            if np.dtype(array.dtype).kind in _WHOLE
        }
        # What the step writes may still be computed: to look at it would be to wait.
        self._inputs = {
            value.number: position
            for position, value in enumerate(graph.inputs)
            if position not in graph.donated and _is_whole(value)
        }
        self._told: dict[int, bool] = {}
        self._positions = list(self._find_positions(graph).values())
        self._bounds = [op for op in graph.operations if self._has_told_bounds(op)]

    def require(self, arrays: Sequence[Array]) -> None:
        """Refuses inputs by which an index names no place.

        Raises:
            OutOfRangeError: An index, or a label, is out of range.
            ArgumentError: Bounds of packed sequences do not fit.
        """
        known = dict(self._known)
        for position in self._positions:
            position.require(self._values(position.array, known, arrays))
        for operation in self._bounds:
            bounds = self._values(operation.args[-1], known, arrays)
            longest = operation.options["max_seqlen"]
            require_bounds(bounds, operation.args[0].shape[0], longest)

    def _find_positions(self, graph: Graph) -> dict[Any, JaxPositions]:
        """The indices that can be told, each once."""
        found: dict[Any, JaxPositions] = {}
        for operation in graph.operations:
            for position in find_positions(
                operation.name, operation.args, operation.options
            ):
                if isinstance(position.array, Value) and self._tells(position.array):
                    name = (
                        f"{operation.where}: {position.name}"
                        if operation.where
                        else position.name
                    )
                    key = position.array.number, position.size, position.from_end
                    found.setdefault(key, position._replace(name=name))
        return found

    def _has_told_bounds(self, operation: Operation) -> bool:
        """Whether an operation is attention whose bounds can be told."""
        return operation.name == "attention_varlen" and self._tells(operation.args[-1])

    def _tells(self, value: Value) -> bool:
        """Whether a value follows from the inputs by a few steps over integers."""
        number = value.number
        if number in self._inputs:
            return True
        if number in self._known or number not in self._made:
            return number in self._known
        if number not in self._told:
            operation = self._made[number]
            steps = operation.name in _STEPS and _is_whole(value)
            self._told[number] = steps and all(map(self._tells, operation.inputs()))
        return self._told[number]

    def _values(self, value: Value, known: dict[int, Any], arrays: Sequence[Array]) -> Any:
        """The numbers of a value that can be told."""
        number = value.number
        if number not in known and number in self._inputs:
            known[number] = np.asarray(arrays[self._inputs[number]])
        if number not in known:
            operation = self._made[number]
            for each in values_in(operation.args):
                self._values(each, known, arrays)
            args = map_values(operation.args, lambda value: known[value.number])
            step: Any = getattr(backend("numpy"), operation.name)
            known[number] = step(*args, **operation.options)
        return known[number]


def _is_whole(value: Value) -> bool:
    """Whether a value is of integers or truths."""
    return not value.weak and value.dtype.kind in _WHOLE
