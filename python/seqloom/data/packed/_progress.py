"""How far a packed stream is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.data._position import STATE_FORMAT, check_state

if TYPE_CHECKING:
    from seqloom._rust import _native

    # The first record that is needed again (file, record, ordinal), the window that is read
    # next (ordinal, first letter), the hash of the content before it, and those that wait.
    Place = tuple[tuple[int, int, int], tuple[int, int], int, list[tuple[int, int]]]


@dataclass(slots=True)
class Progress:
    """How many batches a stream has handed out, and where it goes on."""

    start: Place
    position: int = 0
    is_done: bool = False
    native: _native.PackedStream | None = None
    content: int | None = None

    @classmethod
    def first(cls, record: int = 0) -> Progress:
        """Stand before a record of the first file."""
        return cls(((0, record, record), (record, 0), 0, []))

    @classmethod
    def load(cls, state: Any, identity: dict[str, Any]) -> Progress:
        """Stand where a state was saved."""
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
    def place(self) -> Place:
        """Where the stream goes on behind the last batch."""
        behind = None if self.native is None else self.native.place()
        return self.start if behind is None else behind

    def save(self, identity: dict[str, Any]) -> dict[str, Any]:
        """Return all of it in values that JSON can hold."""
        first, following, content, waiting = self.place
        return {
            "version": STATE_FORMAT,
            "epoch": 0,
            "position": self.position,
            "is_done": self.is_done,
            "place": {
                "from": [*first],
                "next": [*following],
                "content": hex_of(content),
                "waiting": [[*window] for window in waiting],
            },
            **identity,
        }


def hex_of(content: int) -> str:
    """Write a hash."""
    return f"{content:016x}"
