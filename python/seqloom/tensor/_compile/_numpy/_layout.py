"""What a plan runs in which order, and in whose memory each value lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.tensor._compile._numpy._arena import Span, placed
from seqloom.tensor._compile._numpy._direct import direct, takes_out
from seqloom.tensor._compile._numpy._leaving import Leaving
from seqloom.tensor._compile._numpy._lifetimes import spans_of
from seqloom.tensor._compile._numpy._memory import Memory
from seqloom.tensor._compile._numpy._units import Grouping, Unit, sort_units

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph, Value


@dataclass(slots=True, eq=False)
class Layout:
    """A graph, grouped and placed.

    Attributes:
        graph: What is computed.
        backend: The backend whose functions do what no group does.
        memory: Which values share memory.
        units: What runs, in order.
        needed: Numbers of the values that another unit reads, or that leave.
        fresh: Numbers of the values that get new memory at each call.
        copied: Places of the outputs that are copied.
        spans: Where each value lies that the plan keeps in its own memory, and how long.
        nbytes: The size of that memory.
    """

    graph: Graph
    backend: Backend
    memory: Memory
    units: list[Unit]
    needed: set[int]
    fresh: set[int]
    copied: set[int]
    spans: dict[int, Span]
    nbytes: int

    def stored(self, unit: Unit) -> list[Value]:
        """What a unit writes where it is told to."""
        return _stored(unit, self.needed, self.backend)


def laid_out(graph: Graph, backend: Backend) -> Layout:
    """Groups and places a graph.

    Args:
        graph: What is computed.
        backend: The backend whose functions do what no group does.

    Returns:
        Its layout.
    """
    memory = Memory(graph)
    units = _grouped(graph, memory)
    read = [value for unit in units for value in unit.inputs()]
    needed = {memory.origin(value) for value in (*read, *graph.outputs)}
    made = {each.number for unit in units for each in _stored(unit, needed, backend)}
    leaving = Leaving(graph, memory, made)
    spans = spans_of(units, memory, made - leaving.fresh, graph.outputs)
    fresh, copied = leaving.fresh, leaving.copied
    nbytes = placed(spans)
    return Layout(graph, backend, memory, units, needed, fresh, copied, spans, nbytes)


def _grouped(graph: Graph, memory: Memory) -> list[Unit]:
    """The units in the order in which they run; views are not run."""
    grouping = Grouping(memory)
    for operation in graph.operations:
        if operation.outputs[0].number not in memory.views:
            grouping.add(operation)
    return sort_units(grouping.finish())


def _stored(unit: Unit, needed: set[int], backend: Backend) -> list[Value]:
    """What a unit writes where it is told to."""
    if unit.dtype is not None:
        return [value for value in unit.outputs() if value.number in needed]
    operation = unit.operations[0]
    return list(operation.outputs) if takes_out(direct(backend, operation)) else []


def facts_of(layout: Layout, names: dict[int, int]) -> dict[str, Any]:
    """A layout as numbers and names, without its graph: what `restored` takes.

    Args:
        layout: The layout.
        names: A number for each value of the graph, the same in every process.

    Returns:
        What JSON can hold.
    """
    places = {id(each): at for at, each in enumerate(layout.graph.operations)}
    spans = [
        (names[span.number], *_place(span), None if span.over is None else names[span.over])
        for span in layout.spans.values()
    ]
    return {
        "views": [names[number] for number in layout.memory.views],
        "units": [
            [[places[id(each)] for each in unit.operations], unit.dtype, unit.shape]
            for unit in layout.units
        ],
        "needed": [names[number] for number in sorted(layout.needed)],
        "fresh": [names[number] for number in sorted(layout.fresh)],
        "copied": sorted(layout.copied),
        "spans": spans,
        "nbytes": layout.nbytes,
    }


def _place(span: Span) -> tuple[int, int, int, int]:
    """The numbers of a span that do not name a value."""
    return span.nbytes, span.first, span.last, span.offset


def restored(
    graph: Graph, backend: Backend, facts: dict[str, Any], names: dict[int, int]
) -> Layout:
    """The layout of a graph from its facts.

    Args:
        graph: What is computed.
        backend: The backend whose functions do what no group does.
        facts: What `facts_of` gave for an equal graph.
        names: The numbers that were given to it, for this graph.

    Returns:
        The same layout as `laid_out` makes.
    """
    numbers: dict[int | None, int] = {name: number for number, name in names.items()}
    units = [
        Unit(at, [graph.operations[each] for each in operations], dtype, tuple(shape))
        for at, (operations, dtype, shape) in enumerate(facts["units"])
    ]
    spans = [
        Span(numbers[name], nbytes, first, last, numbers.get(over), offset)
        for name, nbytes, first, last, offset, over in facts["spans"]
    ]
    return Layout(
        graph,
        backend,
        Memory(graph, {numbers[name] for name in facts["views"]}),
        units,
        {numbers[name] for name in facts["needed"]},
        {numbers[name] for name in facts["fresh"]},
        set(facts["copied"]),
        {span.number: span for span in spans},
        facts["nbytes"],
    )
