"""Writes the source code of a function that runs the groups of a layout."""

from __future__ import annotations

from functools import partial
from math import isfinite, prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._compile._numpy._fuse import fuse_group
from seqloom.tensor._compile._numpy._groups import is_alias, make_view
from seqloom.tensor._compile._numpy._layout import find_fastest
from seqloom.tensor._graph import LIST_RESULTS, Value, flatten

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._numpy._groups import Aliases, OperationGroup
    from seqloom.tensor._compile._numpy._layout import Layout
    from seqloom.tensor._graph import Graph, Operation

    Array = NDArray[np.generic]
    Run = Callable[[list[Array]], list[Array]]


# Number of elements below which a NumPy ufunc is faster than a fused program.
_MIN_FUSED_ELEMENTS = 16_384
_ALIASING_OPERATIONS = frozenset({"flip", "sort", "astype", "matrix_transpose"})


class ProgramWriter:
    """Writes the source code of a function `run`, which runs a layout."""

    def __init__(
        self,
        layout: Layout,
        backend: Backend,
        make_inner: Callable[[Graph], Run],  # Compiles the body of a loop.
        *,
        poison: bool,
    ) -> None:
        self._layout, self._backend, self._make_inner = layout, backend, make_inner
        graph = layout.graph
        inputs = {value.number for value in graph.inputs}
        fixed = {*graph.constants, *layout.spans}
        self.source = SourceText(layout.aliases, inputs, fixed)
        self.source.scope.update(
            threads=backend.threads, own=_copy_contiguous, copied=_copy_contiguous
        )
        self._poison = poison
        graph, source = self._layout.graph, self.source
        parameters = ", ".join(f"v{value.number}" for value in graph.inputs)
        source.lines.append(f"def run({parameters}):")
        donated = self._layout.graph.donated
        for position, value in enumerate(self._layout.graph.inputs):
            if position not in donated and not value.weak and len(value.shape) > 0:
                name = f"v{value.number}"
                is_strided = f"not {name}.flags.c_contiguous"
                # NumPy ignores the strides of axes of length 1.
                if min(value.shape) <= 1:
                    strides = np.empty(value.shape, value.dtype).strides
                    is_strided = f"{name}.strides != {strides}"
                self.source.write(f"if {is_strided}: {name} = copied({name})")
        for position, group in enumerate(self._layout.groups):
            self._write_group(group, self._layout.stored[position])
            if self._poison:
                self._write_poison(position)
        names = [source.name(value) for value in graph.outputs]
        for position in self._layout.copied:
            names[position] = f"copied({names[position]})"
        source.write(f"return [{', '.join(names)}]")

    def _write_group(self, group: OperationGroup, stored: list[Value]) -> None:
        """Write the line that runs a group, after the lines that create its arguments."""
        operation = group.operations[0]
        function = find_fastest(self._backend, operation)
        is_small = len(group.operations) == 1 and prod(group.shape) < _MIN_FUSED_ELEMENTS
        is_small_ufunc = is_small and isinstance(function, np.ufunc)
        if group.dtype is not None and not is_small_ufunc:
            fused = fuse_group(
                group.operations, group.dtype, {value.number for value in stored}
            )
            inputs = "".join(f"{self.source.name(value)}, " for value in fused.inputs)
            outputs = "".join(f"{self._name_result(value)}, " for value in fused.outputs)
            names = "+".join(operation.name for operation in group.operations)
            run = self.source.store("fused", fused.program.run)
            self.source.write(f"{run}(({inputs}), ({outputs}), threads)  # {names}")
        elif operation.name == "scan":
            self._write_loop(operation)
        else:
            self._write_call(operation, stored)

    def _write_call(self, operation: Operation, stored: list[Value]) -> None:
        """Write the call of a backend function, with `out=` if the function accepts it."""
        source = self.source
        function = source.store(operation.name, find_fastest(self._backend, operation))
        if stored:
            names = [self._name_result(value) for value in stored]
            out = names[0] if len(names) == 1 else f"({', '.join(names)})"
            source.write(source.call(function, operation, f"out={out}"))
            return
        call = source.call(function, operation)
        shares_memory = operation.name in _ALIASING_OPERATIONS or is_alias(operation)
        self._write_assignment(operation, f"own({call})" if shares_memory else call)

    def _write_assignment(self, operation: Operation, call: str) -> None:
        """Write a line that assigns the results of a call."""
        names = "".join(f"{self.source.define(value)}, " for value in operation.outputs)
        is_nested = operation.name in LIST_RESULTS or operation.name == "scan"
        is_single = len(operation.outputs) == 1 and not is_nested
        call = f"flatten({call})" if operation.name in LIST_RESULTS else call
        self.source.write(f"{names[:-2] if is_single else names} = {call}")

    def _write_loop(self, operation: Operation) -> None:
        """Write the call of a loop; the loop body also reads constants of the graph."""
        body, options = operation.options["body"], operation.options
        body.constants.update(self._layout.graph.constants)
        length, reverse = options["length"], options["reverse"]
        name = self.source.store("loop", ScanLoop(self._make_inner(body), length, reverse))
        args = ", ".join(self.source.render(arg) for arg in operation.args)
        self._write_assignment(operation, f"{name}({args})")

    def _name_result(self, value: Value) -> str:
        """Return the name of the array to which a value is written."""
        if value.number not in self._layout.fresh:
            return f"v{value.number}"
        dtype = f"dtype_{value.dtype.name}_"
        self.source.scope[dtype] = value.dtype
        name = self.source.define(value)
        self.source.write(f"{name} = empty({value.shape}, {dtype})")
        return name

    def _write_poison(self, position: int) -> None:
        """Write lines that overwrite the memory that no later group reads."""
        spans = self._layout.spans.values()
        reused = {span.over for span in spans}
        for span in spans:
            if span.last == position and span.number not in reused:
                self.source.write(f"bytes{span.number}.fill(255)")


