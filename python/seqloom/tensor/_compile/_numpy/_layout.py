"""What a plan runs in which order, and in whose memory each value lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._arena import placed
from seqloom.tensor._compile._numpy._direct import direct, takes_out
from seqloom.tensor._compile._numpy._leaving import Leaving
from seqloom.tensor._compile._numpy._lifetimes import spans_of
from seqloom.tensor._compile._numpy._memory import Memory
from seqloom.tensor._compile._numpy._units import Grouping, sort_units

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._compile._graph import Graph, Value
    from seqloom.tensor._compile._numpy._units import Unit


class Layout:
    """A graph, grouped and placed.

    Attributes:
        graph: What is computed.
        memory: Which values share memory.
        units: What runs, in order.
        leaving: How the outputs leave.
        spans: Where each value lies that the plan keeps in its own memory, and how long.
        nbytes: The size of that memory.
    """

    def __init__(self, graph: Graph, backend: Backend) -> None:
        self.graph = graph
        self.memory = Memory(graph)
        self.units = self._grouped()
        self._backend = backend
        self._needed = self._needed_elsewhere()
        made = {value.number for unit in self.units for value in self.stored(unit)}
        self.leaving = Leaving(graph, self.memory, made)
        self.spans = spans_of(
            self.units, self.memory, made - self.leaving.fresh, graph.outputs
        )
        self.nbytes = placed(self.spans)

    def _grouped(self) -> list[Unit]:
        """The units in the order in which they run; views are not run."""
        grouping = Grouping(self.memory)
        for operation in self.graph.operations:
            if operation.outputs[0].number not in self.memory.views:
                grouping.add(operation)
        return sort_units(grouping.finish())

    def _needed_elsewhere(self) -> set[int]:
        """The values that another unit reads, or that leave, themselves or as a view."""
        read = [value for unit in self.units for value in unit.inputs()]
        return {self.memory.origin(value) for value in (*read, *self.graph.outputs)}

    def stored(self, unit: Unit) -> list[Value]:
        """What a unit writes where it is told to."""
        if unit.dtype is not None:
            return [value for value in unit.outputs() if value.number in self._needed]
        operation = unit.operations[0]
        takes = takes_out(direct(self._backend, operation))
        return list(operation.outputs) if takes else []
