"""Records on their way through a stream, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._encoder import Extents, extents_of
from seqloom.data._ids import ids_of
from seqloom.data._position import permutation
from seqloom.data._store import share_column
from seqloom.io import SequenceBatch
from seqloom.io._records import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom._key import Key


@dataclass(slots=True, eq=False)
class ChunkSource:
    """Records that were read at once; what depends on all of them is computed once."""

    batch: SequenceBatch
    paths: tuple[str, ...]  # of the stream
    ordinals: NDArray[np.int64]  # positions among the records of all files
    files: NDArray[np.int64]  # the number of the file of each record
    records: NDArray[np.int64]  # positions in their files
    positions: NDArray[np.int64]  # positions in the stream
    labels: NDArray[Any] | None = None
    _store: _native.RecordStore | None = field(init=False, default=None)
    _extents: Extents | None = field(init=False, default=None)
    _counts: NDArray[np.int64] | None = field(init=False, default=None)
    _short: NDArray[np.int64] | None = field(init=False, default=None)

    def whole(self) -> Chunk:
        """Return all records, in their order."""
        return Chunk(self, 0, self.ordinals.size)

    @property
    def store(self) -> _native.RecordStore:
        """The records where threads read them without the interpreter."""
        if self._store is None:
            names = share_column(self.batch.headers)
            letters = share_column(self.batch.sequences)
            self._store = _native.RecordStore(names, letters, None)
        return self._store

    def extents(self, encoder: Any) -> Extents:
        """Return the encoded length of each record."""
        if self._extents is None:
            self._extents = Extents.of(self._count_positions(encoder))
        return self._extents

    def too_short(self, encoder: Any) -> NDArray[np.int64]:
        """List the records that are too short for the encoder."""
        if self._short is None:
            self._short = np.flatnonzero(self._count_positions(encoder) < 1)
        return self._short

    def locate(self, row: int) -> tuple[str, int]:
        """Find the file of a record, and its position there."""
        return self.paths[int(self.files[row])], int(self.records[row])

    def name(self, row: int) -> str:
        """Read the id of a record."""
        return ids_of(self.batch.headers[row : row + 1])[0]

    def _count_positions(self, encoder: Any) -> NDArray[np.int64]:
        """Compute the encoded length of each record."""
        if self._counts is None:
            self._counts = extents_of(encoder, self.batch.sequences)
        return self._counts


@dataclass(slots=True, eq=False)
class Chunk:
    """Consecutive records of a source, in the order in which a stream delivers them."""

    source: ChunkSource
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> NDArray[np.int64]:
        """Positions of these records in the source."""
        return np.arange(self.start, self.stop)

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """Positions among the records of all files."""
        return self.source.ordinals[self.start : self.stop]

    @property
    def positions(self) -> NDArray[np.int64]:
        """Positions in the stream."""
        return self.source.positions[self.start : self.stop]

    @property
    def batch(self) -> SequenceBatch:
        """The records, without a copy."""
        whole = self.source.batch
        if len(whole) == len(self):
            return whole
        return slice_batch(whole, slice(self.start, self.stop))

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        """Copy some records, counted from the first of these."""
        columns = _columns(self.source, rows + self.start)
        return ChunkSource(self.batch.take(rows), self.source.paths, **columns).whole()

    def cut(self, start: int, stop: int) -> Chunk:
        """Take neighbouring records without a copy, counted from the first of these."""
        return Chunk(self.source, self.start + start, self.start + stop)

    def apart(self) -> Chunk:
        """Make a source of these records only, without a copy, to be sent elsewhere."""
        return self.replace_batch(self.batch)

    def replace_batch(self, batch: SequenceBatch) -> Chunk:
        """Make a source of these records only, with other headers."""
        columns = _columns(self.source, slice(self.start, self.stop))
        return ChunkSource(batch, self.source.paths, **columns).whole()

    def replace_columns(self, **changed: NDArray[Any]) -> Chunk:
        """Make a source of these records only, with some columns replaced."""
        columns = _columns(self.source, slice(self.start, self.stop)) | changed
        return ChunkSource(self.batch, self.source.paths, **columns).whole()


def _columns(
    source: ChunkSource, rows: NDArray[np.int64] | slice
) -> dict[str, NDArray[Any]]:
    """Select rows of the columns that describe the records of a source."""
    names = ("ordinals", "files", "records", "positions", "labels")
    columns = {name: getattr(source, name) for name in names}
    return {name: column[rows] for name, column in columns.items() if column is not None}


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Join chunks end to end."""
    if len(chunks) == 1:
        return chunks[0]
    first = chunks[0].source
    parts = [_columns(chunk.source, slice(chunk.start, chunk.stop)) for chunk in chunks]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    batch = join([chunk.batch for chunk in chunks])
    return ChunkSource(batch, first.paths, **columns).whole()


def cut_chunks(chunks: Iterable[Chunk], sizes: Iterator[int]) -> Iterator[Chunk]:
    """Cut a stream into chunks of other sizes; the last chunk is the rest."""
    waiting: list[Chunk] = []
    count, size = 0, next(sizes)
    for chunk in chunks:
        start = 0
        while count + len(chunk) - start >= size:
            stop = start + size - count
            yield join_chunks([*waiting, chunk.cut(start, stop)])
            waiting, count, start, size = [], 0, stop, next(sizes)
        if start < len(chunk):
            waiting.append(chunk.cut(start, len(chunk)))
            count += len(waiting[-1])
    if waiting:
        yield join_chunks(waiting)


def slice_batch(batch: SequenceBatch, part: slice) -> SequenceBatch:
    """Take neighbouring records of a batch without a copy."""
    return SequenceBatch(
        batch.headers[part],
        batch.sequences[part],
        None if batch.qualities is None else batch.qualities[part],
    )


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
        """Return the number of the window of a position."""
        return 0 if position < self._first else 1 + (position - self._first) // self.size

    def start(self, position: int) -> int:
        """Return the start of the window of a position: reading must begin there."""
        if not self.size:
            return position
        number = self._number(position)
        return self._first + (number - 1) * self.size if number else 0

    def shuffle(self, chunks: Iterator[Chunk], position: int) -> Iterator[Chunk]:
        """Shuffle a stream that begins at the start of the window of a position."""
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
        """Yield the sizes of the windows."""
        if number == 0:
            yield self._first
        while True:
            yield self.size

    def _mix(self, window: Chunk, number: int) -> Chunk:
        """Shuffle one window."""
        mixed = window.take(permutation(len(window), self.key.fold(number)))
        return mixed.replace_columns(positions=np.array(window.positions))