class ScanLoop:
    """Runs the program of a loop body for each slice, and passes on the carried values."""

    def __init__(self, body: Run, length: int, reverse: bool) -> None:  # noqa: FBT001
        self._body = body
        self._positions = range(length)[:: -1 if reverse else 1]

    def __call__(
        self, init: list[Array], xs: list[Array], around: list[Array]
    ) -> list[Array]:
        """Return the last carried values, and the stacked results of all iterations."""
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


def _copy_contiguous(array: Array) -> Array:
    """Return a contiguous copy."""
    return np.copy(array, order="C")


class SourceText:
    """Lines of source code, and the names of values, views and other objects."""

    def __init__(self, aliases: Aliases, inputs: set[int], fixed: set[int]) -> None:
        # Numbers of values whose memory is the same at every call.
        self.lines: list[str] = []
        # Names of views of fixed memory, which are created only once.
        self.views: list[Operation] = []
        self.scope: dict[str, Any] = {"empty": np.empty, "flatten": flatten}
        self._names: dict[int, str] = {}  # Names of objects by id.
        self._aliases = aliases
        self._fixed = fixed
        self._defined = inputs | fixed  # Values to which a name was assigned.

    def write(self, line: str) -> None:
        """Add a line to the body of the function `run`."""
        self.lines.append(f"    {line}")

    def define(self, value: Value) -> str:
        """Return a new name for a value, which the next line assigns."""
        self._defined.add(value.number)
        return f"v{value.number}"

    def name(self, value: Value) -> str:
        """Return the name of a value; at the first use of a view, write its definition."""
        number = value.number
        if number not in self._defined and number in self._aliases.views:
            operation = self._aliases.views[number]
            source = self.name(operation.args[0])
            if operation.args[0].number in self._fixed:
                self._fixed = self._fixed | {number}
                self._defined.add(number)
                self.views.append(operation)
            else:
                self.write(f"{self.define(value)} = {self._write_view(operation, source)}")
        return f"v{number}"

    def _write_view(self, operation: Operation, source: str) -> str:
        """Return the source code of a view."""
        suffixes = {
            "reshape": f".reshape({operation.outputs[0].shape})",
            "permute_dims": f".transpose({operation.args[-1]})",
            "matrix_transpose": ".mT",
            "stop_gradient": "",
            "astype": "",
        }
        if operation.name in suffixes:
            return source + suffixes[operation.name]
        name = f"view{operation.outputs[0].number}"
        self.scope[name] = partial(make_view, operation)
        return f"{name}({source})"

    def render(self, arg: object) -> str:
        """Return the source code of an argument."""
        if isinstance(arg, Value):
            return self.name(arg)
        if type(arg) in (list, tuple):
            parts = [f"{self.render(part)}, " for part in cast("list[object]", arg)]
            inside = "".join(parts)
            return f"[{inside}]" if type(arg) is list else f"({inside})"
        if arg is None or type(arg) in (int, bool, str, float):
            # Python has no literals for NaN and infinity.
            is_special = type(arg) is float and not isfinite(arg)
            return f'float("{arg!r}")' if is_special else repr(arg)
        return self.store("plain", arg)

    def store(self, kind: str, thing: object) -> str:
        """Store an object among the names that `run` can use, and return its name."""
        name = self._names.setdefault(id(thing), f"{kind}_{len(self.scope)}")
        # Keep the object alive, so that its id remains unique.
        self.scope[name] = thing
        return name

    def call(self, function: str, operation: Operation, *more: str) -> str:
        """Return the source code of a call with an operation's arguments."""
        args = [self.render(arg) for arg in operation.args]
        args += [f"{key}={self.render(arg)}" for key, arg in operation.options.items()]
        return f"{function}({', '.join([*args, *more])})"
