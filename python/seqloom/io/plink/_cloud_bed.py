"""Fetch rows of a .bed in the cloud by requests for byte ranges."""

from __future__ import annotations

import os
from collections import deque
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from seqloom.errors import FormatError, InternalError, MissingObjectError, RemoteError
from seqloom.io.plink._cloud_object import CloudObject, ForkedObject, LocalObject, is_forked

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Mapping
    from urllib.parse import ParseResult

    from numpy.typing import NDArray

    from seqloom.io.plink._cloud_object import (
        CloudRequest,
        FetchedRange,
        ObjectIdentity,
        RemoteObject,
    )

T = TypeVar("T")

HEADER_SIZE = 3  # size of the header in bytes
_BED_MAGIC = b"\x6c\x1b"
_LAYOUTS = {0: "individual", 1: "SNP"}
BLOCK_BYTES = 8 << 20  # maximum bytes of rows in a block
MAX_GAP_BYTES = 256 << 10  # bytes; two requests are faster than reading a longer gap


class ByteRange(NamedTuple):
    """The byte range of one request, and the rows in this range."""

    start: int
    stop: int
    lines: slice
    columns: slice


@dataclass(slots=True)
class LineBlock:
    """A block of requested rows, or of one byte range of each row, in file order."""

    first: int  # index of the block's first row among the requested rows
    starts: NDArray[np.int64]  # byte offset of each row, or part of a row, in the object
    order: NDArray[np.intp]  # index in `starts` of each requested row
    width: int  # number of bytes that are fetched of each row
    missing: int = 0  # number of requests not yet answered
    parts: NDArray[np.uint8] | None = None

    def split_into_requests(self, chunk: int) -> list[ByteRange]:
        """Split the block into requests of at most `chunk` bytes."""
        cut = _join_lines if self.width <= chunk else _split_lines
        pieces = list(cut(self.starts, self.width, chunk))
        self.missing = len(pieces)
        return pieces

    def copy_reply(self, piece: ByteRange, data: NDArray[np.uint8]) -> None:
        """Copy the fetched bytes of a request into the block."""
        shape = len(self.starts), self.width
        self.missing -= 1
        has_all = piece.lines == slice(0, len(self.starts))
        if has_all and data.size == shape[0] * shape[1]:
            self.parts = data.reshape(shape)
            return
        if self.parts is None:
            self.parts = np.empty(shape, np.uint8)
        width = piece.columns.stop - piece.columns.start
        offsets = self.starts[piece.lines] + piece.columns.start - piece.start
        windows = np.lib.stride_tricks.sliding_window_view(data, width)
        self.parts[piece.lines, piece.columns] = windows[offsets]

    def lines(self) -> NDArray[np.uint8]:
        """Return the requested rows in the requested order."""
        if self.parts is None:
            raise InternalError("a block was read before all of its bytes were fetched")
        in_order = np.array_equal(self.order, np.arange(len(self.starts)))
        return self.parts if in_order else self.parts[self.order]


