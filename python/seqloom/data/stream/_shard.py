"""Which records of which files are one shard's, and reading them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom.data._state import check_integer
from seqloom.data._store import check_one_kind
from seqloom.data.stream._chunk import ChunkSource, slice_batch
from seqloom.io._reader import SequenceReader
from seqloom.io._settings import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.stream._chunk import Chunk
    from seqloom.io import ReadReport, SequenceBatch

    FileBatch = tuple[SequenceBatch, NDArray[np.int64]]

# Of a file that can only be read from its start, a shard takes blocks of so many records.
BLOCK = 64
_RECORDS = 4096
_BYTES = 1 << 22


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of the same files that have no record in common."""

    index: int = 0  # which one, from 0
    count: int = 1  # how many there are

    def __post_init__(self) -> None:
        check_integer("count", self.count, least=1)
        check_integer("index", self.index, most=self.count - 1)

    def mine(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tells which records of a file are this part's, in blocks that are dealt out."""
        if self.count == 1:
            return np.arange(numbers.size)
        return np.flatnonzero(numbers // BLOCK % self.count == self.index)

    def part(self, index: int, count: int) -> Shard:
        """Cuts this part into parts."""
        inner = Shard(index, count)
        return Shard(self.index + self.count * inner.index, self.count * inner.count)


class FilePart(Protocol):
    """One shard's part of one file."""

    size: int
    total: int
    is_fastq: bool

    def read(self, start: int) -> Iterator[FileBatch]:
        """Reads the part from its ``start``-th record on; then size and total are known."""
        ...


@dataclass(slots=True)
class WholeFile:
    """A part of a file that is read from its start: blocks of records."""

    path: str  # the file
    shard: Shard  # which part
    options: dict[str, Any]  # how it is read: `ReadSettings` by name
    tell: Callable[[ReadReport], None]  # called with what was left out
    size: int = field(default=0, init=False)
    total: int = field(default=0, init=False)
    is_fastq: bool = field(default=False, init=False)

    def read(self, start: int) -> Iterator[FileBatch]:
        """Reads the part from its ``start``-th record on."""
        self.size = self.total = 0
        with SequenceReader(self.path, ReadSettings(**self.options)) as reader:
            self.is_fastq = reader.format == "fastq"
            for batch in reader.batches(_RECORDS, max_bytes=_BYTES):
                numbers = np.arange(self.total, self.total + len(batch))
                rows = self.shard.mine(numbers)
                rest = rows[max(start - self.size, 0) :]
                self.size += rows.size
                self.total += len(batch)
                if rest.size:
                    yield _pick(batch, rest), numbers[rest]
            self.tell(reader.report)


def _pick(batch: SequenceBatch, rows: NDArray[np.int64]) -> SequenceBatch:
    """Takes records of a batch, without a copy where they are neighbours."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == rows.size:
        return (
            batch if rows.size == len(batch) else slice_batch(batch, slice(first, last + 1))
        )
    return batch.take(rows)


def read_shard(
    parts: Iterable[FilePart], paths: tuple[str, ...], start: int
) -> Iterator[Chunk]:
    """Reads parts of files one after the other, from the ``start``-th record on."""
    position = ordinal = 0
    kinds: dict[str, bool] = {}
    for file, part in enumerate(parts):
        at = max(start, position)
        for batch, numbers in part.read(at - position):
            kinds[paths[file]] = part.is_fastq
            check_one_kind(tuple(kinds), list(kinds.values()))
            stop = at + len(batch)
            files = np.full(len(batch), file)
            positions = np.arange(at, stop)
            ordinals = numbers + ordinal
            yield ChunkSource(batch, paths, ordinals, files, numbers, positions).whole()
            at = stop
        position += part.size
        ordinal += part.total
