"""A .bed in the cloud, and tables there."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import FormatError, MissingObjectError, RemoteError
from seqloom.io.plink._apart import ApartObject, must_be_apart
from seqloom.io.plink._object import CloudObject, LocalObject
from seqloom.io.plink._pieces import BLOCK, ahead, blocks_of

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from urllib.parse import ParseResult

    from numpy.typing import NDArray

    from seqloom.io.plink._object import Fetched, Identity, Object

_HEADER = 3
# A table is fetched by so many requests at once.
_AT_ONCE = 10
_MAGIC = b"\x6c\x1b"
_MAJORS = {0: "individual", 1: "SNP"}


def read_object(location: ParseResult, options: Mapping[str, str]) -> bytes:
    """Fetches all bytes of an object."""
    source = _open(location, options)
    try:
        first = source.begin(0, BLOCK).result()
    except MissingObjectError:
        raise
    except RemoteError:
        # It is empty, or its server knows no parts of files.
        return bytes(source.begin(0, None).result().data)
    starts = range(BLOCK, first.identity.size, BLOCK)
    rest = ahead(source, ((None, start, start + BLOCK) for start in starts), _AT_ONCE)
    parts = [first, *(fetched for _, fetched in rest)]
    if any(part.identity != first.identity for part in parts):
        raise RemoteError(f"{location.geturl()}: changed while it was read; read it again")
    return b"".join(part.data for part in parts)


class RemoteBed:
    """Fetches lines of a .bed that a URL names.

    It may be pickled, and used by many threads and in forked processes.

    Args:
        location: The URL.
        options: How its store is reached.
        check: Whether the header is fetched and looked at now.
    """

    def __init__(
        self, location: ParseResult, options: Mapping[str, str], *, check: bool
    ) -> None:
        self.location = location
        self._options = dict(options)
        self._seen: Identity | None = None
        self._major: str | None = None
        self._opened: tuple[int, Object] | None = None
        if check:
            self._look()

    def __getstate__(self) -> dict[str, Any]:
        """Gives what another process needs: it reaches the store by itself."""
        return vars(self) | {"_opened": None}

    @property
    def major(self) -> str:
        """What a line of the .bed is: ``"SNP"`` or ``"individual"``."""
        return self._major or self._look()[0]

    def size(self) -> int:
        """How many bytes the object has."""
        return (self._seen or self._look()[1]).size

    def blocks(
        self,
        numbers: NDArray[np.int64],
        stride: int,
        part: slice,
        *,
        requests: int,
        chunk: int,
    ) -> Generator[tuple[int, NDArray[np.uint8]]]:
        """Fetches a part of each of some lines, a block of lines at a time.

        Args:
            numbers: Which lines, in any order, each as often as it is wanted.
            stride: How many bytes a line has.
            part: Which bytes of each line.
            requests: How many requests are under way at once at most.
            chunk: How many bytes a request asks for at most.

        Yields:
            How many of the lines were given before, and the parts of the next ones.
        """
        width = part.stop - part.start
        if not width:
            yield 0, np.empty((len(numbers), 0), np.uint8)
            return
        blocks = blocks_of(numbers, _HEADER + part.start, stride=stride, width=width)
        tasks = (
            ((block, piece), piece.start, piece.stop)
            for block in blocks
            for piece in block.pieces(chunk)
        )
        with closing(ahead(self._object(), tasks, requests)) as fetched:
            for (block, piece), answer in fetched:
                block.put(piece, self._checked(answer, piece.stop - piece.start))
                if not block.missing:
                    yield block.first, block.lines()

    def _look(self) -> tuple[str, Identity]:
        """Fetches the header."""
        fetched = self._object().begin(0, _HEADER).result()
        header = bytes(fetched.data)
        if len(header) < _HEADER or header[:2] != _MAGIC or header[2] not in _MAJORS:
            raise FormatError(
                f"{self.location.geturl()}: expected a .bed, which begins with the bytes "
                f"6c 1b and 01 or 00; found {header.hex(' ') or 'no bytes'}",
                kind="header",
                path=self.location.geturl(),
            )
        self._checked(fetched, _HEADER)
        self._major, seen = _MAJORS[header[2]], fetched.identity
        return self._major, seen

    def _checked(self, fetched: Fetched, size: int) -> NDArray[np.uint8]:
        """Gives fetched bytes, if they are all there and of the object as it was."""
        name = self.location.geturl()
        if self._seen is None:
            self._seen = fetched.identity
        if self._seen != fetched.identity:
            raise RemoteError(
                f"{name}: changed while it was in use: expected {self._seen}, "
                f"found {fetched.identity}; open it again"
            )
        if len(fetched.data) != size:
            raise FormatError(
                f"{name}: expected {size} bytes, found {len(fetched.data)}: it was cut",
                kind="cut",
                path=name,
            )
        return np.frombuffer(fetched.data, np.uint8)

    def _object(self) -> Object:
        """Gives the object as this process reaches it."""
        if self._opened is None or self._opened[0] != os.getpid():
            self._opened = os.getpid(), _open(self.location, self._options)
        return self._opened[1]


def _open(location: ParseResult, options: Mapping[str, str]) -> Object:
    """Finds the way to an object; a file needs no options."""
    if location.scheme == "file":
        return LocalObject(location)
    return (ApartObject if must_be_apart() else CloudObject)(location, options)
