"""`SequenceSource`, which reads records from sequence files and from memory."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom._ragged import lengths_to_offsets
from seqloom.data._encoder import add_file_position, count_positions, may_drop_residues
from seqloom.data._source import Fetched, NativeRecords, Source, selects_all_rows
from seqloom.data._store import MEMORY_LIMIT_BYTES, IndexedStore, MemoryStore, read_store
from seqloom.errors import ArgumentError, FileError, FormatError
from seqloom.io._settings import check_not_stream

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data._inputs import Inputs
    from seqloom.data._source import FetchOptions, Rows
    from seqloom.data._store import Store
    from seqloom.data.label._labels import LabelColumn
    from seqloom.errors import AlphabetError
    from seqloom.io import SequenceRecord


class SequenceSource(Source):
    """Reads sequence records from files or from memory.

    A pickled source contains the paths and a digest of the content of its files. An
    unpickled source reopens the files on first use, and raises if they have changed.
    In-memory sequences are pickled with the source.
    """

    kind, title = "sequences", "SequenceDataset"
    supports_threads, is_checked = True, False

    def __init__(
        self, inputs: Inputs, *, in_memory: bool | None = None, has_ids: bool = True
    ) -> None:
        for path in inputs.paths:
            if path not in inputs.held:
                check_not_stream(path)
        self.inputs, self.paths, self.has_ids = inputs, inputs.paths, has_ids
        self._store: Store | None = _open_store(inputs, in_memory=in_memory)
        self.in_memory = self.counts_letters = isinstance(self._store, MemoryStore)
        self._digest: bytes | None = None
        self._stamp: bytes | None = None
        self.starts: Rows = lengths_to_offsets(self._store.counts)
        self.size = int(self.starts[-1])
        self._native: NativeRecords | None = None
        self._encoded: tuple[Any, Rows] | None = None

    @property
    def store(self) -> Store:
        """The open files; an unpickled source reopens its files."""
        if self._store is None:
            store = _open_store(self.inputs, in_memory=self.in_memory)
            store.forget_headers()
            if store.stamp() != self._stamp:
                raise FileError(
                    f"{', '.join(self.paths)}: the content has changed since the dataset "
                    "was created; create the dataset again"
                )
            self._store = store
        return self._store

    @property
    def native(self) -> NativeRecords | None:
        """The Rust store of the records; None unless the records are in memory."""
        if self._native is None and self.in_memory:
            store = self.store
            if isinstance(store, MemoryStore):
                self._native = NativeRecords(store.native, store.letters)
        return self._native

    def ids(self, rows: Rows) -> list[str]:
        """Return the ids of rows."""
        return self.store.ids(rows)

    def lengths(self, rows: Rows, encoder: Any) -> Rows:
        """Return the length of each row, without a ``*`` that the encoder drops."""
        if not may_drop_residues(encoder):
            return self.store.lengths[rows]
        # An index does not record a final ``*``, and therefore large files are read
        # completely.
        if self._encoded is None or self._encoded[0] is not encoder:
            batches = self.store.batches()
            counts = [encoder.encoded_lengths(batch.sequences) for batch in batches]
            self._encoded = encoder, np.concatenate(counts)
        return self._encoded[1][rows]

    def fetch(self, rows: Rows, options: FetchOptions) -> Fetched:
        """Return ids, sequences and qualities of rows."""
        return Fetched(*self.store.fetch(rows, options.num_threads))

    def columns(self, rows: Rows, epoch: int | None) -> dict[str, Any]:
        """Return the file and the ordinal of each row."""
        del epoch
        if len(self.paths) == 1:
            return {"file": [self.paths[0]] * rows.size, "ordinal": rows}
        numbers = np.searchsorted(self.starts, rows, side="right") - 1
        return {"file": [self.paths[at] for at in numbers.tolist()], "ordinal": rows}

    def place(self, row: int) -> tuple[str, int]:
        """Return the file of a record, and its index in the file."""
        file = int(np.searchsorted(self.starts, row, side="right")) - 1
        return self.paths[file], row - int(self.starts[file])

    def locate(
        self, error: AlphabetError, row: int, epoch: int | None, *, is_augmented: bool
    ) -> AlphabetError:
        """Add the file position of the invalid character to an error."""
        del epoch
        name = self.ids(np.array([row]))[0]
        return add_file_position(error, self.place(row), name, augmented=is_augmented)

    def content(
        self, rows: Rows, labels: LabelColumn, *, encoder: Any, jitter: int
    ) -> Iterator[bytes]:
        """Yield hashes of the records, of the selected rows, and of the labels."""
        del encoder, jitter
        if self._digest is None:
            self._digest = self.store.digest()
        used = b"" if selects_all_rows(rows, self.size) else rows.tobytes()
        yield repr((labels.task, labels.classes)).encode()
        yield hashlib.blake2b(self._digest + used, digest_size=16).digest()
        yield labels.to_bytes()

    def records(self) -> Iterator[SequenceRecord]:
        """Yield all records in order."""
        return (record for batch in self.store.batches() for record in batch)

    def check_lengths(self, max_length: int | None, encoder: Any) -> None:
        """Raise if a sequence is too long or too short."""
        lengths = self.store.lengths
        if max_length is not None:
            max_length = as_integer("max_length", max_length)
            if (lengths > max_length).any():
                row = int((lengths > max_length).argmax())
                found = f"{lengths[row]:,} residues, more than {max_length:,}"
                raise self._record_error(row, found)
        if encoder is None:
            return
        # Large files are not searched for a final ``*`` here; making a batch raises
        # instead.
        if self.in_memory:
            lengths = self.lengths(np.arange(self.size), encoder)
        is_short = count_positions(encoder, lengths) < 1
        if is_short.any():
            row = int(is_short.argmax())
            letters = int(lengths[row])
            raise self._record_error(
                row,
                f"{letters} residues are too few for the encoder"
                if letters
                else "the sequence has no residues",
            )

    def _record_error(self, row: int, message: str) -> FormatError:
        """Return an error whose message contains the file and the id of the record."""
        path, record = self.place(row)
        name = self.ids(np.array([row]))[0]
        return FormatError(
            f"{path}: record {record} ({name}): {message}", path=path, record=record
        )

    def __getstate__(self) -> dict[str, Any]:
        if self._stamp is None:
            self._stamp = self.store.stamp()
        return {**self.__dict__, "_store": None, "_native": None, "_encoded": None}


def _open_store(inputs: Inputs, *, in_memory: bool | None) -> Store:
    """Read small files into memory; open an index for large ones."""
    if in_memory is not False or inputs.held:
        store = read_store(inputs, None if in_memory or inputs.held else MEMORY_LIMIT_BYTES)
        if store is not None:
            return store
    if inputs.must_be_held:
        raise ArgumentError(
            f"{inputs.paths[0]}: an indexed file is read without whitespace=, comments= "
            "and ids=: pass in_memory=True, or write a clean file with seqloom "
            "convert --whitespace strip --comments skip --ids number"
        )
    return IndexedStore(inputs)
