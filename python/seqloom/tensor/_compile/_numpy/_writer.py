"""Writes the function that runs a layout: one line for each unit."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._numpy._direct import direct
from seqloom.tensor._compile._numpy._program import fused
from seqloom.tensor._compile._numpy._scan import Loop
from seqloom.tensor._compile._numpy._source import Source
from seqloom.tensor._compile._numpy._views import is_alias

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._numpy._layout import Layout
    from seqloom.tensor._compile._numpy._units import Unit
    from seqloom.tensor._graph import Graph, Operation, Value

    Array = NDArray[Any]

_SMALL = 16_384  # numbers: for fewer, one ufunc of NumPy's is quicker than a program
_ALIASING = frozenset({"flip", "sort", "astype", "matrix_transpose"})
_NESTED = frozenset({"adamw", "sgd", "clip_by_global_norm"})  # give lists of arrays


class Writer:
    """Writes a layout as the source of one function.

    Args:
        layout: What runs, and where it writes.
        backend: Whose functions are called.
        inner: Plans the body of a loop.
        poison: Fill memory with NaN as soon as its value is not needed any more.

    Attributes:
        source: The source, and the objects that it names.
    """

    def __init__(
        self,
        layout: Layout,
        backend: Backend,
        inner: Callable[[Graph], Callable[[list[Array]], list[Array]]],
        *,
        poison: bool,
    ) -> None:
        self._layout, self._backend, self._inner = layout, backend, inner
        graph = layout.graph
        given = {value.number for value in graph.inputs}
        self.source = Source(layout.memory, given, {*graph.constants, *layout.spans})
        self.source.scope.update(threads=backend.threads, own=_own, copied=_own)
        self._poison = poison
        self._write()

    def _write(self) -> None:
        """The whole function."""
        graph, source = self._layout.graph, self.source
        given = ", ".join(f"v{value.number}" for value in graph.inputs)
        source.lines.append(f"def run({given}):")
        self._straighten()
        for place, unit in enumerate(self._layout.units):
            self._unit(unit)
            if self._poison:
                self._forget(place)
        names = [self._leaving(place, value) for place, value in enumerate(graph.outputs)]
        source.write(f"return [{', '.join(names)}]")

    def _straighten(self) -> None:
        """Inputs that may come with gaps are copied."""
        donated = self._layout.graph.donated
        for place, value in enumerate(self._layout.graph.inputs):
            if place not in donated and not value.weak and len(value.shape) > 0:
                name = f"v{value.number}"
                bent = f"not {name}.flags.c_contiguous"
                if min(value.shape) <= 1:  # any step will do along such an axis
                    bent = f"{name}.strides != {_strides(value)}"
                self.source.write(f"if {bent}: {name} = copied({name})")

    def _unit(self, unit: Unit) -> None:
        """One line, after those that make what it needs."""
        operation = unit.operations[0]
        if unit.dtype is not None and not self._is_small(unit):
            self._program(unit)
        elif operation.name == "scan":
            self._loop(operation)
        else:
            self._call(operation, self._layout.stored(unit))

    def _is_small(self, unit: Unit) -> bool:
        """Whether a unit is one operation of NumPy's on few numbers."""
        function = direct(self._backend, unit.operations[0])
        small = len(unit.operations) == 1 and prod(unit.shape) < _SMALL
        return small and isinstance(function, np.ufunc)

    def _program(self, unit: Unit) -> None:
        """A fused group."""
        stored = {value.number for value in self._layout.stored(unit)}
        group = fused(unit, stored)
        inputs = "".join(f"{self.source.name(value)}, " for value in group.inputs)
        outputs = "".join(f"{self._room(value)}, " for value in group.outputs)
        names = "+".join(each.name for each in unit.operations)
        run = self.source.thing("fused", group.program.run)
        self.source.write(f"{run}(({inputs}), ({outputs}), threads)  # {names}")

    def _call(self, operation: Operation, stored: list[Value]) -> None:
        """A call of the backend's function, into the plan's memory where it takes that."""
        source = self.source
        function = source.thing(operation.name, direct(self._backend, operation))
        if stored:
            rooms = [self._room(value) for value in stored]
            out = rooms[0] if len(rooms) == 1 else f"({', '.join(rooms)})"
            source.write(source.call(function, operation, f"out={out}"))
            return
        call = source.call(function, operation)
        shares = operation.name in _ALIASING or is_alias(operation)
        call = f"own({call})" if shares else call
        self._assign(operation, call)

    def _assign(self, operation: Operation, call: str) -> None:
        """Names for what a call gives."""
        names = "".join(f"{self.source.defines(value)}, " for value in operation.outputs)
        nested = operation.name in _NESTED or operation.name == "scan"
        single = len(operation.outputs) == 1 and not nested
        call = f"flat({call})" if operation.name in _NESTED else call
        self.source.write(f"{names[:-2] if single else names} = {call}")

    def _loop(self, operation: Operation) -> None:
        """A loop over a plan of its own; its body finds the constants of the whole."""
        body, options = operation.options["body"], operation.options
        body.constants.update(self._layout.graph.constants)
        loop = Loop(self._inner(body), options["length"], reverse=options["reverse"])
        name = self.source.thing("loop", loop)
        given = ", ".join(self.source.argument(arg) for arg in operation.args)
        self._assign(operation, f"{name}({given})")

    def _room(self, value: Value) -> str:
        """The name of the memory that a value is written into; new where it leaves."""
        if value.number not in self._layout.fresh:
            return f"v{value.number}"
        dtype = self.source.function(f"dtype_{value.dtype.name}", value.dtype)
        name = self.source.defines(value)
        self.source.write(f"{name} = empty({value.shape}, {dtype})")
        return name

    def _leaving(self, place: int, value: Value) -> str:
        """What the function gives for an output."""
        name = self.source.name(value)
        return f"copied({name})" if place in self._layout.copied else name

    def _forget(self, place: int) -> None:
        """Overwrites what is needed no more."""
        spans = self._layout.spans.values()
        heirs = {span.over for span in spans}
        for span in spans:
            if span.last == place and span.number not in heirs:
                self.source.write(f"bytes{span.number}.fill(255)")


def _own(array: Any) -> Any:
    """An array that shares memory with no other, its numbers in order."""
    return np.copy(array, order="C")


def _strides(value: Value) -> tuple[int, ...]:
    """The steps in bytes of a new array of a value's shape."""
    return np.empty(value.shape, value.dtype).strides
