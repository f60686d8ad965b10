"""Records that stay in their files, read through an index."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import Ragged, offsets_of
from seqloom._rust import _native
from seqloom.data._content import content_digest
from seqloom.data._file_index import index_of
from seqloom.data._ids import ids_of
from seqloom.data._store import check_one_kind
from seqloom.io._records import join

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._content import Columns
    from seqloom.data._encoded import Letters
    from seqloom.data._store import Inputs
    from seqloom.io import SequenceBatch

_AT_ONCE = 4096


class IndexedStore:
    """Records of files that are read where they lie."""

    def __init__(self, inputs: Inputs) -> None:
        self._inputs = inputs
        self._indexes = [index_of(path) for path in inputs.paths]
        self.counts: NDArray[np.int64] = np.array(list(map(len, self._indexes)), np.int64)
        self._starts = offsets_of(self.counts)
        self.lengths: NDArray[np.int64] = np.concatenate(
            [index.lengths for index in self._indexes]
        )
        kinds = [index.format == "fastq" for index in self._indexes]
        check_one_kind(inputs.paths, kinds)

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some records."""
        return self._all_ids(rows) if rows.size > _AT_ONCE else self.fetch(rows)[0]

    def _all_ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of many records, headers alone."""
        names = [name for index in self._indexes for name in index.ids]
        if rows.size == len(names) and (rows == np.arange(rows.size)).all():
            return names
        return [names[row] for row in rows.tolist()]

    @property
    def native(self) -> None:
        """Records stay in their files."""
        return

    def fetch(
        self, rows: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Reads ids, letters and qualities of some records."""
        batch = self._read(rows, num_threads)
        return ids_of(batch.headers), (batch.sequences, batch.qualities)

    def _read(self, rows: NDArray[np.int64], num_threads: int) -> SequenceBatch:
        """Reads records of all files, and puts them into the order asked for."""
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
        return join(parts).take(np.argsort(np.concatenate(positions)))

    def batches(self) -> Iterator[SequenceBatch]:
        """Goes through all records in order."""
        for path in self._inputs.paths:
            yield from self._inputs.batches(path)

    def forget_headers(self) -> None:
        """Has nothing to let go of."""

    def digest(self) -> bytes:
        """Hashes the content of the files, which are read once for it."""
        return content_digest(map(_columns, self.batches()))

    def stamp(self) -> bytes:
        """Names the files as they were when they were indexed."""
        whole = hashlib.blake2b(digest_size=16)
        for index in self._indexes:
            whole.update(repr((index.content, len(index), index.letters)).encode())
        return whole.digest()


def _columns(batch: SequenceBatch) -> Columns:
    """Takes ids, letters and qualities out of a batch."""
    headers = batch.headers
    names = Ragged(*_native.first_words(headers.data, headers.offsets))
    return names, batch.sequences, batch.qualities
