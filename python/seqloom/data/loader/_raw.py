"""Raw records of files, dealt out to worker processes by size."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._iterable import Ended, Turn
from seqloom.errors import FileError
from seqloom.io import open_sequences
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._ragged import Ragged

_RECORDS, _BYTES = 256, 1 << 20
# What a record costs beside its letters, counted in letters.
_RECORD = 64
# A long file is cut finer than one part a worker, so that the parts can be dealt evenly.
_PARTS = 2


@dataclass(frozen=True, slots=True)
class File:
    """A file that has been counted.

    Args:
        path: Where it is.
        records: How many records it has.
        weight: What reading them costs.
        mark: Its size and the time of its last change.
        first: The ordinal of its first record.

    Examples:
        >>> File("a.fa", 2, 200, (10, 0), 0).records
        2
    """

    path: str
    records: int
    weight: int
    mark: tuple[int, int]
    first: int


@dataclass(frozen=True, slots=True)
class Part:
    """Some neighbouring records of a file.

    Args:
        file: The file.
        start: The first of them.
        stop: The one behind the last.

    Examples:
        >>> Part(File("a.fa", 2, 200, (10, 0), 0), 0, 1).weight
        100.0
    """

    file: File
    start: int
    stop: int

    @property
    def weight(self) -> float:
        """What reading these records costs."""
        return self.file.weight * (self.stop - self.start) / max(1, self.file.records)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some records on their way from a worker, as columns.

    Args:
        path: Their file.
        first: The ordinal of the first.
        headers: Header lines.
        sequences: Letters.

    Examples:
        >>> from seqloom._ragged import Ragged
        >>> chunk = Chunk("a.fa", 7, Ragged.from_list([b"x y"]), Ragged.from_list([b"AC"]))
        >>> list(chunk.items())
        [{'id': 'x', 'sequence': b'AC', 'file': 'a.fa', 'ordinal': 7}]
    """

    path: str
    first: int
    headers: Ragged
    sequences: Ragged

    def items(self) -> Iterator[dict[str, Any]]:
        """Makes an item of each record."""
        rows = zip(self.headers.to_list(), self.sequences.to_list(), strict=True)
        for ordinal, (header, letters) in enumerate(rows, self.first):
            yield {
                "id": decode_header(parse_id(header)),
                "sequence": letters,
                "file": self.path,
                "ordinal": ordinal,
            }


def count_files(paths: tuple[str, ...]) -> list[File]:
    """Counts the records of files, which also finds what is wrong with them."""
    counted = [_count(path) for path in paths]
    firsts = accumulate((records for records, _ in counted), initial=0)
    return [
        File(path, *numbers, _mark(path), first)
        for path, numbers, first in zip(paths, counted, firsts, strict=False)
    ]


def _count(path: str) -> tuple[int, int]:
    """Counts the records of one file, and weighs them."""
    records = letters = 0
    with open_sequences(path) as reader:
        for batch in reader.batches(1 << 16):
            records += len(batch)
            letters += batch.sequences.data.size
    return records, letters + _RECORD * records


def _mark(path: str) -> tuple[int, int]:
    """Reads what shows that a file has changed."""
    stat = Path(path).stat()
    return stat.st_size, stat.st_mtime_ns


def deal(files: list[File], workers: int) -> list[list[Part]]:
    """Deals files out, the largest first, each to who has least; long ones in parts."""
    share = sum(file.weight for file in files) / workers
    parts = list(chain.from_iterable(_cut(file, share, workers) for file in files))
    hands: list[list[Part]] = [[] for _ in range(workers)]
    loads = [0.0] * workers
    for part in sorted(parts, key=lambda part: -part.weight):
        least = loads.index(min(loads))
        hands[least].append(part)
        loads[least] += part.weight
    return [sorted(hand, key=lambda part: part.file.first + part.start) for hand in hands]


def _cut(file: File, share: float, workers: int) -> Iterator[Part]:
    """Cuts a file that is too long for one worker."""
    count = 1
    if workers > 1 and file.weight > share / _PARTS:
        count = min(file.records, math.ceil(_PARTS * file.weight / share))
    bounds = [file.records * i // count for i in range(count + 1)]
    for start, stop in pairwise(bounds):
        if start < stop:
            yield Part(file, start, stop)


def read_part(part: Part) -> Iterator[Chunk]:
    """Reads some records of a file, which must be as it was when it was counted."""
    file, at = part.file, 0
    if _mark(file.path) != file.mark:
        raise FileError(f"{file.path} has changed since it was counted; start again")
    with open_sequences(file.path) as reader:
        for batch in reader.batches(_RECORDS, max_bytes=_BYTES):
            begin, end = max(part.start - at, 0), min(part.stop - at, len(batch))
            if begin < end:
                headers, sequences = batch.headers[begin:end], batch.sequences[begin:end]
                yield Chunk(file.path, file.first + at + begin, headers, sequences)
            at += len(batch)
            if at >= part.stop:
                return
    raise FileError(f"{file.path} has changed: {at} records, expected {file.records}")


@dataclass(slots=True)
class ReadParts:
    """Reads the parts of one worker, chunk by chunk; one that starts again passes over.

    Args:
        hands: The parts of each worker.

    Examples:
        >>> type(ReadParts([[]])(Turn(0, 0))).__name__
        'Ended'
    """

    hands: list[list[Part]]
    _at: tuple[int, int, int] | None = field(init=False, default=None)
    _chunks: Any = field(init=False, default=None)

    def __call__(self, turn: Turn) -> Any:
        """Reads one chunk, or says that there are no more."""
        asked = (turn.epoch, turn.worker, turn.count)
        if self._at is None or asked[:2] != self._at[:2] or turn.count < self._at[2]:
            self._chunks = self.chunks(turn.worker)
            self._at = (*asked[:2], 0)
        found: Any = Ended()
        for _ in range(turn.count + 1 - self._at[2]):
            found = next(self._chunks, Ended())
        self._at = (*asked[:2], turn.count + 1)
        return found

    def chunks(self, worker: int) -> Iterator[Chunk]:
        """Reads all parts of a worker."""
        return chain.from_iterable(map(read_part, self.hands[worker]))
