"""The compiled form of a graph for NumPy: prepared calls in preallocated memory."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np

from seqloom.tensor._compile._numpy._fuse import find_reduced_axes, find_reduction
from seqloom.tensor._compile._numpy._groups import make_view
from seqloom.tensor._compile._numpy._layout import CACHE_LINE_BYTES, make_layout
from seqloom.tensor._compile._numpy._writer import ProgramWriter
from seqloom.tensor._families._numpy_arrays import cache_sizes
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend

    Array = NDArray[Any]


_LIVE_PROGRAMS: WeakSet[NumPyProgram] = WeakSet()
cache_sizes.append(lambda: sum(program.held for program in list(_LIVE_PROGRAMS)))


class NumPyProgram:
    """Runs a graph on NumPy arrays.

    Groups of elementwise operations are fused. Intermediate results share one block of
    memory, which every call reuses. Outputs are new arrays, or reuse the memory of inputs
    that the program may overwrite. ``str()`` returns the source of the program.
    """

    def __init__(self, graph: Graph, backend: Backend, *, poison: bool = False) -> None:
        # If true, memory is overwritten with NaN after its last use, to test the
        # layout.
        graph = split_operations(graph)
        self._layout = make_layout(graph, backend)

        def make_loop_program(body: Graph) -> NumPyProgram:
            return NumPyProgram(body, backend, poison=poison)

        writer = ProgramWriter(self._layout, backend, make_loop_program, poison=poison)
        self._scope = writer.source.scope
        self._views = writer.source.views
        self.text = "\n".join(writer.source.lines)
        self.nbytes = self._layout.nbytes  # Memory in bytes that one call needs.
        self._code = compile(self.text, "<program>", "exec")
        self.held = 0  # Memory in bytes that is allocated for all calls.
        _LIVE_PROGRAMS.add(self)
        self._scalars = [at for at, value in enumerate(graph.inputs) if not value.shape]
        self._idle: list[Callable[..., list[Array]]] = []

    def __call__(self, arrays: Sequence[Any]) -> list[Array]:
        """Return the outputs of the graph. Concurrent calls use separate memory."""
        try:
            run = self._idle.pop()
        except IndexError:
            run = self._bind_memory()
        # NumPy scalars are converted to arrays, because fused groups accept only
        # arrays.
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
        """Return the function of this program with newly allocated memory."""
        scope = dict(self._scope)
        constants = self._layout.graph.constants.items()
        scope.update((f"v{number}", np.asarray(array)) for number, array in constants)
        memory = np.empty(self.nbytes + CACHE_LINE_BYTES, np.uint8)
        self.held += memory.nbytes
        memory = memory[-memory.ctypes.data % CACHE_LINE_BYTES :]
        for number, span in self._layout.spans.items():
            value = self._layout.aliases.values[number]
            # Empty arrays get separate memory, because kernels compare addresses.
            shared = memory if span.nbytes else np.empty(0, np.uint8)
            room = shared[span.offset : span.offset + span.nbytes]
            scope[f"bytes{number}"] = room
            scope[f"v{number}"] = room.view(value.dtype).reshape(value.shape)
        for operation in self._views:
            source = scope[f"v{operation.args[0].number}"]
            scope[f"v{operation.outputs[0].number}"] = make_view(operation, source)
        exec(self._code, scope)  # noqa: S102
        return scope["run"]


# Indices of the arguments: parameters, gradients, first and second moments.
_ADAMW_ARRAY_LISTS = 4
# Number of elements; larger parameters are updated by separate operations.
_MIN_UPDATE_SIZE = 65_536


def split_operations(graph: Graph) -> Graph:
    """Return an equivalent graph with updates and unstacks split into more operations."""
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
    """Yield an AdamW update for each large parameter, and one for all small parameters."""
    # A large parameter is updated as soon as its gradient is computed, while the
    # gradient is still in the cache. The next gradient can reuse the memory of an
    # earlier gradient.
    if operation.name != "adamw":
        yield operation
        return
    params: list[Value] = operation.args[0]
    is_large = [prod(value.shape) >= _MIN_UPDATE_SIZE for value in params]
    large = [[index] for index, is_one in enumerate(is_large) if is_one]
    small = [index for index, is_one in enumerate(is_large) if not is_one]
    for indices in (*large, small):
        if indices:
            yield _make_partial_update(operation, indices)


def _make_partial_update(operation: Operation, indices: list[int]) -> Operation:
    """Return the update of the parameters with the given indices."""
    args, total = operation.args, len(operation.args[0])
    lists = [[values[index] for index in indices] for values in args[:_ADAMW_ARRAY_LISTS]]
    decays = [operation.options["decays"][index] for index in indices]
    starts = range(0, len(operation.outputs), total)
    outputs = tuple(operation.outputs[start + at] for start in starts for at in indices)
    options = {**operation.options, "decays": decays}
    args = (*lists, *args[_ADAMW_ARRAY_LISTS:])
    return Operation("adamw", args, options, outputs, operation.where)


def _split_unstack(operation: Operation) -> Iterator[Operation]:
    """Yield an index operation, which returns a view, for each array of an unstack."""
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
    """Reduce the original array if a reshape only merged the reduced axes."""
    # A linear layer reshapes (batch, length, width) to (batch * length, width). A sum
    # over the original array is equal to the gradient of the bias, and can be fused.
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
    """Return the values from which a value was reshaped, oldest first."""
    sources: list[Value] = []
    while x.number in reshapes and isinstance(reshapes[x.number].args[0], Value):
        x = reshapes[x.number].args[0]
        sources.append(x)
    return reversed(sources)
