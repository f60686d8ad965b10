"""Read raw records of files, split into ranges for any number of processes."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._system import read_bytes_at
from seqloom.errors import FileError
from seqloom.io import open_sequences
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._ragged import Ragged
    from seqloom.data.loader._order import Request

_CHUNK_RECORDS, _CHUNK_BYTES = 256, 1 << 20
# Bytes of a range of a file. A file with fewer bytes is read as a whole, even if it is
# compressed.
RANGE_BYTES = 2 << 20
# The start of a FASTA record, and the bytes per read while searching for it.
_RECORD_START = b"\n>"
_SEARCH_BYTES = 1 << 14


@dataclass(frozen=True, slots=True)
class RawPart:
    """The records of a file that start in a byte range; one process reads them."""

    path: str
    file: int
    stamp: tuple[int, int]  # Size and modification time of the file.
    start: int = 0
    stop: int | None = None  # None for the end of the file.
    is_long: bool = False  # If True, one process reads the range in chunks.

    def __str__(self) -> str:
        if self.stop is None:
            return self.path
        return f"{self.path}, bytes {self.start:,} to {self.stop:,}"


@dataclass(frozen=True, slots=True)
class RawStep:
    """A request for a range of a file, or for the k-th chunk of a long range."""

    part: RawPart
    step: int = 0

    @property
    def describe(self) -> str:
        """The range of the file, for messages."""
        return str(self.part)


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Consecutive records from a worker, as columns."""

    path: str
    headers: Ragged
    sequences: Ragged

    def __len__(self) -> int:
        return len(self.headers)

    def items(self, first: int) -> Iterator[dict[str, Any]]:
        """Yield the items; ``first`` is the ordinal of the first item."""
        rows = zip(self.headers.to_list(), self.sequences.to_list(), strict=True)
        for ordinal, (header, letters) in enumerate(rows, first):
            yield {
                "id": decode_header(parse_id(header)),
                "sequence": letters,
                "file": self.path,
                "ordinal": ordinal,
            }


def split_files(paths: tuple[str, ...]) -> list[RawPart]:
    """Split files into ranges of bytes that do not depend on the number of workers."""
    return [part for file, path in enumerate(paths) for part in _split_file(path, file)]


def _split_file(path: str, file: int) -> Iterator[RawPart]:
    """Yield the ranges of a file; only plain FASTA is split."""
    stamp = _file_stamp(path)
    size = stamp[0]
    is_plain = False
    if size > RANGE_BYTES:
        with Path(path).open("rb", buffering=0) as text:
            is_plain = text.read(1) == b">"
    if not is_plain:
        yield RawPart(path, file, stamp, is_long=size > RANGE_BYTES)
        return
    for start in range(0, size, RANGE_BYTES):
        yield RawPart(path, file, stamp, start, min(start + RANGE_BYTES, size))


def _file_stamp(path: str) -> tuple[int, int]:
    try:
        stat = Path(path).stat()
    except OSError:
        return 0, 0  # the reader reports the error
    return stat.st_size, stat.st_mtime_ns


@dataclass(slots=True)
class RawReader:
    """Reads requested ranges in a worker, and stores its position in a long range."""

    _begun: tuple[int, RawPart] | None = field(init=False, default=None)
    _count: int = field(init=False, default=0)
    _rest: Iterator[RawChunk] = field(init=False, default=iter(()))

    def __call__(self, request: Request) -> list[RawChunk]:
        """Read a range, or one chunk of a long range; empty after the last chunk."""
        step: RawStep = request.content
        path = step.part.path
        if _file_stamp(path) != step.part.stamp:
            raise FileError(
                f"{path} has changed since the loader began to read it; create a new loader"
            )
        if step.part.is_long:
            return self._read_to_chunk(request.epoch, step)
        return _read_part(step.part)

    def _read_to_chunk(self, epoch: int, step: RawStep) -> list[RawChunk]:
        """Read up to the k-th chunk; a restarted worker skips the earlier chunks."""
        if self._begun != (epoch, step.part) or step.step < self._count:
            self._begun, self._count = (epoch, step.part), 0
            self._rest = read_chunks(step.part.path)
        chunks: list[RawChunk] = []
        while self._count <= step.step:
            chunks = list(islice(self._rest, 1))
            self._count += 1
        return chunks


def _read_part(part: RawPart) -> list[RawChunk]:
    if part.stop is None:
        return list(read_chunks(part.path))
    text = _read_text(part.path, part.start, part.stop)
    if not text:
        return []
    with open_sequences(io.BytesIO(text), format="fasta", num_threads=1) as reader:
        batch = reader.read_batch(len(text), len(text))
    if batch is None:
        return []
    return [RawChunk(part.path, batch.headers, batch.sequences)]


def _read_text(path: str, start: int, stop: int) -> bytes:
    """Return the text of the records of a plain FASTA file that start in a byte range."""
    with Path(path).open("rb", buffering=0) as file:
        before = min(start, 1)  # a record starts after a line end
        text = _read_range(file.fileno(), stop - start + before, start - before)
        first = text.find(_RECORD_START) + 1 if start else 0
        if start and not first:
            return b""
        end = -1
        while end < 0 and (
            more := _read_range(file.fileno(), _SEARCH_BYTES, start - before + len(text))
        ):
            at = len(text) - 1
            text += more
            end = text.find(_RECORD_START, at)
    return bytes(text[first : end + 1 if end >= 0 else len(text)])


def _read_range(file: int, size: int, position: int) -> bytearray:
    text = bytearray()
    while len(text) < size and (
        more := read_bytes_at(file, size - len(text), position + len(text))
    ):
        text += more
    return text


def read_chunks(path: str, skipped: int = 0) -> Iterator[RawChunk]:
    """Yield the chunks of a file, without the first ``skipped`` records."""
    with open_sequences(path) as reader:
        for batch in reader.batches(_CHUNK_RECORDS, max_bytes=_CHUNK_BYTES):
            first = min(skipped, len(batch))
            skipped -= first
            if first < len(batch):
                yield RawChunk(path, batch.headers[first:], batch.sequences[first:])
