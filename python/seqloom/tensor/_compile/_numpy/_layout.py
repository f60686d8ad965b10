"""Layout: in which order the groups of a graph run, and in which memory each value lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._aliases import Aliases
from seqloom.tensor._compile._numpy._arena import Span, find_spans, place_spans
from seqloom.tensor._compile._numpy._functions import find_function, has_out
from seqloom.tensor._compile._numpy._groups import Grouping, OperationGroup, sort_groups

if TYPE_CHECKING:
    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph, Value


@dataclass(slots=True, eq=False)
class Layout:
    """A graph in groups, with the memory of its values."""

    graph: Graph
    backend: Backend  # its functions run what no fused group computes
    aliases: Aliases
    groups: list[OperationGroup]  # in the order in which they run
    needed: set[int]  # values that another group reads, or that are outputs
    fresh: set[int]  # values that get new memory at each call
    copied: set[int]  # positions of the outputs that are copied
    spans: dict[int, Span]  # of the values in the memory of the program
    nbytes: int  # of that memory

    def list_stored(self, group: OperationGroup) -> list[Value]:
        """Returns the values that a group writes into an array that it is passed."""
        return _list_stored(group, self.needed, self.backend)


def lay_out(graph: Graph, backend: Backend) -> Layout:
    """Groups the operations of a graph, and chooses the memory of its values."""
    aliases = Aliases(graph)
    groups = _group_operations(graph, aliases)
    read = [value for group in groups for value in group.inputs()]
    needed = {aliases.origin(value) for value in (*read, *graph.outputs)}
    stored = {
        value.number for group in groups for value in _list_stored(group, needed, backend)
    }
    fresh, copied = _choose_outputs(graph, aliases, stored)
    spans = find_spans(groups, aliases, stored - fresh, graph.outputs)
    nbytes = place_spans(spans)
    return Layout(graph, backend, aliases, groups, needed, fresh, copied, spans, nbytes)


def _group_operations(graph: Graph, aliases: Aliases) -> list[OperationGroup]:
    """Returns the groups in the order in which they run; views do not run."""
    grouping = Grouping(aliases)
    for operation in graph.operations:
        if operation.outputs[0].number not in aliases.views:
            grouping.add(operation)
    return sort_groups(grouping.finish())


def _list_stored(group: OperationGroup, needed: set[int], backend: Backend) -> list[Value]:
    """Returns the values that a group writes into an array that it is passed."""
    if group.dtype is not None:
        return [value for value in group.outputs() if value.number in needed]
    operation = group.operations[0]
    function = find_function(backend, operation)
    return list(operation.outputs) if has_out(function) else []


def _choose_outputs(
    graph: Graph, aliases: Aliases, stored: set[int]
) -> tuple[set[int], set[int]]:
    """Returns the values that get new memory, and the positions of the copied outputs.

    No output may lie in memory that the next call overwrites.
    """
    fresh, copied, seen = set[int](), set[int](), set[int]()
    inputs = {value.number for value in graph.inputs}
    for position, value in enumerate(graph.outputs):
        origin, root = aliases.origin(value), aliases.root(value)
        is_whole = value.nbytes == aliases.values[origin].nbytes
        if origin in stored and is_whole and root not in seen:
            fresh.add(origin)
        elif root not in inputs or value.number in aliases.views:
            copied.add(position)
        seen.add(root)
    return fresh, copied
