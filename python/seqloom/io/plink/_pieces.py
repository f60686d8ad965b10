"""Which bytes of an object are asked for, so that lines of a .bed can be had."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np

from seqloom.errors import InternalError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.io.plink._object import Fetched, Object, Waiting

T = TypeVar("T")

# So many bytes of lines are held together.
BLOCK = 8 << 20
# Bytes that nobody wants are fetched where another request would take longer.
NEAR = 256 << 10


class Piece(NamedTuple):
    """Bytes of an object that are asked for together, and the lines that they hold."""

    start: int
    stop: int
    lines: slice
    columns: slice


@dataclass(slots=True)
class Block:
    """Parts of some lines, each once and in the order of the file, as they come in.

    Args:
        first: Which of the wanted lines is the block's first.
        starts: At which byte of the object each part begins.
        order: Which of the parts each wanted line is.
        width: How many bytes a part has.
    """

    first: int
    starts: NDArray[np.int64]
    order: NDArray[np.intp]
    width: int
    missing: int = 0
    parts: NDArray[np.uint8] | None = None

    def pieces(self, chunk: int) -> list[Piece]:
        """Decides what is asked for, so many bytes at a time at most."""
        cut = _narrow if self.width <= chunk else _wide
        pieces = list(cut(self.starts, self.width, chunk))
        self.missing = len(pieces)
        return pieces

    def put(self, piece: Piece, data: NDArray[np.uint8]) -> None:
        """Takes the bytes of a piece."""
        shape = len(self.starts), self.width
        self.missing -= 1
        has_all = piece.lines == slice(0, len(self.starts))
        if has_all and data.size == shape[0] * shape[1]:
            self.parts = data.reshape(shape)
            return
        if self.parts is None:
            self.parts = np.empty(shape, np.uint8)
        width = piece.columns.stop - piece.columns.start
        places = self.starts[piece.lines] + piece.columns.start - piece.start
        windows = np.lib.stride_tricks.sliding_window_view(data, width)
        self.parts[piece.lines, piece.columns] = windows[places]

    def lines(self) -> NDArray[np.uint8]:
        """Gives the wanted lines in the order in which they are wanted."""
        if self.parts is None:
            raise InternalError("the bytes of a block are not there yet")
        in_order = np.array_equal(self.order, np.arange(len(self.starts)))
        return self.parts if in_order else self.parts[self.order]


def blocks_of(
    numbers: NDArray[np.int64], origin: int, *, stride: int, width: int
) -> Iterator[Block]:
    """Cuts wanted lines into blocks that take little memory; the first is at `origin`."""
    count = max(1, BLOCK // width)
    for first in range(0, len(numbers), count):
        lines, order = np.unique(numbers[first : first + count], return_inverse=True)
        yield Block(first, origin + stride * lines, order, width)


def ahead(
    source: Object, tasks: Iterable[tuple[T, int, int]], requests: int
) -> Generator[tuple[T, Fetched]]:
    """Asks for bytes from one on to before another, some ahead of those that are given."""
    waiting: deque[tuple[T, Waiting]] = deque()
    try:
        for task, start, stop in tasks:
            waiting.append((task, source.begin(start, stop)))
            if len(waiting) >= requests:
                yield waiting[0][0], waiting[0][1].result()
                waiting.popleft()
        while waiting:
            yield waiting[0][0], waiting[0][1].result()
            waiting.popleft()
    finally:
        for _, request in waiting:
            request.cancel()


def _narrow(starts: NDArray[np.int64], width: int, chunk: int) -> Iterator[Piece]:
    """Takes neighbours together, as long as a request does not grow too large."""
    gaps: NDArray[np.int64] = starts[1:] - starts[:-1] - width
    breaks: list[int] = (1 + np.flatnonzero(gaps > NEAR)).tolist()
    for begin, end in pairwise([0, *breaks, len(starts)]):
        first = begin
        while first < end:
            last = int(starts[first]) + chunk - width
            after = int(np.searchsorted(starts[:end], last, "right"))
            stop = int(starts[after - 1]) + width
            yield Piece(int(starts[first]), stop, slice(first, after), slice(0, width))
            first = after


def _wide(starts: NDArray[np.int64], width: int, chunk: int) -> Iterator[Piece]:
    """Takes each line in several pieces."""
    for line, start in enumerate(starts.tolist()):
        for column in range(0, width, chunk):
            stop = min(width, column + chunk)
            lines, columns = slice(line, line + 1), slice(column, stop)
            yield Piece(start + column, start + stop, lines, columns)
