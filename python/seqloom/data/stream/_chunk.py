"""Chunks of stream records, as columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.data._encoder import Extents, encoded_extents
from seqloom.data._ids import headers_to_ids
from seqloom.data._position import permutation
from seqloom.data._store import make_read_only
from seqloom.io import SequenceBatch
from seqloom.io._records import join_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom._key import Key


@dataclass(slots=True, eq=False)
class ChunkSource:
    """Records that were read together; some values are computed once for all records."""

    batch: SequenceBatch
    paths: tuple[str, ...]
    ordinals: NDArray[np.int64]  # Index of each record over all files.
    files: NDArray[np.int64]  # Index of the file of each record.
    records: NDArray[np.int64]  # Index of each record in its file.
    positions: NDArray[np.int64]  # Index of each record in the stream.
    labels: NDArray[Any] | None = None
    _store: _native.RecordStore | None = field(init=False, default=None)
    _extents: Extents | None = field(init=False, default=None)
    _counts: NDArray[np.int64] | None = field(init=False, default=None)
    _short: NDArray[np.int64] | None = field(init=False, default=None)

    def as_chunk(self) -> Chunk:
        """Return all records as a chunk."""
        return Chunk(self, 0, self.ordinals.size)

    @property
    def store(self) -> _native.RecordStore:
        """The records in a Rust store, for threads without the interpreter."""
        if self._store is None:
            names = make_read_only(self.batch.headers)
            letters = make_read_only(self.batch.sequences)
            self._store = _native.RecordStore(names, letters, None)
        return self._store

    def extents(self, encoder: Any) -> Extents:
        """Return the encoded length of each record."""
        if self._extents is None:
            self._extents = Extents.of(self._count_positions(encoder))
        return self._extents

    def find_too_short(self, encoder: Any) -> NDArray[np.int64]:
        """Return the rows that are too short for the encoder."""
        if self._short is None:
            self._short = np.flatnonzero(self._count_positions(encoder) < 1)
        return self._short

    def locate(self, row: int) -> tuple[str, int]:
        """Return the file of a record, and its index in the file."""
        return self.paths[int(self.files[row])], int(self.records[row])

    def name(self, row: int) -> str:
        """Return the id of a record."""
        return headers_to_ids(self.batch.headers[row : row + 1])[0]

    def _count_positions(self, encoder: Any) -> NDArray[np.int64]:
        """Return the encoded length of each record, computed once."""
        if self._counts is None:
            self._counts = encoded_extents(encoder, self.batch.sequences)
        return self._counts


@dataclass(slots=True, eq=False)
class Chunk:
    """Consecutive records of a source, in stream order."""

    source: ChunkSource
    start: int
    stop: int

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def rows(self) -> NDArray[np.int64]:
        """Rows of the chunk's records in the source."""
        return np.arange(self.start, self.stop)

    @property
    def ordinals(self) -> NDArray[np.int64]:
        """Index of each record over all files."""
        return self.source.ordinals[self.start : self.stop]

    @property
    def positions(self) -> NDArray[np.int64]:
        """Index of each record in the stream."""
        return self.source.positions[self.start : self.stop]

    @property
    def batch(self) -> SequenceBatch:
        """The records, without a copy."""
        whole = self.source.batch
        if len(whole) == len(self):
            return whole
        return slice_batch(whole, slice(self.start, self.stop))

    def take(self, rows: NDArray[np.int64]) -> Chunk:
        """Return a copy of some records; row 0 is the first record of this chunk."""
        columns = _all_columns(self.source, rows + self.start)
        return ChunkSource(self.batch.take(rows), self.source.paths, **columns).as_chunk()

    def cut(self, start: int, stop: int) -> Chunk:
        """Return a range of this chunk as a view."""
        return Chunk(self.source, self.start + start, self.start + stop)

    def copy_detached(self) -> Chunk:
        """Return a copy with only the records of this chunk, to send to another process."""
        return self.replace_batch(self.batch)

    def replace_batch(self, batch: SequenceBatch) -> Chunk:
        """Return a copy of this chunk with the headers of another batch."""
        columns = _all_columns(self.source, slice(self.start, self.stop))
        return ChunkSource(batch, self.source.paths, **columns).as_chunk()

    def replace_columns(self, **changed: NDArray[Any]) -> Chunk:
        """Return a copy of this chunk with some columns replaced."""
        columns = _all_columns(self.source, slice(self.start, self.stop)) | changed
        return ChunkSource(self.batch, self.source.paths, **columns).as_chunk()


def _all_columns(
    source: ChunkSource, rows: NDArray[np.int64] | slice
) -> dict[str, NDArray[Any]]:
    names = ("ordinals", "files", "records", "positions", "labels")
    columns = {name: getattr(source, name) for name in names}
    return {name: column[rows] for name, column in columns.items() if column is not None}


def join_chunks(chunks: list[Chunk]) -> Chunk:
    """Concatenate chunks."""
    if len(chunks) == 1:
        return chunks[0]
    first = chunks[0].source
    parts = [_all_columns(chunk.source, slice(chunk.start, chunk.stop)) for chunk in chunks]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    batch = join_batches([chunk.batch for chunk in chunks])
    return ChunkSource(batch, first.paths, **columns).as_chunk()


def resize_chunks(chunks: Iterable[Chunk], sizes: Iterator[int]) -> Iterator[Chunk]:
    """Yield the records in chunks of the given sizes; the last chunk may be smaller."""
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
    """Return a range of a batch as a view."""
    return SequenceBatch(
        batch.headers[part],
        batch.sequences[part],
        None if batch.qualities is None else batch.qualities[part],
    )


@dataclass(frozen=True, slots=True)
class ShuffleWindows:
    """Shuffles a stream within windows of records."""

    # The first window is shortened at random, so that windows have other boundaries in
    # each epoch. The order in a window depends only on the key and the window's number.

    size: int  # records in a window; 0 for no shuffling
    key: Key

    @property
    def _first(self) -> int:
        return 1 + int(self.key.fold("window").bits(1)[0]) % self.size

    def _window_number(self, position: int) -> int:
        return 0 if position < self._first else 1 + (position - self._first) // self.size

    def start(self, position: int) -> int:
        """Return the start of the window of ``position``, where reading must begin."""
        if not self.size:
            return position
        number = self._window_number(position)
        return self._first + (number - 1) * self.size if number else 0

    def shuffle(self, chunks: Iterator[Chunk], position: int) -> Iterator[Chunk]:
        """Yield shuffled chunks; the stream begins at the window of ``position``."""
        if not self.size:
            yield from chunks
            return
        number = self._window_number(position)
        for window in resize_chunks(chunks, self._window_sizes(number)):
            mixed = self._shuffle_window(window, number)
            skipped = max(position - int(window.positions[0]), 0)
            number += 1
            yield mixed.cut(skipped, len(mixed))

    def _window_sizes(self, number: int) -> Iterator[int]:
        if number == 0:
            yield self._first
        while True:
            yield self.size

    def _shuffle_window(self, window: Chunk, number: int) -> Chunk:
        mixed = window.take(permutation(len(window), self.key.fold(number)))
        return mixed.replace_columns(positions=np.array(window.positions))
