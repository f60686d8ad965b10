"""Rewrites a graph before it is grouped: smaller operations free memory sooner."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._fuse import find_reduced_axes, find_reduction
from seqloom.tensor._graph import Graph, Operation, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

_ADAMW_LISTS = 4  # parameters, gradients, first and second moments
_LARGE_PARAMETER = 65_536  # elements


def rewrite(graph: Graph) -> Graph:
    """Returns an equal graph with split updates, split unstacks and plain reductions."""
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
    """Yields one AdamW update for each large parameter, and one for all small ones."""
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
    """Returns the update of some of the parameters."""
    args, total = operation.args, len(operation.args[0])
    lists = [[values[index] for index in indices] for values in args[:_ADAMW_LISTS]]
    decays = [operation.options["decays"][index] for index in indices]
    starts = range(0, len(operation.outputs), total)
    outputs = tuple(operation.outputs[start + at] for start in starts for at in indices)
    options = {**operation.options, "decays": decays}
    args = (*lists, *args[_ADAMW_LISTS:])
    return Operation("adamw", args, options, outputs, operation.where)


def _split_unstack(operation: Operation) -> Iterator[Operation]:
    """Yields an index, which is a view, for each slice of an unstacked value."""
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
    """Reduces the value before a reshape that only joined the reduced axes."""
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
    """Returns the values that a value was reshaped from, the first of the chain first."""
    sources: list[Value] = []
    while x.number in reshapes and isinstance(reshapes[x.number].args[0], Value):
        x = reshapes[x.number].args[0]
        sources.append(x)
    return reversed(sources)
