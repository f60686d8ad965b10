"""Where in one piece of memory each value lies, and from when to when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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
    done: list[tuple[int, int, int, int]] = []  # first, last, offset, end
    for chain in sorted(chains.values(), key=lambda chain: -chain[0].nbytes):
        first, last = min(s.first for s in chain), max(s.last for s in chain)
        size = -(-chain[0].nbytes // _LINE) * _LINE
        taken = [(low, end) for a, b, low, end in done if a <= last and first <= b]
        offset = _gap(taken, size)
        done.append((first, last, offset, offset + size))
        for span in chain:
            span.offset = offset
    return max((end for *_, end in done), default=0)


def _head(span: Span, spans: dict[int, Span]) -> int:
    """The first value of those that take each other's place."""
    while span.over is not None:
        span = spans[span.over]
    return span.number


def _gap(taken: Iterable[tuple[int, int]], size: int) -> int:
    """The lowest offset at which so many bytes are free."""
    offset = 0
    for low, end in sorted(taken):
        if low - offset >= size:
            break
        offset = max(offset, end)
    return offset
