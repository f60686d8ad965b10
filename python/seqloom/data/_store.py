"""Where a dataset's records are: in memory as columns, or in their files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom.data._content import content_digest
from seqloom.data._source_options import SourceOptions
from seqloom.errors import FormatError
from seqloom.io import SequenceBatch, open_sequences

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.data._encoded import Letters
    from seqloom.io import SequenceReader

LIMIT = 1 << 30
# A batch that stays in the processor's cache while it is copied.
_RECORDS = 1 << 13
_BYTES = 4 << 20


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files, and how they are read."""

    paths: tuple[str, ...]  # the files, in order
    reading: SourceOptions = field(default_factory=SourceOptions)  # how they are read
    held: Mapping[str, SequenceBatch] = field(default_factory=dict[str, SequenceBatch])

    @property
    def options(self) -> dict[str, Any]:
        """What ``open_sequences`` is told beside the path."""
        return self.reading.of_files

    @property
    def must_be_held(self) -> bool:
        """Whether an index of files cannot give the records."""
        return bool(self.held) or self.reading.leaves_out

    def batches(self, path: str) -> Iterator[SequenceBatch]:
        """Reads one file from start to end."""
        start = 0
        for batch in self._read(path):
            yield self.reading.rename(batch, lambda row, start=start: (path, start + row))
            start += len(batch)

    def _read(self, path: str) -> Iterator[SequenceBatch]:
        """Reads one file, with the headers that it has."""
        if path in self.held:
            yield self.held[path]
            return
        with open_file(path, self.options) as reader:
            yield from reader.batches(_RECORDS, max_bytes=_BYTES)


def open_file(path: str, options: dict[str, Any]) -> SequenceReader:
    """Opens one file."""
    return cast("SequenceReader", open_sequences(path, **options))


class Store(Protocol):
    """Records by number."""

    counts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some records."""
        ...

    @property
    def native(self) -> _native.RecordStore | None:
        """The records where threads read them without the interpreter; None elsewhere."""
        ...

    def fetch(
        self, rows: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Copies ids, letters and qualities of some records."""
        ...

    def batches(self) -> Iterator[SequenceBatch]:
        """Goes through all records in order."""
        ...

    def forget_headers(self) -> None:
        """Lets go of what only labels need."""
        ...

    def digest(self) -> bytes:
        """Names the content, the same however it is read."""
        ...

    def stamp(self) -> bytes:
        """Tells whether files are the same as before, without reading all of them."""
        ...


class MemoryStore:
    """Records in memory, as columns."""

    def __init__(self, batch: SequenceBatch, counts: NDArray[np.int64]) -> None:
        self.counts = counts
        self.lengths: NDArray[np.int64] = batch.sequences.lengths
        self._headers: Ragged | None = batch.headers
        names = Ragged(*_native.first_words(*share_column(batch.headers)))
        self._columns = (names, batch.sequences, batch.qualities)
        self._native = _native.RecordStore(
            share_column(names),
            share_column(batch.sequences),
            None if batch.qualities is None else share_column(batch.qualities),
        )

    def ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some records."""
        return self._native.ids(rows)

    @property
    def native(self) -> _native.RecordStore | None:
        """The records where threads read them without the interpreter."""
        return self._native

    def fetch(
        self, rows: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Copies ids, letters and qualities of some records."""
        letters, qualities = self._native.take(rows, num_threads)
        taken = Ragged(*letters), None if qualities is None else Ragged(*qualities)
        return self._native.ids(rows), taken

    def batches(self) -> Iterator[SequenceBatch]:
        """Goes through all records in order: there is one batch."""
        names, sequences, qualities = self._columns
        headers = names if self._headers is None else self._headers
        yield SequenceBatch(headers, sequences, qualities)

    def forget_headers(self) -> None:
        """Lets go of what only labels need; ids stay."""
        self._headers = None

    def digest(self) -> bytes:
        """Hashes ids, letters and qualities, and how they are cut."""
        return content_digest([self._columns])

    def stamp(self) -> bytes:
        """Tells whether files are the same as before: here by their content."""
        return self.digest()


def share_column(rows: Ragged) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Returns the arrays of a column, read-only: threads of Rust may read them any time."""
    rows.data.flags.writeable = rows.offsets.flags.writeable = False
    return rows.data, rows.offsets


def read_store(inputs: Inputs, limit: int | None = None) -> MemoryStore | None:
    """Reads files into memory, one after the other; None where they pass the limit."""
    if limit is not None and sum(map(_size, inputs.paths)) > limit:
        return None
    columns, counts, kinds = _Growing(), [0] * len(inputs.paths), list[bool]()
    for number, path in enumerate(inputs.paths):
        for batch in inputs.batches(path):
            if not counts[number]:
                kinds.append(batch.qualities is not None)
                check_one_kind(inputs.paths[: number + 1], kinds)
            counts[number] += len(batch)
            columns.append(batch)
            if limit is not None and (limit := limit - _count_bytes(batch)) < 0:
                return None
    return MemoryStore(columns.finish(), np.array(counts, np.int64))


class _Growing:
    """All records of several files as columns, which batch after batch is added to.

    Batches whose memory is used again, and one copy of each into memory that grows: fewer
    fresh pages than to keep them all and join them at the end.
    """

    def __init__(self) -> None:
        self._headers = _native.ColumnBuilder()
        self._sequences = _native.ColumnBuilder()
        self._qualities = _native.ColumnBuilder()
        self._has_qualities = False

    def append(self, batch: SequenceBatch) -> None:
        """Adds the records of a batch."""
        self._headers.append(*share_column(batch.headers))
        self._sequences.append(*share_column(batch.sequences))
        if batch.qualities is not None:
            self._qualities.append(*share_column(batch.qualities))
            self._has_qualities = True

    def finish(self) -> SequenceBatch:
        """Gives all of them."""
        qualities = Ragged(*self._qualities.finish())
        return SequenceBatch(
            Ragged(*self._headers.finish()),
            Ragged(*self._sequences.finish()),
            qualities if self._has_qualities else None,
        )


def _size(path: str) -> int:
    """Asks how large a file is; what is wrong with it, its reader says."""
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def _count_bytes(batch: SequenceBatch) -> int:
    """Counts the bytes that a batch takes."""
    letters = batch.sequences.data.size * (1 + (batch.qualities is not None))
    return letters + batch.headers.data.size + 16 * len(batch)


def check_one_kind(paths: tuple[str, ...], has_qualities: list[bool]) -> None:
    """Refuses a file with qualities beside one without."""
    if len(set(has_qualities)) > 1:
        other = paths[has_qualities.index(not has_qualities[0])]
        names = ("FASTA", "FASTQ")
        raise FormatError(
            f"{other}: {names[not has_qualities[0]]}, but {paths[0]} is "
            f"{names[has_qualities[0]]}; make a dataset of each",
            path=other,
        )
