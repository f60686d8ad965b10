"""Where in one piece of memory each value lies, and from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LINE = 64  # bytes: vectors are read fastest from where a line of the cache begins


@dataclass(slots=True)
class Span:
    """Some bytes that are in use from one unit of a plan to another.

    Attributes:
        number: The value that lies there.
        nbytes: How many.
        first: The place of the unit that writes it.
        last: The place of the last unit that reads it.
        over: The value whose place it takes, where it is written over a dying one.
        offset: Where it begins.
    """

    number: int
    nbytes: int
    first: int
    last: int
    over: int | None = None
    offset: int = 0


def placed(spans: dict[int, Span]) -> int:
    """Gives every span an offset such that no two that are in use together overlap.

    The largest are placed first, each as low as it can be. Spans that take another's place
    are one with it.

    Args:
        spans: By the number of their value; their offsets are set.

    Returns:
        How many bytes they need together.
    """
    chains: dict[int, list[Span]] = {}
    for span in spans.values():
        chains.setdefault(_head(span, spans), []).append(span)
    done = np.empty((4, 0), np.int64)  # first, last, offset, end: by offset
    for chain in sorted(chains.values(), key=lambda chain: -chain[0].nbytes):
        first, last = min(s.first for s in chain), max(s.last for s in chain)
        size = -(-chain[0].nbytes // _LINE) * _LINE
        offset = _gap(done[2:, (done[0] <= last) & (first <= done[1])], size)
        place = int(np.searchsorted(done[2], offset))
        row = np.array([first, last, offset, offset + size])
        done = np.insert(done, place, row, axis=1)
        for span in chain:
            span.offset = offset
    return int(done[3].max(initial=0))


def _head(span: Span, spans: dict[int, Span]) -> int:
    """The first value of those that take each other's place."""
    while span.over is not None:
        span = spans[span.over]
    return span.number


def _gap(taken: NDArray[np.int64], size: int) -> int:
    """The lowest offset at which so many bytes are free; what is taken is in order."""
    lows, ends = taken
    # All that lies below an offset ends at the highest end before it.
    free = np.maximum.accumulate(np.append(0, ends))
    is_wide = np.append(lows - free[:-1] >= size, True)  # behind the last there is room
    return int(free[is_wide.argmax()])
