"""NumPyProgram: a graph as prepared calls, in memory that is laid out before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from seqloom.tensor._compile._numpy._aliases import make_view
from seqloom.tensor._compile._numpy._arena import CACHE_LINE
from seqloom.tensor._compile._numpy._layout import lay_out
from seqloom.tensor._compile._numpy._rewrite import rewrite
from seqloom.tensor._compile._numpy._writer import Writer
from seqloom.tensor._families._numpy_arrays import reserves

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph

    Array = NDArray[Any]

_PROGRAMS: WeakSet[NumPyProgram] = WeakSet()
reserves.append(lambda: sum(program.held for program in list(_PROGRAMS)))


class NumPyProgram:
    """Runs a graph on NumPy's arrays.

    Groups of elementwise operations run fused. The results inside the graph lie in one
    piece of memory, which every call reuses. Outputs are new arrays, or lie in the memory
    of an input that the caller donated. As text it shows what runs.
    """

    def __init__(self, graph: Graph, backend: Backend, *, poison: bool = False) -> None:
        # poison: tests fill memory with NaN as soon as nothing reads it any more
        graph = rewrite(graph)
        self._layout = lay_out(graph, backend)

        def make_inner(body: Graph) -> NumPyProgram:
            return NumPyProgram(body, backend, poison=poison)

        writer = Writer(self._layout, backend, make_inner, poison=poison)
        self._scope = writer.source.scope
        self._views = writer.source.views
        self.text = "\n".join(writer.source.lines)
        self.nbytes = self._layout.nbytes  # of the memory that one running call needs
        self._code = compile(self.text, "<program>", "exec")
        self.held = 0  # bytes kept for all calls
        _PROGRAMS.add(self)
        self._scalars = [at for at, value in enumerate(graph.inputs) if not value.shape]
        self._idle: list[Callable[..., list[Array]]] = []

    def __call__(self, arrays: Sequence[Any]) -> list[Array]:
        """Returns the graph's outputs. Calls that run at the same time share no memory."""
        try:
            run = self._idle.pop()
        except IndexError:
            run = self._bind_memory()
        outputs = run(*self._convert_scalars(arrays))
        self._idle.append(run)
        return outputs

    def _convert_scalars(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """Makes NumPy's scalars arrays without axes: fused groups take no others."""
        converted = list(arrays)
        for at in self._scalars:
            if isinstance(converted[at], np.generic):
                converted[at] = np.asarray(converted[at])
        return converted

    def __str__(self) -> str:
        operations, groups = len(self._layout.graph.operations), self._layout.groups
        fused = sum(group.dtype is not None for group in groups)
        head = f"# {operations} operations, {len(groups)} calls, {fused} of them fused"
        return f"{head}; {self.nbytes:,} bytes\n{self.text}"

    def _bind_memory(self) -> Callable[..., list[Array]]:
        """Returns the function of this program over newly allocated memory."""
        scope = dict(self._scope)
        constants = self._layout.graph.constants.items()
        scope.update((f"v{number}", np.asarray(array)) for number, array in constants)
        memory = self._allocate()
        for number, span in self._layout.spans.items():
            value = self._layout.aliases.values[number]
            # Kernels compare the addresses of arrays, of empty ones too.
            shared = memory if span.nbytes else np.empty(0, np.uint8)
            room = shared[span.offset : span.offset + span.nbytes]
            scope[f"bytes{number}"] = room
            scope[f"v{number}"] = room.view(value.dtype).reshape(value.shape)
        for operation in self._views:
            source = scope[f"v{operation.args[0].number}"]
            scope[f"v{operation.outputs[0].number}"] = make_view(operation, source)
        exec(self._code, scope)  # noqa: S102
        return scope["run"]

    def _allocate(self) -> NDArray[np.uint8]:
        """Allocates the memory of one running call, aligned to a cache line."""
        memory = np.empty(self.nbytes + CACHE_LINE, np.uint8)
        self.held += memory.nbytes
        return memory[-memory.ctypes.data % CACHE_LINE :]
