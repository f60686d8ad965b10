"""When each value of a layout is in use, and where it lies in one piece of memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom.tensor._compile._numpy._fuse import find_dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._compile._numpy._aliases import Aliases
    from seqloom.tensor._compile._numpy._groups import OperationGroup
    from seqloom.tensor._graph import Value

CACHE_LINE = 64  # bytes; vectors are read fastest from the start of one


@dataclass(slots=True)
class Span:
    """The bytes of one value, which are in use from one group to another."""

    number: int  # of the value
    nbytes: int
    first: int  # position of the group that writes the value
    last: int  # position of the last group that reads it
    over: int | None = None  # the value whose bytes this one reuses in place
    offset: int = 0


def find_spans(
    groups: list[OperationGroup], aliases: Aliases, internal: set[int], outputs: list[Value]
) -> dict[int, Span]:
    """Returns a span, still without an offset, for each internal value of a program."""
    spans = _find_lifetimes(groups, aliases, internal)
    for value in outputs:  # an output inside the memory is copied after all has run
        if (span := spans.get(aliases.root(value))) is not None:
            span.last = len(groups)
    for position, group in enumerate(groups):
        if group.dtype is not None:
            _reuse_in_place(group, position, aliases, spans)
    return spans


def _find_lifetimes(
    groups: list[OperationGroup], aliases: Aliases, internal: set[int]
) -> dict[int, Span]:
    """Finds the group that writes each value, and the last that reads it."""
    spans: dict[int, Span] = {}
    for position, group in enumerate(groups):
        for value in group.inputs():
            if (span := spans.get(aliases.root(value))) is not None:
                span.last = position
        for value in group.outputs():
            if value.number in internal:
                spans[value.number] = Span(value.number, value.nbytes, position, position)
    return spans


def _reuse_in_place(
    group: OperationGroup, position: int, aliases: Aliases, spans: dict[int, Span]
) -> None:
    """Lets the results of a fused group reuse the bytes of operands that it reads last."""
    free = _find_free_operands(group, position, aliases, spans)
    # A reduction along an axis of length 1 has the group's shape, but is no elementwise
    # result.
    reductions = {
        operation.outputs[0].number
        for operation in group.operations
        if find_dtype(operation) is None
    }
    for value in group.outputs():
        span = spans.get(value.number)
        if span is None or value.shape != group.shape or value.number in reductions:
            continue
        same = [root for root in free if aliases.values[root].dtype == value.dtype]
        if same:
            span.over = same[0]
            free.remove(same[0])


def _find_free_operands(
    group: OperationGroup, position: int, aliases: Aliases, spans: dict[int, Span]
) -> list[int]:
    """Returns the values that a group reads element by element, and nothing reads later."""
    reads = list(group.inputs())
    plain = {
        value.number
        for value in reads
        if value.shape == group.shape and aliases.is_whole(value)
    }
    views: dict[int, set[int]] = {}  # by root
    for value in reads:
        views.setdefault(aliases.root(value), set()).add(value.number)
    return [
        root
        for root, numbers in views.items()
        if root in spans and spans[root].last == position and numbers <= plain
    ]


def place_spans(spans: dict[int, Span]) -> int:
    """Sets the offset of each span; returns the total number of bytes."""
    # Spans that are in use at the same time do not overlap. The largest come first, each at
    # the lowest offset that is free. Spans that reuse each other's bytes share an offset.
    chains: dict[int, list[Span]] = {}
    for span in spans.values():
        chains.setdefault(_find_chain_start(span, spans), []).append(span)
    placed = np.empty((4, 0), np.int64)  # rows: first, last, offset, end; by offset
    for chain in sorted(chains.values(), key=lambda chain: -chain[0].nbytes):
        first, last = min(s.first for s in chain), max(s.last for s in chain)
        size = -(-chain[0].nbytes // CACHE_LINE) * CACHE_LINE
        offset = _find_gap(placed[2:, (placed[0] <= last) & (first <= placed[1])], size)
        column = int(np.searchsorted(placed[2], offset))
        placed = np.insert(placed, column, [first, last, offset, offset + size], axis=1)
        for span in chain:
            span.offset = offset
    return int(placed[3].max(initial=0))


def _find_chain_start(span: Span, spans: dict[int, Span]) -> int:
    """Returns the first of the values that reuse each other's bytes."""
    while span.over is not None:
        span = spans[span.over]
    return span.number


def _find_gap(used: NDArray[np.int64], size: int) -> int:
    """Returns the lowest free offset for `size` bytes; `used` is sorted by offset."""
    starts, ends = used
    # Everything below an offset ends at the highest end before it.
    free = np.maximum.accumulate(np.append(0, ends))
    is_wide = np.append(starts - free[:-1] >= size, True)  # there is room after the last
    return int(free[is_wide.argmax()])
