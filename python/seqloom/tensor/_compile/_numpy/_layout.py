"""Chooses the order in which the groups of a graph run, and the memory of its values."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import cache
from types import MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._compile._numpy._fuse import find_fused_dtype
from seqloom.tensor._compile._numpy._groups import (
    Aliases,
    Grouping,
    OperationGroup,
    sort_groups,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from seqloom.tensor._backend import Backend
    from seqloom.tensor._graph import Graph, Operation, Value

    Array = NDArray[Any]


@dataclass(slots=True, eq=False)
class Layout:
    """A graph divided into groups, with memory assigned to its values."""

    graph: Graph
    aliases: Aliases
    groups: list[OperationGroup]  # The groups in execution order.
    stored: list[list[Value]]  # Values that each group writes into arrays passed to it.
    fresh: set[int]  # Numbers of values that are allocated at each call.
    copied: set[int]  # Indices of the outputs that are copied.
    spans: dict[int, MemorySpan]  # The offsets of values in the program's memory.
    nbytes: int  # Size of the program's memory in bytes.


def make_layout(graph: Graph, backend: Backend) -> Layout:
    """Group the operations of a graph, and choose the memory of its values."""
    aliases = Aliases(graph)
    grouping = Grouping(aliases)
    for operation in graph.operations:
        # Views need no computation.
        if operation.outputs[0].number not in aliases.views:
            grouping.add_operation(operation)
    groups = sort_groups(grouping.list_groups())
    read = [value for group in groups for value in group.inputs()]
    needed = {aliases.origin(value) for value in (*read, *graph.outputs)}
    stored = [_list_stored(group, needed, backend) for group in groups]
    numbers = {value.number for values in stored for value in values}
    fresh, copied = _choose_outputs(graph, aliases, numbers)
    spans = find_memory_spans(groups, aliases, numbers - fresh, graph.outputs)
    nbytes = set_span_offsets(spans)
    return Layout(graph, aliases, groups, stored, fresh, copied, spans, nbytes)


def _list_stored(group: OperationGroup, needed: set[int], backend: Backend) -> list[Value]:
    """Return the values that a group writes into arrays passed to it.

    `needed` contains the numbers of values that another group reads, and of the outputs.
    """
    if group.dtype is not None:
        return [value for value in group.outputs() if value.number in needed]
    operation = group.operations[0]
    function = find_fastest(backend, operation)
    takes_out = _has_out_argument(getattr(function, "__func__", function))
    return list(operation.outputs) if takes_out else []


def _choose_outputs(
    graph: Graph, aliases: Aliases, stored: set[int]
) -> tuple[set[int], set[int]]:
    """Return the values allocated at each call, and the indices of copied outputs.

    An output must not use memory that the next call overwrites.
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


# The alignment of arrays; vector instructions load aligned memory fastest.
CACHE_LINE_BYTES = 64


@dataclass(slots=True)
class MemorySpan:
    """The memory of one value, and the groups between which the memory is in use."""

    number: int
    nbytes: int
    first: int  # Index of the group that writes the value.
    last: int  # Index of the last group that reads the value.
    over: int | None = None  # The value whose memory this value reuses in place.
    offset: int = 0


def find_memory_spans(
    groups: list[OperationGroup], aliases: Aliases, internal: set[int], outputs: list[Value]
) -> dict[int, MemorySpan]:
    """Return a span, still without an offset, for each internal value of a program."""
    spans = _find_lifetimes(groups, aliases, internal)
    # Outputs in the program's memory are copied after the last group has run.
    for value in outputs:
        if (span := spans.get(aliases.root(value))) is not None:
            span.last = len(groups)
    for position, group in enumerate(groups):
        if group.dtype is not None:
            _reuse_in_place(group, position, aliases, spans)
    return spans


def _find_lifetimes(
    groups: list[OperationGroup], aliases: Aliases, internal: set[int]
) -> dict[int, MemorySpan]:
    """Find the group that writes each value, and the last group that reads it."""
    spans: dict[int, MemorySpan] = {}
    for position, group in enumerate(groups):
        for value in group.inputs():
            if (span := spans.get(aliases.root(value))) is not None:
                span.last = position
        for value in group.outputs():
            if value.number in internal:
                spans[value.number] = MemorySpan(
                    value.number, value.nbytes, position, position
                )
    return spans


