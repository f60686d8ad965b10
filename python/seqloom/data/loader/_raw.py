"""Raw records of files, read part by part by any number of processes."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._system import read_at
from seqloom.errors import FileError
from seqloom.io import open_sequences
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom._ragged import Ragged
    from seqloom.data.loader._order import Request

_RECORDS, _BYTES = 256, 1 << 20
# A part of a plain file; a smaller file is one part, whatever it is packed in.
PART = 2 << 20
# How a record of FASTA begins, and how much is read at once to find where a part ends.
_BEGIN = b"\n>"
_STEP = 1 << 14


@dataclass(frozen=True, slots=True)
class RawPart:
    """Records that one process reads: those that begin among some bytes, or all."""

    path: str
    file: int  # the number of the file
    stamp: tuple[int, int]  # size and time of the last change of the file
    start: int = 0
    stop: int | None = None  # None: the whole file, however it is packed
    is_long: bool = False  # whether it is read in several steps, all by one process

    def __str__(self) -> str:
        if self.stop is None:
            return self.path
        return f"{self.path}, bytes {self.start:,} to {self.stop:,}"


@dataclass(frozen=True, slots=True)
class RawStep:
    """What a process is asked for: a part, or the k-th chunk of a long one."""

    part: RawPart
    step: int = 0

    @property
    def about(self) -> str:
        """Name it in an error."""
        return str(self.part)


@dataclass(frozen=True, slots=True)
class RawChunk:
    """Consecutive records on their way from a worker, as columns."""

    path: str
    headers: Ragged
    sequences: Ragged

    def __len__(self) -> int:
        return len(self.headers)

    def items(self, first: int) -> Iterator[dict[str, Any]]:
        """Yield the items; ``first`` is the number of the first one over all files."""
        rows = zip(self.headers.to_list(), self.sequences.to_list(), strict=True)
        for ordinal, (header, letters) in enumerate(rows, first):
            yield {
                "id": decode_header(parse_id(header)),
                "sequence": letters,
                "file": self.path,
                "ordinal": ordinal,
            }


def divide(paths: tuple[str, ...]) -> list[RawPart]:
    """Cut files into parts, whatever the number of workers; it looks at sizes only."""
    return [part for file, path in enumerate(paths) for part in _cut(path, file)]


def _cut(path: str, file: int) -> Iterator[RawPart]:
    """Cut a file, if any record in it can be found by its first letter."""
    stamp = _stamp(path)
    size = stamp[0]
    is_plain = False
    if size > PART:
        with Path(path).open("rb", buffering=0) as text:
            is_plain = text.read(1) == b">"
    if not is_plain:
        yield RawPart(path, file, stamp, is_long=size > PART)
        return
    for start in range(0, size, PART):
        yield RawPart(path, file, stamp, start, min(start + PART, size))


def _stamp(path: str) -> tuple[int, int]:
    """Read the size and the time of the last change of a file."""
    try:
        stat = Path(path).stat()
    except OSError:
        return 0, 0  # what is wrong, its reader says
    return stat.st_size, stat.st_mtime_ns


@dataclass(slots=True)
class RawReader:
    """Answers requests in a worker; of a long part it keeps where it is."""

    _begun: tuple[int, RawPart] | None = field(init=False, default=None)
    _count: int = field(init=False, default=0)
    _rest: Iterator[RawChunk] = field(init=False, default=iter(()))

    def __call__(self, request: Request) -> list[RawChunk]:
        """Read a part; of a long part one chunk, or none behind the last."""
        asked: RawStep = request.content
        path = asked.part.path
        if _stamp(path) != asked.part.stamp:
            raise FileError(
                f"{path} has changed since the loader began to read it; make the loader "
                "again"
            )
        if asked.part.is_long:
            return self._step(request.epoch, asked)
        return _read_part(asked.part)

    def _step(self, epoch: int, asked: RawStep) -> list[RawChunk]:
        """Read on to the k-th chunk; a worker that was started again skips the others."""
        if self._begun != (epoch, asked.part) or asked.step < self._count:
            self._begun, self._count = (epoch, asked.part), 0
            self._rest = read_file(asked.part.path)
        found: list[RawChunk] = []
        while self._count <= asked.step:
            found = list(islice(self._rest, 1))
            self._count += 1
        return found


def _read_part(part: RawPart) -> list[RawChunk]:
    """Read all records of a part."""
    if part.stop is None:
        return list(read_file(part.path))
    text = _text_of(part.path, part.start, part.stop)
    if not text:
        return []
    with open_sequences(io.BytesIO(text), format="fasta", num_threads=1) as reader:
        batch = reader.read_batch(len(text), len(text))
    if batch is None:
        return []
    return [RawChunk(part.path, batch.headers, batch.sequences)]


def _text_of(path: str, start: int, stop: int) -> bytes:
    """Read the records of a plain FASTA file that begin among some bytes."""
    with Path(path).open("rb", buffering=0) as file:
        before = min(start, 1)  # a record begins behind the end of a line
        text = _read_at(file.fileno(), stop - start + before, start - before)
        first = text.find(_BEGIN) + 1 if start else 0
        if start and not first:
            return b""
        found = -1
        while found < 0 and (
            more := _read_at(file.fileno(), _STEP, start - before + len(text))
        ):
            at = len(text) - 1
            text += more
            found = text.find(_BEGIN, at)
    return bytes(text[first : found + 1 if found >= 0 else len(text)])


def _read_at(file: int, size: int, position: int) -> bytearray:
    """Read so many bytes from a position on, or as many as there are."""
    text = bytearray()
    while len(text) < size and (
        more := read_at(file, size - len(text), position + len(text))
    ):
        text += more
    return text


def read_file(path: str, skipped: int = 0) -> Iterator[RawChunk]:
    """Read a file from its start, and leaves out the first records."""
    with open_sequences(path) as reader:
        for batch in reader.batches(_RECORDS, max_bytes=_BYTES):
            first = min(skipped, len(batch))
            skipped -= first
            if first < len(batch):
                yield RawChunk(path, batch.headers[first:], batch.sequences[first:])
