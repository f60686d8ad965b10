"""NumPyProgram: a graph as prepared calls, in memory that is laid out before."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from seqloom.tensor._compile._numpy._fuse import find_reduced_axes, find_reduction
from seqloom.tensor._compile._numpy._groups import make_view
from seqloom.tensor._compile._numpy._layout import CACHE_LINE, lay_out
from seqloom.tensor._compile._numpy._writer import Writer
from seqloom.tensor._families._numpy_arrays import reserves
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

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
        """Return the graph's outputs. Calls that run at the same time share no memory."""
        try:
            run = self._idle.pop()
        except IndexError:
            run = self._bind_memory()
        # NumPy's scalars become arrays without axes: fused groups take no others.
        converted = list(arrays)
        for at in self._scalars:
            if isinstance(converted[at], np.generic):
                converted[at] = np.asarray(converted[at])
        outputs = run(*converted)
        self._idle.append(run)
        return outputs

    def __str__(self) -> str:
        operations, groups = len(self._layout.graph.operations), self._layout.groups
        fused = sum(group.dtype is not None for group in groups)
        head = f"# {operations} operations, {len(groups)} calls, {fused} of them fused"
        return f"{head}; {self.nbytes:,} bytes\n{self.text}"

    def _bind_memory(self) -> Callable[..., list[Array]]:
        """Return the function of this program over newly allocated memory."""
        scope = dict(self._scope)
        constants = self._layout.graph.constants.items()
        scope.update((f"v{number}", np.asarray(array)) for number, array in constants)
        memory = np.empty(self.nbytes + CACHE_LINE, np.uint8)
        self.held += memory.nbytes
        memory = memory[-memory.ctypes.data % CACHE_LINE :]
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


_ADAMW_LISTS = 4  # parameters, gradients, first and second moments
_LARGE_PARAMETER = 65_536  # elements


def rewrite(graph: Graph) -> Graph:
    """Return an equal graph with split updates, split unstacks and plain reductions."""
    operations = [
        part
        for operation in graph.operations
        for whole in _split_unstack(operation)
        for part in _split_update(whole)
    ]
    reshapes = {op.outputs[0].number: op for op in operations if op.name == "reshape"}
    operations = [_reduce_before_reshape(op, reshapes) for op in operations]
    return Graph(graph.inputs, graph.constants, operations, graph.outputs, graph.donated)


def _split_update(operation: Operation) -> Iterator[Operation]:
    """Yield one AdamW update for each large parameter, and one for all small ones."""
    # A large one then runs when its gradient is ready: the gradient is still in the cache,
    # and its memory is free for the next gradient.
    if operation.name != "adamw":
        yield operation
        return
    params: list[Value] = operation.args[0]
    is_large = [prod(value.shape) >= _LARGE_PARAMETER for value in params]
    large = [[index] for index, is_one in enumerate(is_large) if is_one]
    small = [index for index, is_one in enumerate(is_large) if not is_one]
    for indices in (*large, small):
        if indices:
            yield _update_some(operation, indices)


def _update_some(operation: Operation, indices: list[int]) -> Operation:
    """Return the update of some of the parameters."""
    args, total = operation.args, len(operation.args[0])
    lists = [[values[index] for index in indices] for values in args[:_ADAMW_LISTS]]
    decays = [operation.options["decays"][index] for index in indices]
    starts = range(0, len(operation.outputs), total)
    outputs = tuple(operation.outputs[start + at] for start in starts for at in indices)
    options = {**operation.options, "decays": decays}
    args = (*lists, *args[_ADAMW_LISTS:])
    return Operation("adamw", args, options, outputs, operation.where)


def _split_unstack(operation: Operation) -> Iterator[Operation]:
    """Yield an index, which is a view, for each slice of an unstacked value."""
    if operation.name != "unstack":
        yield operation
        return
    x = operation.args[0]
    axis = operation.options.get("axis", 0) % len(x.shape)
    for position, output in enumerate(operation.outputs):
        key = (*(slice(None),) * axis, position)
        yield Operation("index", (x, key), {}, (output,), operation.where)


def _reduce_before_reshape(
    operation: Operation, reshapes: dict[int, Operation]
) -> Operation:
    """Reduce the value before a reshape that only joined the reduced axes."""
    # A linear layer reshapes (batch, length, width) to (batch * length, width). The sum for
    # its bias gives the same without the reshape, and can then be fused.
    if find_reduction(operation) is None or operation.options.get("keepdims"):
        return operation
    x: Value = operation.args[0]
    rank = len(find_reduced_axes(operation))
    if find_reduced_axes(operation) != tuple(range(rank)):
        return operation
    for source in _reshape_sources(x, reshapes):
        axes = len(source.shape) - len(x.shape) + rank
        if axes > 0 and source.shape[axes:] == x.shape[rank:] and prod(source.shape):
            options = {**operation.options, "axis": tuple(range(axes))}
            outputs = operation.outputs
            return Operation(operation.name, (source,), options, outputs, operation.where)
    return operation


def _reshape_sources(x: Value, reshapes: dict[int, Operation]) -> Iterator[Value]:
    """Return the values that a value was reshaped from, the first of the chain first."""
    sources: list[Value] = []
    while x.number in reshapes and isinstance(reshapes[x.number].args[0], Value):
        x = reshapes[x.number].args[0]
        sources.append(x)
    return reversed(sources)
