"""From when to when each value is needed, and which may take another's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._arena import Span

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._memory import Memory
    from seqloom.tensor._compile._numpy._units import Unit


def spans_of(units: list[Unit], memory: Memory, kept: set[int]) -> dict[int, Span]:
    """The time and size of each value that a plan keeps in its own memory.

    Args:
        units: What runs, in order.
        memory: Which values share memory.
        kept: Numbers of the values that the plan keeps.

    Returns:
        A span without a place for each of them; some are over others.
    """
    spans: dict[int, Span] = {}
    for place, unit in enumerate(units):
        for value in unit.reads():
            if (span := spans.get(memory.root(value))) is not None:
                span.last = place
        for value in unit.makes():
            if value.number in kept:
                spans[value.number] = Span(value.number, value.nbytes, place, place)
    for place, unit in enumerate(units):
        if unit.computes is not None:
            _write_over(unit, place, memory, spans)
    return spans


def _write_over(unit: Unit, place: int, memory: Memory, spans: dict[int, Span]) -> None:
    """Lets what a group stores take the place of what it reads last."""
    dying = _dying(unit, place, memory, spans)
    for value in unit.makes():
        span = spans.get(value.number)
        if span is None or value.shape != unit.shape:
            continue
        like = [each for each in dying if memory.values[each].dtype == value.dtype]
        if like:
            span.over = like[0]
            dying.remove(like[0])


def _dying(unit: Unit, place: int, memory: Memory, spans: dict[int, Span]) -> list[int]:
    """The values that nobody needs after a group, and that it reads number by number."""
    reads = list(unit.reads())
    plain = {
        value.number
        for value in reads
        if value.shape == unit.shape and memory.is_whole(value)
    }
    found: list[int] = []
    for root in dict.fromkeys(memory.root(value) for value in reads):
        own = {value.number for value in reads if memory.root(value) == root}
        if root in spans and spans[root].last == place and own <= plain:
            found.append(root)
    return found
