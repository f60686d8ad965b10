"""Splits files into shards, and reads a shard."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from seqloom._ragged import lengths_to_offsets
from seqloom.data._paths import open_existing_index, open_index
from seqloom.data._position import check_integer
from seqloom.data._store import check_not_mixed
from seqloom.data.stream._chunk import ChunkSource, slice_batch
from seqloom.errors import FormatError
from seqloom.io import open_sequences
from seqloom.io._reader import SequenceReader
from seqloom.io._settings import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.stream._chunk import Chunk
    from seqloom.io import ReadReport, SequenceBatch

    FileBatch = tuple[SequenceBatch, NDArray[np.int64]]

    from collections.abc import Generator

    from numpy.typing import NDArray

    from seqloom.io import SequenceIndex

_SEEKABLE_FORMATS = frozenset({"none", "bgzip", "gzip"})
_RESIDUES_PER_READ = 1 << 22
# A file with more than this number of records is split by its number of records, not by
# its bytes.
_MAX_BALANCED_RECORDS = 1 << 23
# Estimated bytes of a record in addition to its residues.
_RECORD_OVERHEAD = 32
Item = TypeVar("Item")
_JOIN_TIMEOUT = 1.0
_END_OF_ITEMS = object()

# Records per block, for files that can only be read from their start.
BLOCK_RECORDS = 64
_RECORDS_PER_READ = 4096
_BYTES_PER_READ = 1 << 22


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard of the records of files; shards have no records in common."""

    index: int = 0  # Index of the shard, from 0.
    count: int = 1

    def __post_init__(self) -> None:
        check_integer("count", self.count, least=1)
        check_integer("index", self.index, most=self.count - 1)

    def select(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the records of this shard; blocks of records alternate between shards."""
        if self.count == 1:
            return np.arange(numbers.size)
        return np.flatnonzero(numbers // BLOCK_RECORDS % self.count == self.index)

    def part(self, index: int, count: int) -> Shard:
        """Split this shard into ``count`` shards; return the one with this index."""
        inner = Shard(index, count)
        return Shard(self.index + self.count * inner.index, self.count * inner.count)


class FilePart(Protocol):
    """The records of a shard in one file."""

    size: int
    total: int
    is_fastq: bool

    def read(self, start: int) -> Iterator[FileBatch]:
        """Yield the records from number ``start``, and set ``size`` and ``total``."""
        ...


@dataclass(slots=True)
class WholeFile:
    """Reads the records of a shard from a file without an index, from its start."""

    path: str
    shard: Shard
    options: dict[str, Any]  # Arguments of `ReadSettings`.
    report: Callable[[ReadReport], None]  # Called with the report of the reader.
    size: int = field(default=0, init=False)
    total: int = field(default=0, init=False)
    is_fastq: bool = field(default=False, init=False)

    def read(self, start: int) -> Iterator[FileBatch]:
        """Yield the records of the shard from number ``start``."""
        self.size = self.total = 0
        with SequenceReader(self.path, ReadSettings(**self.options)) as reader:
            self.is_fastq = reader.format == "fastq"
            for batch in reader.batches(_RECORDS_PER_READ, max_bytes=_BYTES_PER_READ):
                numbers = np.arange(self.total, self.total + len(batch))
                rows = self.shard.select(numbers)
                rest = rows[max(start - self.size, 0) :]
                self.size += rows.size
                self.total += len(batch)
                if rest.size:
                    yield _select_rows(batch, rest), numbers[rest]
            self.report(reader.report)


def _select_rows(batch: SequenceBatch, rows: NDArray[np.int64]) -> SequenceBatch:
    """Return rows of a batch, without a copy if they are consecutive."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == rows.size:
        return (
            batch if rows.size == len(batch) else slice_batch(batch, slice(first, last + 1))
        )
    return batch.take(rows)


def read_shard(
    parts: Iterable[FilePart], paths: tuple[str, ...], start: int
) -> Iterator[Chunk]:
    """Yield the records of a shard in all files, from number ``start``."""
    position = ordinal = 0
    kinds: dict[str, bool] = {}
    for file, part in enumerate(parts):
        at = max(start, position)
        for batch, numbers in part.read(at - position):
            kinds[paths[file]] = part.is_fastq
            check_not_mixed(tuple(kinds), list(kinds.values()))
            stop = at + len(batch)
            files = np.full(len(batch), file)
            positions = np.arange(at, stop)
            ordinals = numbers + ordinal
            yield ChunkSource(batch, paths, ordinals, files, numbers, positions).as_chunk()
            at = stop
        position += part.size
        ordinal += part.total


@dataclass(slots=True)
class FileRange:
    """Reads consecutive records of an indexed file; shards have similar sizes."""

    index: SequenceIndex
    shard: Shard
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    size: int = field(init=False)
    total: int = field(init=False)
    is_fastq: bool = field(init=False)
    _first: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = len(self.index)
        self.is_fastq = self.index.format == "fastq"
        count = self.shard.count
        self._first = _shard_border(self.index, self.shard.index, count)
        self.size = _shard_border(self.index, self.shard.index + 1, count) - self._first

    def read(self, start: int) -> Iterator[FileBatch]:
        """Yield the records of the shard from number ``start``."""
        first = self._first + start
        reader = self._open_reader(first) if first < self._first + self.size else None
        return self._fetch(first) if reader is None else self._read_gzip(reader, first)

    def _open_reader(self, first: int) -> SequenceReader | None:
        """Return a reader that starts at a record of a gzip file; None for other files."""
        if self.index.compression != "gzip":
            return None
        settings = ReadSettings(**self.options, start=first)
        try:
            return SequenceReader(self.index.path, settings)
        except FormatError:
            return None  # fetching through the index may succeed; if not, it raises

    def _read_gzip(self, reader: SequenceReader, first: int) -> Iterator[FileBatch]:
        """Yield batches until the end of the shard."""
        stop = self._first + self.size
        with reader:
            while first < stop:
                batch = reader.read_batch(
                    min(stop - first, _RECORDS_PER_READ), _RESIDUES_PER_READ
                )
                if batch is None:
                    raise FormatError(f"{reader.path}: has fewer records than its index")
                yield batch, np.arange(first, first + len(batch))
                first += len(batch)

    def _fetch(self, first: int) -> Iterator[FileBatch]:
        stop = self._first + self.size
        step = self._records_per_read()
        for start in range(first, stop, step):
            numbers: NDArray[np.int64] = np.arange(start, min(start + step, stop))
            yield self.index.fetch_many(numbers), numbers

    def _records_per_read(self) -> int:
        mean = max(self.index.letters // max(self.total, 1), 1)
        return min(max(_RESIDUES_PER_READ // mean, 1), _RECORDS_PER_READ)


def _shard_border(index: SequenceIndex, part: int, count: int) -> int:
    if part in {0, count}:
        return len(index) if part else 0
    if len(index) > _MAX_BALANCED_RECORDS:
        return len(index) * part // count
    starts = lengths_to_offsets(index.lengths + _RECORD_OVERHEAD)
    twice_middles = starts[:-1] + starts[1:]
    return int(np.searchsorted(twice_middles, 2 * int(starts[-1]) * part / count))


def open_part(
    path: str,
    shard: Shard,
    options: dict[str, Any],
    *,
    start: int,
    report: Callable[[ReadReport], None],
) -> FilePart:
    """Return an object that reads the records of a shard from one file."""
    whole = WholeFile(path, shard, options, report)
    # An index cannot be used with options such as on_error= and quality=.
    if options.keys() & {"on_error", "quality", "comments", "whitespace", "ids"}:
        return whole
    if shard.count == 1:
        index = open_existing_index(path) if start else None
        return whole if index is None else FileRange(index, shard, options)
    if find_compression(path) not in _SEEKABLE_FORMATS:
        return whole
    return FileRange(open_index(path, options.get("num_threads")), shard, options)


def find_compression(path: str) -> str:
    """Return the compression of a file."""
    with open_sequences(path, num_threads=1) as reader:
        return reader.compression


def read_ahead(items: Iterable[Item], most: int) -> Generator[Item]:
    """Yield items that a thread reads ahead; the thread ends with this generator."""
    done, waiting = threading.Event(), queue.Queue[tuple[Any, BaseException | None]](most)
    thread = threading.Thread(
        target=_fill_queue, args=(items, waiting, done), name="seqloom-reader", daemon=True
    )
    thread.start()
    try:
        while (found := waiting.get())[0] is not _END_OF_ITEMS:
            yield found[0]
        if found[1] is not None:
            raise found[1]
    finally:
        done.set()
        _drain_queue(waiting)
        # A thread that reads from a pipe may be blocked, so do not wait long for the
        # thread. The garbage collector may close this generator in the reading thread.
        if thread is not threading.current_thread():
            thread.join(_JOIN_TIMEOUT)


def _fill_queue(
    items: Iterable[Any], waiting: queue.Queue[Any], done: threading.Event
) -> None:
    """Put all items into the queue; stop early if the consumer has stopped."""
    error = None
    try:
        for item in items:
            waiting.put((item, None))
            if done.is_set():
                return
    except BaseException as raised:  # noqa: BLE001 - raised again in the consumer
        error = raised
    waiting.put((_END_OF_ITEMS, error))


def _drain_queue(waiting: queue.Queue[Any]) -> None:
    """Empty the queue, to unblock a thread that puts an item into it."""
    while True:
        try:
            waiting.get_nowait()
        except queue.Empty:
            return
