"""The records of several files, opened when they are needed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of
from seqloom.data._extent import Extents, extents_of, leaves_out
from seqloom.data._store import LIMIT, MemoryStore, read_store
from seqloom.errors import ArgumentError, FileError
from seqloom.io._origin import check_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from seqloom.data._encoded import Letters
    from seqloom.data._store import Inputs, Store
    from seqloom.io import SequenceRecord


class Records:
    """Sequence records of several files, or some of them.

    A pickle holds paths and a digest of the content; the files are opened again where it is
    unpickled, on first use, and must not have changed. What was given in memory it holds.
    """

    def __init__(self, inputs: Inputs, *, in_memory: bool | None = None) -> None:
        for path in inputs.paths:
            if path not in inputs.held:
                check_regular(path)
        self.inputs = inputs
        self._store: Store | None = _open(inputs, in_memory=in_memory)
        self.in_memory = isinstance(self._store, MemoryStore)
        self._digest: bytes | None = None
        self._stamp: bytes | None = None
        self.starts: NDArray[np.int64] = offsets_of(self._store.counts)
        self.kept: NDArray[np.int64] | None = None
        self._extents: Extents | None = None
        self._encoded: NDArray[np.int64] | None = None

    @property
    def store(self) -> Store:
        """Where the records are; opened again after unpickling."""
        if self._store is None:
            self._store = self._open_again()
        return self._store

    def _open_again(self) -> Store:
        """Opens the same files in another process."""
        store = _open(self.inputs, in_memory=self.in_memory)
        store.forget_headers()
        if store.stamp() != self._stamp:
            raise FileError(
                f"{', '.join(self.inputs.paths)}: the content has changed since the "
                "dataset was made; make it anew"
            )
        return store

    @property
    def paths(self) -> tuple[str, ...]:
        """The files."""
        return self.inputs.paths

    def keep(self, indices: NDArray[np.int64]) -> None:
        """Leaves out all records but some."""
        self.kept = self.ordinals(indices)

    def ordinals(self, indices: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tells where records stand among those of all files."""
        return indices if self.kept is None else self.kept[indices]

    def __len__(self) -> int:
        return int(self.starts[-1]) if self.kept is None else self.kept.size

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of letters of each record."""
        lengths = self.store.lengths
        return lengths if self.kept is None else lengths[self.kept]

    def encoded_lengths(self, encoder: Any) -> NDArray[np.int64]:
        """The number of letters that an encoder encodes of each record."""
        if not leaves_out(encoder):
            return self.lengths
        # Of files too large to hold this reads all letters, once: no index knows stops.
        if self._encoded is None:
            batches = self.store.batches()
            counts = [encoder.encoded_lengths(batch.sequences) for batch in batches]
            self._encoded = np.concatenate(counts)
        return self._encoded if self.kept is None else self._encoded[self.kept]

    def extents(self, encoder: Any) -> Extents:
        """Counts the positions that the dataset's encoder makes of each record."""
        if self._extents is None:
            batches = self.store.batches()
            positions = [extents_of(encoder, batch.sequences) for batch in batches]
            self._extents = Extents.of(np.concatenate(positions))
        return self._extents

    def ids(self, indices: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some records."""
        return self.store.ids(self.ordinals(indices))

    def fetch(
        self, indices: NDArray[np.int64], num_threads: int = 1
    ) -> tuple[list[str], Letters]:
        """Copies ids, letters and qualities of some records."""
        return self.store.fetch(self.ordinals(indices), num_threads)

    def each(self) -> Iterator[SequenceRecord]:
        """Goes through all records of the files in order."""
        return (record for batch in self.store.batches() for record in batch)

    def headers(self) -> Iterator[bytes]:
        """Goes through all headers of the files in order."""
        return (
            header for batch in self.store.batches() for header in batch.headers.to_list()
        )

    def files(self, ordinals: NDArray[np.int64]) -> list[str]:
        """Names the files that records come from."""
        paths = self.inputs.paths
        if len(paths) == 1:
            return [paths[0]] * ordinals.size
        numbers = np.searchsorted(self.starts, ordinals, side="right") - 1
        return [paths[number] for number in numbers.tolist()]

    def locate(self, index: int) -> tuple[str, int]:
        """Finds where a record comes from: its file, and its number there."""
        ordinal = int(self.ordinals(np.array([index]))[0])
        file = int(np.searchsorted(self.starts, ordinal, side="right")) - 1
        return self.inputs.paths[file], ordinal - int(self.starts[file])

    def digest(self) -> bytes:
        """Names the content of the files, and which records are kept."""
        if self._digest is None:
            self._digest = self.store.digest()
        kept = b"" if self.kept is None else self.kept.tobytes()
        return hashlib.blake2b(self._digest + kept, digest_size=16).digest()

    def __getstate__(self) -> dict[str, Any]:
        if self._stamp is None:
            self._stamp = self.store.stamp()
        return {**self.__dict__, "_store": None, "_extents": None, "_encoded": None}


def _open(inputs: Inputs, *, in_memory: bool | None) -> Store:
    """Reads files into memory if they are small, or finds out where their records are."""
    if in_memory is not False or inputs.held:
        store = read_store(inputs, None if in_memory or inputs.held else LIMIT)
        if store is not None:
            return store
    if inputs.must_be_held:
        raise ArgumentError(
            f"{inputs.paths[0]}: is not held in memory, and an index leaves nothing out "
            "and changes no id: pass in_memory=True, or write a clean file with seqloom "
            "convert --whitespace strip --comments skip --ids number"
        )
    from seqloom.data._indexed import IndexedStore  # most datasets need no index

    return IndexedStore(inputs)
