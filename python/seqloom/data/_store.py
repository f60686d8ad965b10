"""Stores of records: in memory, or in files that are read through an index."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._rust import _native
from seqloom.data._ids import headers_to_ids
from seqloom.data._paths import digest_records, open_index
from seqloom.errors import FormatError
from seqloom.io import SequenceBatch
from seqloom.io._records import join_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._encoder import Letters
    from seqloom.data._inputs import Inputs
    from seqloom.data._paths import RecordColumns

_MAX_FETCHED_IDS = 4096

MEMORY_LIMIT_BYTES = 1 << 30
Store: TypeAlias = "MemoryStore | IndexedStore"


class MemoryStore:
    """In-memory records, stored as columns."""

    def __init__(self, batch: SequenceBatch, counts: NDArray[np.int64]) -> None:
        self.counts = counts
        self.lengths: NDArray[np.int64] = batch.sequences.lengths
        self._headers: Ragged | None = batch.headers
        names = Ragged(*_native.first_words(*make_read_only(batch.headers)))
        self._columns = (names, batch.sequences, batch.qualities)
        self.native = _native.RecordStore(
            make_read_only(names),
            make_read_only(batch.sequences),
            None if batch.qualities is None else make_read_only(batch.qualities),
        )

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of rows."""
        return self.native.ids(rows)

    @property
    def letters(self) -> Letters:
        """The sequences and qualities of all records."""
        return self._columns[1:]

    def fetch(
        self, rows: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Return ids, sequences and qualities of rows."""
        letters, qualities = self.native.take(rows, num_threads)
        columns = Ragged(*letters), None if qualities is None else Ragged(*qualities)
        return self.native.ids(rows), columns

    def batches(self) -> Iterator[SequenceBatch]:
        """Yield all records as one batch."""
        names, sequences, qualities = self._columns
        headers = names if self._headers is None else self._headers
        yield SequenceBatch(headers, sequences, qualities)

    def forget_headers(self) -> None:
        """Free the headers, which are needed only for labels; the ids remain."""
        self._headers = None

    def digest(self) -> bytes:
        """Return a hash of ids, sequences and qualities."""
        return digest_records([self._columns])

    def stamp(self) -> bytes:
        """Return a hash that changes with the content of the files."""
        return self.digest()


def make_read_only(rows: Ragged) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Make the arrays of a column read-only, because Rust threads read them."""
    rows.data.flags.writeable = rows.offsets.flags.writeable = False
    return rows.data, rows.offsets


def read_store(inputs: Inputs, limit: int | None = None) -> MemoryStore | None:
    """Read files into memory; return None if they exceed the limit in bytes."""
    if limit is not None and sum(map(_file_size, inputs.paths)) > limit:
        return None
    columns, counts, kinds = _StoreBuilder(), [0] * len(inputs.paths), list[bool]()
    for number, path in enumerate(inputs.paths):
        for batch in inputs.batches(path):
            if not counts[number]:
                kinds.append(batch.qualities is not None)
                check_not_mixed(inputs.paths[: number + 1], kinds)
            counts[number] += len(batch)
            columns.append(batch)
            letters = batch.sequences.data.size * (1 + (batch.qualities is not None))
            size = letters + batch.headers.data.size + 16 * len(batch)
            if limit is not None and (limit := limit - size) < 0:
                return None
    return MemoryStore(columns.finish(), np.array(counts, np.int64))


class _StoreBuilder:
    """Builds the columns of a `MemoryStore` from batches.

    Appending each batch to growing arrays allocates less memory than joining all batches at
    the end.
    """

    def __init__(self) -> None:
        self._headers = _native.ColumnBuilder()
        self._sequences = _native.ColumnBuilder()
        self._qualities = _native.ColumnBuilder()
        self._has_qualities = False

    def append(self, batch: SequenceBatch) -> None:
        """Add the records of a batch."""
        self._headers.append(*make_read_only(batch.headers))
        self._sequences.append(*make_read_only(batch.sequences))
        if batch.qualities is not None:
            self._qualities.append(*make_read_only(batch.qualities))
            self._has_qualities = True

    def finish(self) -> SequenceBatch:
        """Return all records."""
        qualities = Ragged(*self._qualities.finish())
        return SequenceBatch(
            Ragged(*self._headers.finish()),
            Ragged(*self._sequences.finish()),
            qualities if self._has_qualities else None,
        )


def _file_size(path: str) -> int:
    """Return the size of a file in bytes; 0 if it cannot be read."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def check_not_mixed(paths: tuple[str, ...], has_qualities: list[bool]) -> None:
    """Raise if FASTA and FASTQ files are mixed."""
    if len(set(has_qualities)) > 1:
        other = paths[has_qualities.index(not has_qualities[0])]
        names = ("FASTA", "FASTQ")
        raise FormatError(
            f"{other}: {names[not has_qualities[0]]}, but {paths[0]} is "
            f"{names[has_qualities[0]]}; create a dataset for each format",
            path=other,
        )


class IndexedStore:
    """Records that are read from their files through an index."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._indexes = [open_index(path) for path in inputs.paths]
        self.counts: NDArray[np.int64] = np.array(list(map(len, self._indexes)), np.int64)
        self._starts = lengths_to_offsets(self.counts)
        self.lengths: NDArray[np.int64] = np.concatenate(
            [index.lengths for index in self._indexes]
        )
        kinds = [index.format == "fastq" for index in self._indexes]
        check_not_mixed(inputs.paths, kinds)

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Return the ids of rows."""
        if rows.size <= _MAX_FETCHED_IDS:
            return self.fetch(rows)[0]
        # Reading all headers is faster than fetching many records with their sequences.
        names = [name for index in self._indexes for name in index.ids]
        if rows.size == len(names) and (rows == np.arange(rows.size)).all():
            return names
        return [names[row] for row in rows.tolist()]

    def fetch(
        self, rows: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Return ids, sequences and qualities of rows."""
        batch = self._read(rows, num_threads)
        return headers_to_ids(batch.headers), (batch.sequences, batch.qualities)

    def _read(self, rows: NDArray[np.int64], num_threads: int) -> SequenceBatch:
        """Read records of one or more files, in the order of the rows."""
        if len(self._indexes) == 1:
            return self._indexes[0].fetch_many(rows, num_threads=num_threads)
        files = np.searchsorted(self._starts, rows, side="right") - 1
        parts: list[SequenceBatch] = []
        positions: list[NDArray[np.int64]] = []
        for number, index in enumerate(self._indexes):
            here = np.flatnonzero(files == number)
            numbers = rows[here] - self._starts[number]
            if here.size:
                parts.append(index.fetch_many(numbers, num_threads=num_threads))
                positions.append(here)
        if len(parts) <= 1:
            return parts[0] if parts else self._indexes[0].fetch_many(rows)
        return join_batches(parts).take(np.argsort(np.concatenate(positions)))

    def batches(self) -> Iterator[SequenceBatch]:
        """Yield all records in order."""
        for path in self._inputs.paths:
            yield from self._inputs.batches(path)

    def forget_headers(self) -> None:
        """Do nothing, because the headers are not in memory."""

    def digest(self) -> bytes:
        """Return a hash of the content; reads all files."""
        return digest_records(map(_batch_columns, self.batches()))

    def stamp(self) -> bytes:
        """Return a hash of the files at the time of indexing."""
        whole = hashlib.blake2b(digest_size=16)
        for index in self._indexes:
            whole.update(repr((index.content, len(index), index.letters)).encode())
        return whole.digest()


def _batch_columns(batch: SequenceBatch) -> RecordColumns:
    headers = batch.headers
    names = Ragged(*_native.first_words(headers.data, headers.offsets))
    return names, batch.sequences, batch.qualities
