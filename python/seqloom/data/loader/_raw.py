"""Raw records of files, divided among worker processes by size."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.errors import FileError
from seqloom.io import open_sequences
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._ragged import Ragged

_RECORDS, _BYTES = 256, 1 << 20
# What a record costs in addition to its letters, in letters.
_RECORD = 64
# Parts of a long file for each worker: more than one, so that the loads become even.
_PARTS = 2


@dataclass(frozen=True, slots=True)
class RawFile:
    """A file that has been counted."""

    path: str
    records: int
    weight: int  # what reading it costs
    stamp: tuple[int, int]  # size and time of the last change
    first: int  # the ordinal of its first record


@dataclass(frozen=True, slots=True)
class RawPart:
    """Consecutive records of a file, from ``start`` to before ``stop``."""

    file: RawFile
    start: int
    stop: int

    @property
    def weight(self) -> float:
        """What reading these records costs."""
        return self.file.weight * (self.stop - self.start) / max(1, self.file.records)


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Consecutive records on their way from a worker, as columns."""

    path: str
    first: int  # the ordinal of the first record
    headers: Ragged
    sequences: Ragged

    def items(self) -> Iterator[dict[str, Any]]:
        """Yields the items."""
        rows = zip(self.headers.to_list(), self.sequences.to_list(), strict=True)
        for ordinal, (header, letters) in enumerate(rows, self.first):
            yield {
                "id": decode_header(parse_id(header)),
                "sequence": letters,
                "file": self.path,
                "ordinal": ordinal,
            }


def count_files(paths: tuple[str, ...]) -> list[RawFile]:
    """Counts the records of files, and finds faulty records before an epoch begins."""
    counted = [_count(path) for path in paths]
    firsts = accumulate((records for records, _ in counted), initial=0)
    return [
        RawFile(path, *numbers, _stamp(path), first)
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


def _stamp(path: str) -> tuple[int, int]:
    """Reads the size and the time of the last change of a file."""
    stat = Path(path).stat()
    return stat.st_size, stat.st_mtime_ns


def divide(files: list[RawFile], workers: int) -> list[list[RawPart]]:
    """Divides files among workers, the largest first; long files are cut into parts."""
    share = sum(file.weight for file in files) / workers
    parts = list(chain.from_iterable(_cut(file, share, workers) for file in files))
    shares: list[list[RawPart]] = [[] for _ in range(workers)]
    loads = [0.0] * workers
    for part in sorted(parts, key=lambda part: -part.weight):
        least = loads.index(min(loads))
        shares[least].append(part)
        loads[least] += part.weight
    for assigned in shares:
        assigned.sort(key=lambda part: part.file.first + part.start)
    return shares


def _cut(file: RawFile, share: float, workers: int) -> Iterator[RawPart]:
    """Cuts a file that is too long for one worker."""
    count = 1
    if workers > 1 and file.weight > share / _PARTS:
        count = min(file.records, math.ceil(_PARTS * file.weight / share))
    bounds = [file.records * i // count for i in range(count + 1)]
    for start, stop in pairwise(bounds):
        if start < stop:
            yield RawPart(file, start, stop)


def _read_part(part: RawPart) -> Iterator[RawChunk]:
    """Reads some records of a file, which must be as it was when it was counted."""
    file, at = part.file, 0
    if _stamp(file.path) != file.stamp:
        raise FileError(
            f"{file.path} has changed since its records were counted; make the loader again"
        )
    with open_sequences(file.path) as reader:
        for batch in reader.batches(_RECORDS, max_bytes=_BYTES):
            begin, end = max(part.start - at, 0), min(part.stop - at, len(batch))
            if begin < end:
                headers, sequences = batch.headers[begin:end], batch.sequences[begin:end]
                yield RawChunk(file.path, file.first + at + begin, headers, sequences)
            at += len(batch)
            if at >= part.stop:
                return
    raise FileError(f"{file.path} has changed: {at} records, expected {file.records}")


def read_parts(
    parts: list[list[RawPart]], epoch: int, worker: int | None
) -> Iterator[RawChunk]:
    """Reads all parts of a worker; each epoch reads the same."""
    del epoch
    return chain.from_iterable(map(_read_part, parts[worker or 0]))
