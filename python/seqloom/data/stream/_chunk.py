"""Records on their way through a stream, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._extent import Extents, extents_of
from seqloom.data._ids import ids_of
from seqloom.io import SequenceBatch
from seqloom.io._records import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


@dataclass(slots=True, eq=False)
class Source:
    """Records that were read at once, and where each of them stands.

    What is asked of all of them is found out once, for all the batches that they become.

    Args:
        batch: The records.
        paths: The stream's files.
        ordinals: Where each stands among the records of all files.
        files: The number of each one's file.
        records: Where each stands in its file.
        places: Where each stands in the stream.
        labels: Each one's label, where there are labels.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> rows = Ragged.from_list(["a", "b"])
        >>> numbers = np.arange(2)
        >>> Source(SequenceBatch(rows, rows), ("a.fa",), *4 * [numbers]).store[1]
        ('b', b'b', None)
    """

    batch: SequenceBatch
    paths: tuple[str, ...]
    ordinals: NDArray[np.int64]
    files: NDArray[np.int64]
    records: NDArray[np.int64]
    places: NDArray[np.int64]
    labels: NDArray[Any] | None = None
    _store: _native.RecordStore | None = field(init=False, default=None)
    _extents: Extents | None = field(init=False, default=None)
    _counts: NDArray[np.int64] | None = field(init=False, default=None)
    _short: NDArray[np.int64] | None = field(init=False, default=None)

    def whole(self) -> Chunk:
        """All records, in their order."""
        return Chunk(self, 0, self.ordinals.size)

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

    def place(self, row: int) -> tuple[str, int]:
        """Finds the file that a record comes from, and its number there."""
        return self.paths[int(self.files[row])], int(self.records[row])

    def name(self, row: int) -> str:
        """Reads the id of a record."""
        return ids_of(self.batch.headers[row : row + 1])[0]

    def _counted(self, encoder: Any) -> NDArray[np.int64]:
        """Counts the places of each record."""
        if self._counts is None:
            self._counts = extents_of(encoder, self.batch.sequences)
        return self._counts


@dataclass(slots=True, eq=False)
class Chunk:
    """Neighbouring records of a source, in the order in which a stream hands them out.

    Args:
        source: The records, and others before and behind them.
        start: The first of them there.
        stop: The one behind the last.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> rows = Ragged.from_list(["a", "b"])
        >>> source = Source(SequenceBatch(rows, rows), ("a.fa",), *4 * [rows.lengths])
        >>> chunk = source.whole()
        >>> chunk.take(np.array([1])).batch.ids
        ['b']
    """

    source: Source
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> NDArray[np.int64]:
        """Which of the source's records these are."""
        return np.arange(self.start, self.stop)

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """Where each stands among the records of all files."""
        return self.source.ordinals[self.start : self.stop]

    @property
    def places(self) -> NDArray[np.int64]:
        """Where each stands in the stream."""
        return self.source.places[self.start : self.stop]

    @property
    def batch(self) -> SequenceBatch:
        """The records, without a copy."""
        whole = self.source.batch
        if len(whole) == len(self):
            return whole
        return sliced(whole, slice(self.start, self.stop))

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        """Copies some records, counted from the first of these."""
        columns = _columns(self.source, rows + self.start)
        return Source(self.batch.take(rows), self.source.paths, **columns).whole()

    def cut(self, start: int, stop: int) -> Chunk:
        """Takes neighbouring records without a copy, counted from the first of these."""
        return Chunk(self.source, self.start + start, self.start + stop)

    def apart(self, **changed: NDArray[Any]) -> Chunk:
        """Makes a source of these records alone, some of its columns replaced."""
        columns = _columns(self.source, slice(self.start, self.stop)) | changed
        return Source(self.batch, self.source.paths, **columns).whole()


def _columns(source: Source, rows: NDArray[np.int64] | slice) -> dict[str, NDArray[Any]]:
    """Takes what says where some records stand, and their labels where there are any."""
    names = ("ordinals", "files", "records", "places", "labels")
    columns = {name: getattr(source, name) for name in names}
    return {name: each[rows] for name, each in columns.items() if each is not None}


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Puts chunks end to end."""
    if len(chunks) == 1:
        return chunks[0]
    first = chunks[0].source
    parts = [_columns(chunk.source, slice(chunk.start, chunk.stop)) for chunk in chunks]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    batch = join([chunk.batch for chunk in chunks])
    return Source(batch, first.paths, **columns).whole()


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
