"""Shuffling a stream within windows, as a key says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom.data._order import permutation
from seqloom.data.stream._chunk import in_sizes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._key import Key
    from seqloom.data.stream._chunk import Chunk


@dataclass(frozen=True, slots=True)
class Windows:
    """Cuts a stream into windows and orders each by a key of its own.

    The first window is shorter by what the key draws, so that from epoch to epoch records
    meet other neighbours. What stands at a place depends on key and place alone.

    Args:
        size: Records in a window; 0 leaves the stream as it is.
        key: Which of the many orders.

    Examples:
        >>> from seqloom import Key
        >>> Windows(4, Key(0)).start(0)
        0
    """

    size: int
    key: Key

    @property
    def _first(self) -> int:
        """The size of the first window."""
        return 1 + int(self.key.fold("window").bits(1)[0]) % self.size

    def _number(self, place: int) -> int:
        """Tells in which window a place lies."""
        return 0 if place < self._first else 1 + (place - self._first) // self.size

    def start(self, place: int) -> int:
        """Tells where the window of a place begins: from there it must be read."""
        if not self.size:
            return place
        number = self._number(place)
        return self._first + (number - 1) * self.size if number else 0

    def shuffle(self, chunks: Iterator[Chunk], place: int) -> Iterator[Chunk]:
        """Orders a stream that begins where the window of a place begins."""
        if not self.size:
            yield from chunks
            return
        number = self._number(place)
        for window in in_sizes(chunks, self._sizes(number)):
            mixed = self._mixed(window, number)
            skipped = max(place - int(window.places[0]), 0)
            number += 1
            yield mixed.cut(skipped, len(mixed))

    def _sizes(self, number: int) -> Iterator[int]:
        """Lists sizes of windows."""
        if number == 0:
            yield self._first
        while True:
            yield self.size

    def _mixed(self, window: Chunk, number: int) -> Chunk:
        """Orders one window."""
        mixed = window.take(permutation(len(window), self.key.fold(number)))
        return mixed.apart(places=np.array(window.places))
