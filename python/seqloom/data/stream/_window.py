"""Shuffling a stream within windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from seqloom.data._order import permutation
from seqloom.data.stream._chunk import cut_chunks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._key import Key
    from seqloom.data.stream._chunk import Chunk


@dataclass(frozen=True, slots=True)
class ShuffleWindows:
    """Cuts a stream into windows and shuffles each by a key of its own."""

    # A key makes the first window shorter, so that the borders of the windows differ from
    # epoch to epoch. The order in a window depends on the key and its position only.

    size: int  # records in a window; 0 leaves the stream as it is
    key: Key

    @property
    def _first(self) -> int:
        """The size of the first window."""
        return 1 + int(self.key.fold("window").bits(1)[0]) % self.size

    def _number(self, position: int) -> int:
        """Returns the number of the window of a position."""
        return 0 if position < self._first else 1 + (position - self._first) // self.size

    def start(self, position: int) -> int:
        """Returns the start of the window of a position: reading must begin there."""
        if not self.size:
            return position
        number = self._number(position)
        return self._first + (number - 1) * self.size if number else 0

    def shuffle(self, chunks: Iterator[Chunk], position: int) -> Iterator[Chunk]:
        """Shuffles a stream that begins at the start of the window of a position."""
        if not self.size:
            yield from chunks
            return
        number = self._number(position)
        for window in cut_chunks(chunks, self._sizes(number)):
            mixed = self._mix(window, number)
            skipped = max(position - int(window.positions[0]), 0)
            number += 1
            yield mixed.cut(skipped, len(mixed))

    def _sizes(self, number: int) -> Iterator[int]:
        """Yields the sizes of the windows."""
        if number == 0:
            yield self._first
        while True:
            yield self.size

    def _mix(self, window: Chunk, number: int) -> Chunk:
        """Shuffles one window."""
        mixed = window.take(permutation(len(window), self.key.fold(number)))
        return mixed.replace_columns(positions=np.array(window.positions))
