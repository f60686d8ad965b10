"""Program: what a compiled step does with arguments of one signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._key import Key
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile._graph import Graph
    from seqloom.tensor._compile._results import Build
    from seqloom.tensor._compile._signature import Signature
    from seqloom.tensor._leaves import Leaf


class Program:
    """What a step does with arguments of one signature.

    Args:
        graph: The step, its state first among inputs and outputs.
        run: The graph, made to run by the backend.
        written: Which leaves the first outputs are the new arrays of.
        build: Puts the results together.

    Attributes:
        graph: The step as one program.
    """

    def __init__(
        self, graph: Graph, run: Callable[..., Any], written: list[int], build: Build
    ) -> None:
        self.graph = graph
        self._run = run
        self._written = written
        self._build = build

    def __call__(self, given: Signature) -> Any:
        """Runs it: reads the leaves, writes them, and gives the results."""
        backend: Any = given.backend
        leaves = given.leaves
        for leaf in leaves:
            if leaf.lent or leaf.array is None or leaf.backend is not backend:
                self._prepare(leaves, backend)
                break
        arrays = [leaf.array for leaf in leaves]
        arrays += [as_array(each, backend) for each in given.inputs]
        made = self._run(arrays)
        for place, array in zip(self._written, made, strict=False):
            leaves[place].put(array)
        return self._build(iter(made[len(self._written) :]), given, backend)

    def _prepare(self, leaves: list[Leaf], backend: Backend) -> None:
        """Gives all leaves an array, and those that are written one of their own."""
        for leaf in leaves:
            if leaf.array is None or leaf.backend is not backend:
                leaf.on(backend)
        for place in self._written:
            if leaves[place].lent:
                leaves[place].own()


def as_array(value: Any, backend: Backend) -> Array:
    """An input of the step as one of the program: numbers stay numbers."""
    if type(value) is Tensor:
        return value.raw
    if type(value) is float:
        return value
    if isinstance(value, Key):
        return backend.key_words(value)
    return backend.asarray(value)
