"""Recorder: the graph of a step while it is captured, and of the loops in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._symbol import Symbol, SymbolKey
from seqloom.tensor._graph import Graph, Operation, Value, values_in
from seqloom.tensor._origin import current_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._backend import Array, Backend

    Body = Callable[[list[Symbol], list[Symbol]], tuple[Sequence[Array], Sequence[Array]]]

Kind = tuple[tuple[int, ...], np.dtype[Any]]


class Recorder:
    """Adds values, constants and operations to a graph."""

    def __init__(self, target: Backend) -> None:
        self.graph = self.root = Graph()  # `graph` is the body while a loop is recorded
        self._target = target
        self._count = 0
        # The array is kept, or another one could get its id.
        self._constants: dict[int, tuple[Value, Array]] = {}

    def new_value(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] | str, *, weak: bool = False
    ) -> Value:
        """Makes a value that differs from all others."""
        self._count += 1
        return Value(self._count - 1, tuple(shape), np.dtype(dtype), weak)

    def new_input(
        self, shape: tuple[int, ...], dtype: np.dtype[Any] | str, *, weak: bool = False
    ) -> Symbol:
        """Adds an input to the graph."""
        value = self.new_value(shape, dtype, weak=weak)
        self.graph.inputs.append(value)
        return Symbol(value)

    def write(
        self, name: str, args: tuple[Any, ...], options: dict[str, Any], kinds: list[Kind]
    ) -> list[Symbol]:
        """Adds an operation whose results have the given shapes and dtypes."""
        outputs = tuple(self.new_value(shape, dtype) for shape, dtype in kinds)
        operation = Operation(name, args, options, outputs, current_line())
        self.graph.operations.append(operation)
        return [Symbol(value) for value in outputs]

    def to_value(self, arg: Any) -> Any:
        """Returns an argument with a value instead of each symbol and array in it."""
        if isinstance(arg, Symbol):
            return arg.value
        if isinstance(arg, SymbolKey):
            return arg.symbol.value
        if type(arg) in (list, tuple):
            return type(arg)(self.to_value(part) for part in arg)
        return self._find_constant(arg) if _is_array(arg) else arg

    def to_values(self, arrays: Sequence[Array]) -> list[Value]:
        """Returns the values of symbols and arrays."""
        return [self.to_value(array) for array in arrays]

    def _find_constant(self, array: Array) -> Value:
        """Returns the value of an array that is the same at every call."""
        known = self._constants.get(id(array))
        if known is None:
            own = self._target.asarray(array)
            value = self.new_value(own.shape, self._target.dtype(own))
            self.root.constants[value.number] = own
            known = self._constants[id(array)] = (value, array)
        return known[0]

    def write_scan(
        self,
        body: Body,
        init: Sequence[Array],
        xs: Sequence[Array],
        *,
        length: int,
        reverse: bool,
    ) -> tuple[list[Symbol], list[Symbol]]:
        """Adds a loop as one operation, with its body as a graph of its own."""
        first, rows = self.to_values(init), self.to_values(xs)
        graph = self._record_body(body, first, rows)
        around = _find_free(graph)
        graph.inputs += around
        carry, outputs = graph.outputs[: len(first)], graph.outputs[len(first) :]
        kinds = [(value.shape, value.dtype) for value in carry]
        kinds += [((length, *value.shape), value.dtype) for value in outputs]
        options = {"body": graph, "length": length, "reverse": reverse}
        results = self.write("scan", (first, rows, around), options, kinds)
        return results[: len(first)], results[len(first) :]

    def _record_body(self, body: Body, init: list[Value], xs: list[Value]) -> Graph:
        """Returns the graph of one iteration."""
        outer, self.graph = self.graph, Graph()
        try:
            carry = [self.new_input(value.shape, value.dtype) for value in init]
            row = [self.new_input(value.shape[1:], value.dtype) for value in xs]
            carry_out, outputs = body(carry, row)
            self.graph.outputs = [*self.to_values(carry_out), *self.to_values(outputs)]
            return self.graph
        finally:
            self.graph = outer


def _find_free(graph: Graph) -> list[Value]:
    """Returns the values that a body reads and does not compute, each once."""
    known = {value.number for value in graph.inputs}
    free: dict[int, Value] = {}
    for operation in graph.operations:
        for value in operation.inputs():
            if value.number not in known:
                free[value.number] = value
        known |= {value.number for value in operation.outputs}
    free |= {v.number: v for v in values_in(graph.outputs) if v.number not in known}
    return list(free.values())


def _is_array(arg: object) -> bool:
    """Returns True for an array of any library; types have its attributes too."""
    return hasattr(arg, "shape") and hasattr(arg, "dtype") and not isinstance(arg, type)


__all__ = ["Kind", "Recorder"]
