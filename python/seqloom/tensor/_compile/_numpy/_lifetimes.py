"""From when to when each value is needed, and which may take another's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._compile._numpy._arena import Span
from seqloom.tensor._compile._numpy._fusable import computed_in

if TYPE_CHECKING:
    from seqloom.tensor._compile._numpy._memory import Memory
    from seqloom.tensor._compile._numpy._units import Unit
    from seqloom.tensor._graph import Value


def spans_of(
    units: list[Unit], memory: Memory, kept: set[int], outputs: list[Value]
) -> dict[int, Span]:
    """The time and size of each value that a plan keeps in its own memory.

    Args:
        units: What runs, in order.
        memory: Which values share memory.
        kept: Numbers of the values that the plan keeps.
        outputs: What leaves: a copy of what is kept is made after all has run.

    Returns:
        A span without a place for each of them; some are over others.
    """
    spans = _lives(units, memory, kept)
    for value in outputs:
        if (span := spans.get(memory.root(value))) is not None:
            span.last = len(units)
    for place, unit in enumerate(units):
        if unit.dtype is not None:
            _write_over(unit, place, memory, spans)
    return spans


def _lives(units: list[Unit], memory: Memory, kept: set[int]) -> dict[int, Span]:
    """From the unit that makes a value to the last that reads it."""
    spans: dict[int, Span] = {}
    for place, unit in enumerate(units):
        for value in unit.inputs():
            if (span := spans.get(memory.root(value))) is not None:
                span.last = place
        for value in unit.outputs():
            if value.number in kept:
                spans[value.number] = Span(value.number, value.nbytes, place, place)
    return spans


def _write_over(unit: Unit, place: int, memory: Memory, spans: dict[int, Span]) -> None:
    """Lets what a group stores take the place of what it reads last."""
    dying = _dying(unit, place, memory, spans)
    # A fold of one number along its axis has the shape of the group, and is yet no part.
    folds = {op.outputs[0].number for op in unit.operations if computed_in(op) is None}
    for value in unit.outputs():
        span = spans.get(value.number)
        if span is None or value.shape != unit.shape or value.number in folds:
            continue
        like = [each for each in dying if memory.values[each].dtype == value.dtype]
        if like:
            span.over = like[0]
            dying.remove(like[0])


def _dying(unit: Unit, place: int, memory: Memory, spans: dict[int, Span]) -> list[int]:
    """The values that nobody needs after a group, and that it reads number by number."""
    reads = list(unit.inputs())
    plain = {
        value.number
        for value in reads
        if value.shape == unit.shape and memory.is_whole(value)
    }
    own: dict[int, set[int]] = {}
    for value in reads:
        own.setdefault(memory.root(value), set()).add(value.number)
    return [
        root
        for root, values in own.items()
        if root in spans and spans[root].last == place and values <= plain
    ]