def _reuse_in_place(
    group: OperationGroup, position: int, aliases: Aliases, spans: dict[int, MemorySpan]
) -> None:
    """Let the results of a fused group overwrite operands that no later group reads."""
    reads = list(group.inputs())
    plain = {
        value.number
        for value in reads
        if value.shape == group.shape and aliases.is_whole(value)
    }
    views: dict[int, set[int]] = {}  # Views of each value that has memory.
    for value in reads:
        views.setdefault(aliases.root(value), set()).add(value.number)
    free = [
        root
        for root, numbers in views.items()
        if root in spans and spans[root].last == position and numbers <= plain
    ]
    # A reduction along an axis of length 1 has the shape of the group, but its result
    # is not written elementwise.
    reductions = {
        operation.outputs[0].number
        for operation in group.operations
        if find_fused_dtype(operation) is None
    }
    for value in group.outputs():
        span = spans.get(value.number)
        if span is None or value.shape != group.shape or value.number in reductions:
            continue
        same = [root for root in free if aliases.values[root].dtype == value.dtype]
        if same:
            span.over = same[0]
            free.remove(same[0])


def set_span_offsets(spans: dict[int, MemorySpan]) -> int:
    """Set the offset of each span; return the total number of bytes."""
    # Spans that are in use at the same time do not overlap. The largest spans are
    # placed first, each at the lowest free offset. If a span reuses the memory of
    # another span, both have the same offset.
    chains: dict[int, list[MemorySpan]] = {}
    for span in spans.values():
        start = span
        while start.over is not None:
            start = spans[start.over]
        chains.setdefault(start.number, []).append(span)
    # Columns: first group, last group, offset, end.
    placed = np.empty((4, 0), np.int64)
    for chain in sorted(chains.values(), key=lambda chain: -chain[0].nbytes):
        first, last = min(s.first for s in chain), max(s.last for s in chain)
        size = -(-chain[0].nbytes // CACHE_LINE_BYTES) * CACHE_LINE_BYTES
        offset = _find_gap(placed[2:, (placed[0] <= last) & (first <= placed[1])], size)
        column = int(np.searchsorted(placed[2], offset))
        placed = np.insert(placed, column, [first, last, offset, offset + size], axis=1)
        for span in chain:
            span.offset = offset
    return int(placed[3].max(initial=0))


def _find_gap(used: NDArray[np.int64], size: int) -> int:
    """Return the lowest offset with `size` free bytes; `used` is sorted by offset."""
    starts, ends = used
    # Between the highest end so far and the next offset, memory is free.
    free = np.maximum.accumulate(np.append(0, ends))
    # Memory after the last span is free.
    is_wide = np.append(starts - free[:-1] >= size, True)
    return int(free[is_wide.argmax()])


_HALF_BYTES = 2


def find_fastest(backend: Backend, operation: Operation) -> Callable[..., Any]:
    """Return the fastest function for an operation, from NumPy or the backend.

    The dtypes of the values are known, so type checks are skipped where possible.
    """
    if operation.name == "reshape":
        return _copy_reshaped
    function: Any = getattr(backend, operation.name)
    values = (*operation.inputs(), *operation.outputs)
    has_half = any(v.dtype.itemsize == _HALF_BYTES and v.dtype.kind in "fV" for v in values)
    if has_half or (hasattr(function, "ufunc") and _mixes_dtype_kinds(operation)):
        return function
    plain = getattr(function, "array_variant", getattr(function, "__wrapped__", function))
    plain = getattr(plain, "ufunc", plain)
    if plain is function:
        return function
    owner = getattr(function, "__self__", None)
    return plain if owner is None else MethodType(plain, owner)


def _mixes_dtype_kinds(operation: Operation) -> bool:
    """Return True for integers mixed with floats: ufuncs would return a wider dtype."""
    are_integers = [v.dtype.kind in "biu" for v in operation.inputs()]
    has_floats = any(v.dtype.kind not in "biu" for v in operation.outputs)
    return any(are_integers) and (has_floats or not all(are_integers))


def _copy_reshaped(x: NDArray[Any], shape: tuple[int, ...], *, out: NDArray[Any]) -> None:
    """Copy the elements into `out`, which has the new shape."""
    del shape
    np.copyto(out.reshape(x.shape), x)


@cache  # cached, because `inspect.signature` is slow
def _has_out_argument(function: Callable[..., Any]) -> bool:
    """Return True if a function has an argument `out`."""
    if isinstance(function, np.ufunc):
        return True
    try:
        return "out" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
