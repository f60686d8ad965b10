"""Writes the function that runs a layout: one line for each group."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._numpy._aliases import is_alias
from seqloom.tensor._compile._numpy._functions import find_function
from seqloom.tensor._compile._numpy._fuse import fuse
from seqloom.tensor._compile._numpy._source import SourceText

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._numpy._groups import OperationGroup
    from seqloom.tensor._compile._numpy._layout import Layout
    from seqloom.tensor._graph import Graph, Operation, Value

    Array = NDArray[Any]
    Run = Callable[[list[Array]], list[Array]]

_SMALL = 16_384  # elements: for fewer, a ufunc of NumPy's is faster than a fused program
_ALIASING = frozenset({"flip", "sort", "astype", "matrix_transpose"})
_NESTED = frozenset({"adamw", "sgd", "clip_by_global_norm"})  # give lists of arrays


class Writer:
    """Writes a layout as the source of one function, `run`."""

    def __init__(
        self,
        layout: Layout,
        backend: Backend,
        make_inner: Callable[[Graph], Run],  # makes the program of a loop's body
        *,
        poison: bool,
    ) -> None:
        self._layout, self._backend, self._make_inner = layout, backend, make_inner
        graph = layout.graph
        inputs = {value.number for value in graph.inputs}
        fixed = {*graph.constants, *layout.spans}
        self.source = SourceText(layout.aliases, inputs, fixed)
        self.source.scope.update(threads=backend.threads, own=_copy, copied=_copy)
        self._poison = poison
        self._write()

    def _write(self) -> None:
        """Writes the whole function."""
        graph, source = self._layout.graph, self.source
        parameters = ", ".join(f"v{value.number}" for value in graph.inputs)
        source.lines.append(f"def run({parameters}):")
        self._write_input_copies()
        for position, group in enumerate(self._layout.groups):
            self._write_group(group)
            if self._poison:
                self._write_poison(position)
        names = [self._name_output(at, value) for at, value in enumerate(graph.outputs)]
        source.write(f"return [{', '.join(names)}]")

    def _write_input_copies(self) -> None:
        """Copies each input that is not contiguous."""
        donated = self._layout.graph.donated
        for position, value in enumerate(self._layout.graph.inputs):
            if position not in donated and not value.weak and len(value.shape) > 0:
                name = f"v{value.number}"
                is_strided = f"not {name}.flags.c_contiguous"
                if min(value.shape) <= 1:  # NumPy ignores the strides of such an axis
                    is_strided = f"{name}.strides != {_find_strides(value)}"
                self.source.write(f"if {is_strided}: {name} = copied({name})")

    def _write_group(self, group: OperationGroup) -> None:
        """Writes the line of a group, after the lines that make its arguments."""
        operation = group.operations[0]
        if group.dtype is not None and not self._is_small_ufunc(group):
            self._write_fused(group, group.dtype)
        elif operation.name == "scan":
            self._write_loop(operation)
        else:
            self._write_call(operation, self._layout.list_stored(group))

    def _is_small_ufunc(self, group: OperationGroup) -> bool:
        """Returns True if a group is one ufunc of NumPy's on few elements."""
        function = find_function(self._backend, group.operations[0])
        is_small = len(group.operations) == 1 and prod(group.shape) < _SMALL
        return is_small and isinstance(function, np.ufunc)

    def _write_fused(self, group: OperationGroup, dtype: str) -> None:
        """Writes the call of a fused program."""
        stored = {value.number for value in self._layout.list_stored(group)}
        fused = fuse(group.operations, dtype, stored)
        inputs = "".join(f"{self.source.name(value)}, " for value in fused.inputs)
        outputs = "".join(f"{self._name_result(value)}, " for value in fused.outputs)
        names = "+".join(operation.name for operation in group.operations)
        run = self.source.bind("fused", fused.program.run)
        self.source.write(f"{run}(({inputs}), ({outputs}), threads)  # {names}")

    def _write_call(self, operation: Operation, stored: list[Value]) -> None:
        """Writes the call of a backend's function, with `out=` where it takes that."""
        source = self.source
        function = source.bind(operation.name, find_function(self._backend, operation))
        if stored:
            names = [self._name_result(value) for value in stored]
            out = names[0] if len(names) == 1 else f"({', '.join(names)})"
            source.write(source.call(function, operation, f"out={out}"))
            return
        call = source.call(function, operation)
        shares_memory = operation.name in _ALIASING or is_alias(operation)
        self._write_assignment(operation, f"own({call})" if shares_memory else call)

    def _write_assignment(self, operation: Operation, call: str) -> None:
        """Writes a line that names the results of a call."""
        names = "".join(f"{self.source.define(value)}, " for value in operation.outputs)
        is_nested = operation.name in _NESTED or operation.name == "scan"
        is_single = len(operation.outputs) == 1 and not is_nested
        call = f"flatten({call})" if operation.name in _NESTED else call
        self.source.write(f"{names[:-2] if is_single else names} = {call}")

    def _write_loop(self, operation: Operation) -> None:
        """Writes the call of a loop; its body also reads the constants of the graph."""
        body, options = operation.options["body"], operation.options
        body.constants.update(self._layout.graph.constants)
        length, reverse = options["length"], options["reverse"]
        name = self.source.bind("loop", ScanLoop(self._make_inner(body), length, reverse))
        args = ", ".join(self.source.argument(arg) for arg in operation.args)
        self._write_assignment(operation, f"{name}({args})")

    def _name_result(self, value: Value) -> str:
        """Returns the name of the array that a value is written into."""
        if value.number not in self._layout.fresh:
            return f"v{value.number}"
        dtype = f"dtype_{value.dtype.name}_"
        self.source.scope[dtype] = value.dtype
        name = self.source.define(value)
        self.source.write(f"{name} = empty({value.shape}, {dtype})")
        return name

    def _name_output(self, position: int, value: Value) -> str:
        """Returns the source of an output."""
        name = self.source.name(value)
        return f"copied({name})" if position in self._layout.copied else name

    def _write_poison(self, position: int) -> None:
        """Overwrites the memory that nothing reads after the group at a position."""
        spans = self._layout.spans.values()
        reused = {span.over for span in spans}
        for span in spans:
            if span.last == position and span.number not in reused:
                self.source.write(f"bytes{span.number}.fill(255)")


class ScanLoop:
    """Runs the program of a body once for each slice, and passes the carry on."""

    def __init__(self, body: Run, length: int, reverse: bool) -> None:  # noqa: FBT001
        self._body = body
        self._positions = range(length)[:: -1 if reverse else 1]

    def __call__(
        self, init: list[Array], xs: list[Array], around: list[Array]
    ) -> list[Array]:
        """Returns the last carry, and the stacked results of all iterations."""
        carry, stacks = list(init), list["Array"]()
        for iteration, position in enumerate(self._positions):
            results = self._body([*carry, *(x[position] for x in xs), *around])
            carry, rows = results[: len(init)], results[len(init) :]
            if iteration == 0:
                length = len(self._positions)
                stacks = [np.empty((length, *row.shape), row.dtype) for row in rows]
            for stack, row in zip(stacks, rows, strict=True):
                stack[position] = row
        return [*carry, *stacks]


def _copy(array: Array) -> Array:
    """Returns a contiguous copy."""
    return np.copy(array, order="C")


def _find_strides(value: Value) -> tuple[int, ...]:
    """Returns the strides of a new array of a value's shape."""
    return np.empty(value.shape, value.dtype).strides
