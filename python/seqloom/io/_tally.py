"""What is counted while a file is looked through: 16 bytes a record stay in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom.io._batch import SequenceBatch


class Tally:
    """Counts lengths, letters, ids and qualities, batch by batch."""

    def __init__(self) -> None:
        self.counts = np.zeros(256, np.int64)
        self.profile = _native.SequenceProfile()
        self._lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        self._names: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each record."""
        return np.concatenate(self._lengths)

    @property
    def names(self) -> NDArray[np.uint64]:
        """A number for the id of each record."""
        return np.concatenate(self._names)

    def add(self, batches: Iterable[SequenceBatch]) -> None:
        """Counts all records of the batches."""
        for batch in batches:
            data, offsets = batch.sequences.data, batch.sequences.offsets
            self._lengths.append(batch.sequences.lengths)
            self._names.append(hash_ids(batch))
            self.counts += _native.count_letters(data)
            self.profile.add(data, offsets)
            if batch.qualities is not None:
                self.profile.add_qualities(batch.qualities.data, batch.qualities.offsets)


def hash_ids(batch: SequenceBatch) -> NDArray[np.uint64]:
    """Gives a number for the id of each record: the same for the same id."""
    return _native.hash_ids(batch.headers.data, batch.headers.offsets)
