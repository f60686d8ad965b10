"""Which records of which files are one shard's, and reading them."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from seqloom._ragged import offsets_of
from seqloom.data._paths import index_of, ready_index
from seqloom.data._position import check_integer
from seqloom.data._store import check_one_kind
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

_SEEKABLE = frozenset({"none", "bgzip", "gzip"})
_LETTERS = 1 << 22
# Beyond so many records their lengths are not looked at: shards are of equally many.
_FEW = 1 << 23
# What a record takes beside its letters.
_BESIDES = 32
Item = TypeVar("Item")
_JOIN_SECONDS = 1.0
_END = object()

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
        """Tell which records of a file are this part's, in blocks that are dealt out."""
        if self.count == 1:
            return np.arange(numbers.size)
        return np.flatnonzero(numbers // BLOCK % self.count == self.index)

    def part(self, index: int, count: int) -> Shard:
        """Cut this part into parts."""
        inner = Shard(index, count)
        return Shard(self.index + self.count * inner.index, self.count * inner.count)


class FilePart(Protocol):
    """One shard's part of one file."""

    size: int
    total: int
    is_fastq: bool

    def read(self, start: int) -> Iterator[FileBatch]:
        """Read the part from its ``start``-th record on; then size and total are known."""
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
        """Read the part from its ``start``-th record on."""
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
    """Take records of a batch, without a copy where they are neighbours."""
    first, last = int(rows[0]), int(rows[-1])
    if last - first + 1 == rows.size:
        return (
            batch if rows.size == len(batch) else slice_batch(batch, slice(first, last + 1))
        )
    return batch.take(rows)


def read_shard(
    parts: Iterable[FilePart], paths: tuple[str, ...], start: int
) -> Iterator[Chunk]:
    """Read parts of files one after the other, from the ``start``-th record on."""
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


@dataclass(slots=True)
class FileRange:
    """Consecutive records of a file; each shard has about as many bytes."""

    index: SequenceIndex  # the file's index
    shard: Shard  # which part
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    size: int = field(init=False)
    total: int = field(init=False)
    is_fastq: bool = field(init=False)
    _first: int = field(init=False)

    def __post_init__(self) -> None:
        self.total = len(self.index)
        self.is_fastq = self.index.format == "fastq"
        count = self.shard.count
        self._first = _border(self.index, self.shard.index, count)
        self.size = _border(self.index, self.shard.index + 1, count) - self._first

    def read(self, start: int) -> Iterator[FileBatch]:
        """Read the part from its ``start``-th record on."""
        first = self._first + start
        reader = self._reader(first) if first < self._first + self.size else None
        return self._fetch(first) if reader is None else self._unpack(reader, first)

    def _reader(self, first: int) -> SequenceReader | None:
        """Open a gzip file at a record: a part of it is unpacked once, in order."""
        if self.index.compression != "gzip":
            return None
        settings = ReadSettings(**self.options, start=first)
        try:
            return SequenceReader(self.index.path, settings)
        except FormatError:
            return None  # the index lies elsewhere, or what is wrong fetching says

    def _unpack(self, reader: SequenceReader, first: int) -> Iterator[FileBatch]:
        """Read on from a record."""
        stop = self._first + self.size
        with reader:
            while first < stop:
                batch = reader.read_batch(min(stop - first, _RECORDS), _LETTERS)
                if batch is None:
                    raise FormatError(f"{reader.path}: fewer records than its index has")
                yield batch, np.arange(first, first + len(batch))
                first += len(batch)

    def _fetch(self, first: int) -> Iterator[FileBatch]:
        """Read records by their positions."""
        stop = self._first + self.size
        step = self._at_once()
        for start in range(first, stop, step):
            numbers: NDArray[np.int64] = np.arange(start, min(start + step, stop))
            yield self.index.fetch_many(numbers), numbers

    def _at_once(self) -> int:
        """Decide how many records are read at once."""
        mean = max(self.index.letters // max(self.total, 1), 1)
        return min(max(_LETTERS // mean, 1), _RECORDS)


def _border(index: SequenceIndex, part: int, count: int) -> int:
    """Find the first record of one of several parts of a file."""
    if part in {0, count}:
        return len(index) if part else 0
    if len(index) > _FEW:
        return len(index) * part // count
    starts = offsets_of(index.lengths + _BESIDES)
    twice_middles = starts[:-1] + starts[1:]
    return int(np.searchsorted(twice_middles, 2 * int(starts[-1]) * part / count))


def part_of(
    path: str,
    shard: Shard,
    options: dict[str, Any],
    *,
    start: int,
    tell: Callable[[ReadReport], None],
) -> FilePart:
    """Choose how a shard's part of a file is read; all shards choose the same."""
    whole = WholeFile(path, shard, options, tell)
    # What may be left out, or is judged by its qualities, must be read from the start.
    if options.keys() & {"on_error", "quality", "comments", "whitespace", "ids"}:
        return whole
    if shard.count == 1:
        index = ready_index(path) if start else None
        return whole if index is None else FileRange(index, shard, options)
    if compression_of(path) not in _SEEKABLE:
        return whole
    return FileRange(index_of(path, options.get("num_threads")), shard, options)


def compression_of(path: str) -> str:
    """Ask what a file is packed in."""
    with open_sequences(path, num_threads=1) as reader:
        return reader.compression


def read_ahead(items: Iterable[Item], most: int) -> Generator[Item]:
    """Take up to `most` items ahead in a thread, which ends when this generator does."""
    done, waiting = threading.Event(), queue.Queue[tuple[Any, BaseException | None]](most)
    thread = threading.Thread(
        target=_read, args=(items, waiting, done), name="seqloom-reader", daemon=True
    )
    thread.start()
    try:
        while (found := waiting.get())[0] is not _END:
            yield found[0]
        if found[1] is not None:
            raise found[1]
    finally:
        done.set()
        _empty(waiting)
        # A thread that waits for a pipe ends when the pipe does: it is not waited for. The
        # garbage collector may close this generator in that very thread.
        if thread is not threading.current_thread():
            thread.join(_JOIN_SECONDS)


def _read(items: Iterable[Any], waiting: queue.Queue[Any], done: threading.Event) -> None:
    """Put items into the queue until there are no more, or the consumer has stopped."""
    error = None
    try:
        for item in items:
            waiting.put((item, None))
            if done.is_set():
                return
    except BaseException as raised:  # noqa: BLE001 - raised again where items are taken
        error = raised
    waiting.put((_END, error))


def _empty(waiting: queue.Queue[Any]) -> None:
    """Make room for a thread that waits to put an item into the queue."""
    while True:
        try:
            waiting.get_nowait()
        except queue.Empty:
            return
