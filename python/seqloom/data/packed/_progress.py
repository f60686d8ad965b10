"""The position of a packed stream, and its saved states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.data._position import STATE_FORMAT, check_state

if TYPE_CHECKING:
    from seqloom._rust import _native

    # Items 1 and 2: first record to read again (file, record, ordinal); next window
    # (ordinal, first residue). Items 3 and 4: hash of the content before that window;
    # waiting windows.
    StreamPosition = tuple[
        tuple[int, int, int], tuple[int, int], int, list[tuple[int, int]]
    ]


@dataclass(slots=True)
class StreamProgress:
    """The position of a packed stream, and the number of its batches so far."""

    start: StreamPosition
    position: int = 0
    is_done: bool = False
    native: _native.PackedStream | None = None
    content: int | None = None

    @classmethod
    def first(cls, record: int = 0) -> StreamProgress:
        """Return a position at a record of the first file."""
        return cls(((0, record, record), (record, 0), 0, []))

    @classmethod
    def load(cls, state: Any, identity: dict[str, Any]) -> StreamProgress:
        """Restore the position from a saved state."""
        check_state(state, {**identity}, owner="packed stream")
        place = state["place"]
        start: Any = (
            tuple(place["from"]),
            tuple(place["next"]),
            int(place["content"], 16),
            [tuple(window) for window in place["waiting"]],
        )
        is_done = bool(state["is_done"])
        content = start[2] if is_done else None
        return cls(start, int(state["position"]), is_done, content=content)

    @property
    def place(self) -> StreamPosition:
        """The position after the last batch."""
        position = None if self.native is None else self.native.place()
        return self.start if position is None else position

    def save(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Return the position as values that JSON can store."""
        first, following, content, waiting = self.place
        return {
            "version": STATE_FORMAT,
            "epoch": 0,
            "position": self.position,
            "is_done": self.is_done,
            "place": {
                "from": [*first],
                "next": [*following],
                "content": format_hash(content),
                "waiting": [[*window] for window in waiting],
            },
            **identity,
        }


def format_hash(content: int) -> str:
    """Return a hash as 16 hexadecimal digits."""
    return f"{content:016x}"