def split_blocks(
    numbers: NDArray[np.int64], origin: int, *, stride: int, width: int
) -> Iterator[LineBlock]:
    """Split the requested rows into blocks; row 0 begins at byte `origin`."""
    count = max(1, BLOCK_BYTES // width)
    for first in range(0, len(numbers), count):
        lines, order = np.unique(numbers[first : first + count], return_inverse=True)
        yield LineBlock(first, origin + stride * lines, order, width)


def fetch_ahead(
    source: RemoteObject, tasks: Iterable[tuple[T, int, int]], requests: int
) -> Generator[tuple[T, FetchedRange]]:
    """Yield the fetched byte ranges in order; several requests are sent in advance."""
    waiting: deque[tuple[T, CloudRequest]] = deque()
    try:
        for task, start, stop in tasks:
            waiting.append((task, source.request(start, stop)))
            if len(waiting) >= requests:
                yield waiting[0][0], waiting[0][1].result()
                waiting.popleft()
        while waiting:
            yield waiting[0][0], waiting[0][1].result()
            waiting.popleft()
    finally:
        for _, request in waiting:
            request.cancel()


def _join_lines(starts: NDArray[np.int64], width: int, chunk: int) -> Iterator[ByteRange]:
    """Combine neighbouring rows into requests of at most `chunk` bytes."""
    gaps: NDArray[np.int64] = starts[1:] - starts[:-1] - width
    breaks: list[int] = (1 + np.flatnonzero(gaps > MAX_GAP_BYTES)).tolist()
    for begin, end in pairwise([0, *breaks, len(starts)]):
        first = begin
        while first < end:
            last = int(starts[first]) + chunk - width
            after = int(np.searchsorted(starts[:end], last, "right"))
            stop = int(starts[after - 1]) + width
            yield ByteRange(int(starts[first]), stop, slice(first, after), slice(0, width))
            first = after


def _split_lines(starts: NDArray[np.int64], width: int, chunk: int) -> Iterator[ByteRange]:
    """Split each row into several requests."""
    for line, start in enumerate(starts.tolist()):
        for column in range(0, width, chunk):
            stop = min(width, column + chunk)
            lines, columns = slice(line, line + 1), slice(column, stop)
            yield ByteRange(start + column, start + stop, lines, columns)


_MAX_REQUESTS = 10  # maximum number of simultaneous requests for a table


def read_object(location: ParseResult, options: Mapping[str, str]) -> bytes:
    """Fetch all bytes of an object."""
    source = _open_url(location, options)
    try:
        first = source.request(0, BLOCK_BYTES).result()
    except MissingObjectError:
        raise
    except RemoteError:
        # The object is empty, or its server does not support byte ranges.
        return bytes(source.request(0, None).result().data)
    starts = range(BLOCK_BYTES, first.identity.size, BLOCK_BYTES)
    rest = fetch_ahead(
        source, ((None, start, start + BLOCK_BYTES) for start in starts), _MAX_REQUESTS
    )
    parts = [first, *(fetched for _, fetched in rest)]
    if any(part.identity != first.identity for part in parts):
        raise RemoteError(
            f"{location.geturl()}: the file changed while it was read; read it again"
        )
    return b"".join(part.data for part in parts)


class RemoteBed:
    """Fetcher of rows of a .bed in the cloud, which threads and processes can share."""

    def __init__(
        self, location: ParseResult, options: Mapping[str, str], *, check: bool
    ) -> None:
        self.location = location
        self._options = dict(options)
        self._identity: ObjectIdentity | None = None
        self._major: str | None = None
        self._object_of_process: tuple[int, RemoteObject] | None = None
        if check:
            self._read_header()

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling; the other process connects to the store again."""
        return vars(self) | {"_object_of_process": None}

    @property
    def major(self) -> str:
        """Layout: ``"SNP"`` if each row is a variant, else ``"individual"``."""
        return self._major or self._read_header()[0]

    def size(self) -> int:
        """Return the size of the object in bytes."""
        return (self._identity or self._read_header()[1]).size

    def blocks(
        self,
        numbers: NDArray[np.int64],
        stride: int,
        part: slice,
        *,
        requests: int,
        chunk: int,
    ) -> Generator[tuple[int, NDArray[np.uint8]]]:
        """Yield blocks of rows, or parts of rows, each with the index of its first row."""
        width = part.stop - part.start
        if not width:
            yield 0, np.empty((len(numbers), 0), np.uint8)
            return
        blocks = split_blocks(numbers, HEADER_SIZE + part.start, stride=stride, width=width)
        tasks = (
            ((block, piece), piece.start, piece.stop)
            for block in blocks
            for piece in block.split_into_requests(chunk)
        )
        with closing(fetch_ahead(self._connect(), tasks, requests)) as fetched:
            for (block, piece), answer in fetched:
                block.copy_reply(piece, self._check_reply(answer, piece.stop - piece.start))
                if not block.missing:
                    yield block.first, block.lines()

    def _read_header(self) -> tuple[str, ObjectIdentity]:
        """Fetch and check the header of the .bed."""
        fetched = self._connect().request(0, HEADER_SIZE).result()
        header = bytes(fetched.data)
        if (
            len(header) < HEADER_SIZE
            or header[:2] != _BED_MAGIC
            or header[2] not in _LAYOUTS
        ):
            raise FormatError(
                f"{self.location.geturl()}: expected a .bed, which begins with the bytes "
                f"6c 1b and 01 or 00; found {header.hex(' ') or 'no bytes'}",
                kind="header",
                path=self.location.geturl(),
            )
        self._check_reply(fetched, HEADER_SIZE)
        self._major, seen = _LAYOUTS[header[2]], fetched.identity
        return self._major, seen

    def _check_reply(self, fetched: FetchedRange, size: int) -> NDArray[np.uint8]:
        """Return the bytes of a request; raise if they are incomplete or outdated."""
        name = self.location.geturl()
        if self._identity is None:
            self._identity = fetched.identity
        if self._identity != fetched.identity:
            raise RemoteError(
                f"{name}: the file changed while it was in use: expected {self._identity}, "
                f"found {fetched.identity}; open it again"
            )
        if len(fetched.data) != size:
            raise FormatError(
                f"{name}: expected {size} bytes, found {len(fetched.data)}: the file "
                "is truncated",
                kind="cut",
                path=name,
            )
        return np.frombuffer(fetched.data, np.uint8)

    def _connect(self) -> RemoteObject:
        """Return the cloud object; each process connects to the store once."""
        if self._object_of_process is None or self._object_of_process[0] != os.getpid():
            self._object_of_process = os.getpid(), _open_url(self.location, self._options)
        return self._object_of_process[1]


def _open_url(location: ParseResult, options: Mapping[str, str]) -> RemoteObject:
    """Return the object that a URL names."""
    if location.scheme == "file":
        return LocalObject(location)
    return (ForkedObject if is_forked() else CloudObject)(location, options)
