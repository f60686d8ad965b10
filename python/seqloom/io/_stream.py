"""A stream whose length shows only as it is read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, cast

from seqloom._files import check_path
from seqloom.errors import FileError
from seqloom.io._regular import check_regular

if TYPE_CHECKING:
    import os

    from seqloom.io._origin import Origin, Readable


class StandardInput:
    """Reads standard input and counts its bytes."""

    name = "-"

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise FileError("-: there is no standard input")
        self._stream = cast("Readable", stream)
        self.size = 0

    def read(self, size: int, /) -> bytes:
        """Reads on."""
        piece = self._stream.read(size) or b""
        self.size += len(piece)
        return piece


def size_of(origin: Origin) -> int:
    """Says how many bytes a file has, or how many were read of standard input."""
    if isinstance(origin, StandardInput):
        return origin.size
    return Path(cast("str", origin)).stat().st_size


def origin_of(path: str | os.PathLike[str]) -> str | os.PathLike[str] | StandardInput:
    """Gives what is read: standard input for ``-``; another stream is refused."""
    if check_path("path", path) == "-":
        return StandardInput()
    check_regular(path, instead=", or pipe it: seqloom inspect - < FIFO")
    return path
