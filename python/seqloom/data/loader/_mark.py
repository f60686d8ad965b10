"""How far an epoch has been handed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in an epoch.

    Args:
        position: How many items of the epoch's order, or batches of a stream, were had.
        stream: What the stream itself says, where it can, or a function that asks it.

    Examples:
        >>> Mark(3).position
        3
    """

    position: int
    stream: Any = None


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Tells of each item whether it is the last, which takes one item ahead."""
    rest = iter(items)
    try:
        held = next(rest)
    except StopIteration:
        return
    for item in rest:
        yield held, False
        held = item
    yield held, True
