"""A shard's part of a file that can be read from any record on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import offsets_of
from seqloom.data._file_index import index_of, ready_index
from seqloom.data.stream._shard import Shard, WholeFile
from seqloom.errors import FormatError
from seqloom.io import open_sequences
from seqloom.io._reader import SequenceReader
from seqloom.io._settings import ReadSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.stream._shard import FileBatch, FilePart
    from seqloom.io import ReadReport, SequenceIndex

_SEEKABLE = frozenset({"none", "bgzip", "gzip"})
_RECORDS = 4096
_LETTERS = 1 << 22
# Beyond so many records their lengths are not looked at: shards are of equally many.
_FEW = 1 << 23
# What a record takes beside its letters.
_BESIDES = 32


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
        """Reads the part from its ``start``-th record on."""
        first = self._first + start
        reader = self._reader(first) if first < self._first + self.size else None
        return self._fetch(first) if reader is None else self._unpack(reader, first)

    def _reader(self, first: int) -> SequenceReader | None:
        """Opens a gzip file at a record: a part of it is unpacked once, in order."""
        if self.index.compression != "gzip":
            return None
        settings = ReadSettings(**self.options, start=first)
        try:
            return SequenceReader(self.index.path, settings)
        except FormatError:
            return None  # the index lies elsewhere, or what is wrong fetching says

    def _unpack(self, reader: SequenceReader, first: int) -> Iterator[FileBatch]:
        """Reads on from a record."""
        stop = self._first + self.size
        with reader:
            while first < stop:
                batch = reader.read_batch(min(stop - first, _RECORDS), _LETTERS)
                if batch is None:
                    raise FormatError(f"{reader.path}: fewer records than its index has")
                yield batch, np.arange(first, first + len(batch))
                first += len(batch)

    def _fetch(self, first: int) -> Iterator[FileBatch]:
        """Reads records by their positions."""
        stop = self._first + self.size
        step = self._at_once()
        for start in range(first, stop, step):
            numbers: NDArray[np.int64] = np.arange(start, min(start + step, stop))
            yield self.index.fetch_many(numbers), numbers

    def _at_once(self) -> int:
        """Decides how many records are read at once."""
        mean = max(self.index.letters // max(self.total, 1), 1)
        return min(max(_LETTERS // mean, 1), _RECORDS)


def _border(index: SequenceIndex, part: int, count: int) -> int:
    """Finds the first record of one of several parts of a file."""
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
    """Chooses how a shard's part of a file is read; all shards choose the same."""
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
    """Asks what a file is packed in."""
    with open_sequences(path, num_threads=1) as reader:
        return reader.compression
