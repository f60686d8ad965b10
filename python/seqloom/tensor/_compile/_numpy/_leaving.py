"""How the outputs of a graph leave: never in memory that the next call writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._memory import Memory
    from seqloom.tensor._graph import Graph, Value


class Leaving:
    """Says of each output whether it needs new memory, a copy, or neither.

    Args:
        graph: Whose outputs.
        memory: Which values share memory.
        made: The values that calls make where they are told to.

    Attributes:
        fresh: Numbers of the values that get new memory at each call.
        copied: Places of the outputs that are copied.
    """

    def __init__(self, graph: Graph, memory: Memory, made: set[int]) -> None:
        self.fresh: set[int] = set()
        self.copied: set[int] = set()
        self._memory, self._made = memory, made
        self._given = {value.number for value in graph.inputs}
        seen: set[int] = set()
        for place, value in enumerate(graph.outputs):
            self._leave(place, value, again=memory.root(value) in seen)
            seen.add(memory.root(value))

    def _leave(self, place: int, value: Value, *, again: bool) -> None:
        """Decides for one output."""
        origin, root = self._memory.origin(value), self._memory.root(value)
        whole = value.nbytes == self._memory.values[origin].nbytes
        if origin in self._made and whole and not again:
            self.fresh.add(origin)
        elif not self._is_given(value, root):
            self.copied.add(place)

    def _is_given(self, value: Value, root: int) -> bool:
        """Whether an output is an input as it came, or written over one."""
        return root in self._given and value.number not in self._memory.views
