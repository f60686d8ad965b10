"""Records on their way through a stream, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._extent import Extents, extents_of
from seqloom.io import SequenceBatch
from seqloom.io._rows import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Source:
    """Records that were read at once.

    What is asked of all of them is found out once, for all the batches that they become.

    Args:
        batch: The records.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> rows = Ragged.from_list(["a", "b"])
        >>> Source(SequenceBatch(rows, rows)).store[1]
        ('b', b'b', None)
    """

    batch: SequenceBatch
    _store: _native.RecordStore | None = field(init=False, default=None)
    _extents: Extents | None = field(init=False, default=None)
    _places: NDArray[np.int64] | None = field(init=False, default=None)
    _short: NDArray[np.int64] | None = field(init=False, default=None)

    @property
    def store(self) -> _native.RecordStore:
        """The records where threads read them without the interpreter."""
        if self._store is None:
            headers, sequences = self.batch.headers, self.batch.sequences
            names = headers.data, headers.offsets
            letters = sequences.data, sequences.offsets
            self._store = _native.RecordStore(names, letters, None)
        return self._store

    def extents(self, encoder: Any) -> Extents:
        """Tells how many places the stream's encoder makes of each record."""
        if self._extents is None:
            self._extents = Extents.of(self._counted(encoder))
        return self._extents

    def too_short(self, encoder: Any) -> NDArray[np.int64]:
        """Lists the records of which the stream's encoder can make nothing."""
        if self._short is None:
            self._short = np.flatnonzero(self._counted(encoder) < 1)
        return self._short

    def _counted(self, encoder: Any) -> NDArray[np.int64]:
        """Counts the places of each record."""
        if self._places is None:
            self._places = extents_of(encoder, self.batch.sequences)
        return self._places


@dataclass(slots=True, eq=False)
class Chunk:
    """Some records of a stream, in the order in which it hands them out.

    Args:
        source: Where the records are, neighbours among others.
        first: The first of them there.
        ordinals: Where each stands among the records of all files.
        files: The number of each one's file.
        records: Where each stands in its file.
        places: Where each stands in the stream.
        labels: Each one's label, where there are labels.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> rows = Ragged.from_list(["a", "b"])
        >>> numbers = np.arange(2)
        >>> chunk = Chunk(Source(SequenceBatch(rows, rows)), 0, *4 * [numbers])
        >>> chunk.take(np.array([1])).batch.ids
        ['b']
    """

    source: Source
    first: int
    ordinals: NDArray[np.int64]
    files: NDArray[np.int64]
    records: NDArray[np.int64]
    places: NDArray[np.int64]
    labels: NDArray[Any] | None = None

    def __len__(self) -> int:
        return self.ordinals.size

    @property
    def rows(self) -> NDArray[np.int64]:
        """Which of the source's records these are."""
        return np.arange(self.first, self.first + len(self))

    @property
    def batch(self) -> SequenceBatch:
        """The records, without a copy."""
        whole = self.source.batch
        if len(whole) == len(self):
            return whole
        return sliced(whole, slice(self.first, self.first + len(self)))

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        """Copies some records; where they stand in the stream is what they are put at."""
        return Chunk(
            Source(self.batch.take(rows)),
            0,
            self.ordinals[rows],
            self.files[rows],
            self.records[rows],
            self.places[rows],
            None if self.labels is None else self.labels[rows],
        )

    def cut(self, start: int, stop: int) -> Chunk:
        """Takes neighbouring records without a copy."""
        part = slice(start, stop)
        return Chunk(
            self.source,
            self.first + start,
            self.ordinals[part],
            self.files[part],
            self.records[part],
            self.places[part],
            None if self.labels is None else self.labels[part],
        )


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Puts chunks end to end."""
    if len(chunks) == 1:
        return chunks[0]
    labels = [chunk.labels for chunk in chunks if chunk.labels is not None]
    return Chunk(
        Source(join([chunk.batch for chunk in chunks])),
        0,
        np.concatenate([chunk.ordinals for chunk in chunks]),
        np.concatenate([chunk.files for chunk in chunks]),
        np.concatenate([chunk.records for chunk in chunks]),
        np.concatenate([chunk.places for chunk in chunks]),
        np.concatenate(labels) if labels else None,
    )


def in_sizes(chunks: Iterable[Chunk], sizes: Iterator[int]) -> Iterator[Chunk]:
    """Cuts a stream anew, into chunks of the sizes asked for; the last one is the rest."""
    waiting: list[Chunk] = []
    held, size = 0, next(sizes)
    for chunk in chunks:
        start = 0
        while held + len(chunk) - start >= size:
            stop = start + size - held
            yield join_chunks([*waiting, chunk.cut(start, stop)])
            waiting, held, start, size = [], 0, stop, next(sizes)
        if start < len(chunk):
            waiting.append(chunk.cut(start, len(chunk)))
            held += len(waiting[-1])
    if waiting:
        yield join_chunks(waiting)


def sliced(batch: SequenceBatch, part: slice) -> SequenceBatch:
    """Takes neighbouring records of a batch without a copy."""
    return SequenceBatch(
        batch.headers[part],
        batch.sequences[part],
        None if batch.qualities is None else batch.qualities[part],
    )
