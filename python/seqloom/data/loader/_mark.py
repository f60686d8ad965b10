"""How far an epoch has been handed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Item = TypeVar("Item")

_NONE: Any = object()  # behind the last


@dataclass(slots=True)
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
    held = next(rest, _NONE)
    while held is not _NONE:
        try:
            following = next(rest, _NONE)
        except Exception as error:
            yield held, False
            raise error  # noqa: TRY201 - the block it came from has been left meanwhile
        yield held, following is _NONE
        held = following
