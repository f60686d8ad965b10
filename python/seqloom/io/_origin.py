"""Where text comes from: a path, standard input or a file object."""

from __future__ import annotations

import io
import os
import stat
import sys
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from seqloom._files import check_path
from seqloom.errors import ArgumentError, FileError


class Readable(Protocol):
    """A file object in binary mode, read from beginning to end."""

    def read(self, size: int, /) -> bytes | None:
        """Reads at most `size` bytes; none at the end."""
        ...


Origin: TypeAlias = str | os.PathLike[str] | Readable


def resolve(origin: Origin) -> tuple[str, Readable | None]:
    """Returns the name for errors, and the object to read unless it is a path."""
    if isinstance(origin, str | os.PathLike):
        path = os.fspath(origin)
        return path, _find_replaced_input() if path == "-" else None
    if isinstance(origin, io.TextIOBase):
        raise ArgumentError(
            f'{_name(origin)}: the file is open in text mode; open it in binary mode, "rb"'
        )
    if not any(hasattr(origin, method) for method in ("read", "readinto")):
        raise ArgumentError(
            f"expected a path, '-' or a binary file object, got {type(origin).__name__}"
        )
    return _name(origin), origin


def is_same_file(first: Origin, second: Origin) -> bool:
    """Says whether two origins are the same file."""
    if not (isinstance(first, str | os.PathLike) and isinstance(second, str | os.PathLike)):
        return first is second
    if os.fspath(first) == os.fspath(second):
        return True
    try:
        return Path(first).samefile(second)
    except OSError:
        return False


def _find_replaced_input() -> Readable | None:
    """Returns the object that replaces standard input, as in a notebook or a test."""
    try:
        sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return getattr(sys.stdin, "buffer", None)
    return None


def _name(thing: object) -> str:
    """Returns the name of a file object, or that of its class."""
    name = getattr(thing, "name", None)
    if isinstance(name, str | os.PathLike):
        return os.fspath(cast("str", name))
    return f"<{type(thing).__name__}>"


_STREAMS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_rereadable(path: str | os.PathLike[str]) -> None:
    """Refuses standard input and other streams: they cannot be read twice."""
    if check_path("path", path) == "-":
        raise FileError("-: standard input can be read once only; save it to a file first")
    check_regular(path)


def check_regular(path: str | os.PathLike[str], *, instead: str = "") -> None:
    """Refuses a stream; `instead` is added to the advice to save it to a file."""
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if kind := _STREAMS.get(stat.S_IFMT(mode)):
        raise FileError(
            f"{os.fspath(path)}: {kind} can be read once only; "
            f"save it to a file first{instead}"
        )


class StandardInput:
    """Reads standard input and counts its bytes."""

    name = "-"

    def __init__(self) -> None:
        stream = getattr(sys.stdin, "buffer", None)
        if stream is None:
            raise FileError(
                "-: this process has no standard input; give the path of a file"
            )
        self._stream = cast("Readable", stream)
        self.size = 0

    def read(self, size: int, /) -> bytes:
        """Reads the next bytes."""
        piece = self._stream.read(size) or b""
        self.size += len(piece)
        return piece


def count_bytes(origin: Origin) -> int:
    """Returns the size of a file, or the number of bytes read from standard input."""
    if isinstance(origin, StandardInput):
        return origin.size
    return Path(cast("str", origin)).stat().st_size


def find_origin(path: str | os.PathLike[str]) -> str | os.PathLike[str] | StandardInput:
    """Returns what to read: standard input for ``-``; refuses another stream."""
    if check_path("path", path) == "-":
        return StandardInput()
    check_regular(path, instead=", or pipe it: seqloom inspect - < FIFO")
    return path
