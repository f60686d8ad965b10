"""Program: what a compiled step does with arguments of one signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom._key import Key
from seqloom.tensor._compile._failure import failure
from seqloom.tensor._compile._locks import lock_of
from seqloom.tensor._leaves import serve
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._compile._results import Build
    from seqloom.tensor._compile._signature import Signature
    from seqloom.tensor._graph import Graph
    from seqloom.tensor._leaves import Leaf


class Program:
    """What a step does with arguments of one signature.

    Args:
        graph: The step, its state first among inputs and outputs.
        run: The graph, made to run by the backend.
        written: Which leaves the first outputs are the new arrays of.
        build: Puts the results together.
        owned: The places of states among the leaves, and of the parameters they serve.

    Attributes:
        graph: The step as one program.
        called: Whether it ran since this was last asked.
    """

    def __init__(
        self,
        graph: Graph,
        run: Callable[..., Any],
        written: list[int],
        build: Build,
        owned: list[tuple[int, int]],
    ) -> None:
        self.graph = graph
        self._run = run
        self._written = written
        self._build = build
        self._owned = owned
        self.called = False

    def __call__(self, given: Signature) -> Any:
        """Runs it: reads the leaves, writes them, and gives the results."""
        self.called = True
        if not self._written:
            return self._result(given)
        # Two calls may not write the same leaves at a time.
        with lock_of(given.leaves[self._written[0]]):
            return self._result(given)

    def _result(self, given: Signature) -> Any:
        """What the call gives; the leaves that it writes are nobody else's meanwhile."""
        backend: Any = given.backend
        leaves = given.leaves
        for state, param in self._owned:
            owner = leaves[state].owner
            if owner is None or owner() is not leaves[param]:
                serve([(leaves[one], leaves[other]) for one, other in self._owned])
        for leaf in leaves:
            if leaf.lent or leaf.array is None or leaf.backend is not backend:
                self._prepare(leaves, backend)
                break
        arrays = [leaf.array for leaf in leaves]
        arrays += [as_array(each, backend) for each in given.inputs]
        try:
            made = self._run(arrays)
        except Exception as error:
            ours = failure(error, self.graph, arrays, backend)
            if ours is error:
                raise
            raise ours from error
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
    # The caller may write its array as soon as the call is over.
    return backend.asarray(value, copy=backend.defers or None)
