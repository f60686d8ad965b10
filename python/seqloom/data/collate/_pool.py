"""What waits to be packed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from numpy.typing import NDArray

    # A number, and an item with its tokens.
    Waiting = tuple[int, tuple[dict[str, Any], NDArray[np.int64]]]


class Pool:
    """Items with their tokens, in the order they came in."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._waiting: list[Waiting] = []
        self._tokens = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, number: int, item: tuple[dict[str, Any], NDArray[np.int64]]) -> None:
        """Lets an item wait."""
        self._waiting.append((number, item))
        self._tokens += item[1].size

    def is_full(self, window: int) -> bool:
        """Tells whether enough wait to choose among: items, and tokens for two batches."""
        return len(self._waiting) >= window and self._tokens >= 2 * self._room

    def take(self) -> list[Waiting]:
        """Takes out the one that has waited longest, and what goes best with it."""
        lengths = np.array([row.size for _, (_, row) in self._waiting], np.int64)
        positions: list[int] = _native.best_fit(lengths, self._room).tolist()
        taken = [self._waiting[position] for position in positions]
        self._tokens -= int(lengths[positions].sum())
        chosen = set(positions)
        self._waiting = [
            item for position, item in enumerate(self._waiting) if position not in chosen
        ]
        return taken
