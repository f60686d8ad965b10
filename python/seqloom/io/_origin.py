"""Where text comes from: a file, standard input or a file object."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import Protocol, TypeAlias, cast

from seqloom.errors import ArgumentError


class Readable(Protocol):
    """Is read from beginning to end, in binary."""

    def read(self, size: int, /) -> bytes | None:
        """Gives at most so many bytes, none at the end."""
        ...


Origin: TypeAlias = str | os.PathLike[str] | Readable


def resolve(origin: Origin) -> tuple[str, Readable | None]:
    """Gives the name that errors call it, and the object to read where it is no path."""
    if isinstance(origin, str | os.PathLike):
        path = os.fspath(origin)
        return path, _replaced_input() if path == "-" else None
    if isinstance(origin, io.TextIOBase):
        raise ArgumentError(
            f'{_name(origin)}: a file in text mode; open it in binary mode, "rb"'
        )
    if not any(hasattr(origin, method) for method in ("read", "readinto")):
        raise ArgumentError(
            f"expected a path, '-' or a binary file object, got {type(origin).__name__}"
        )
    return _name(origin), origin


def is_same_file(first: Origin, second: Origin) -> bool:
    """Says whether two origins are one file."""
    if not (isinstance(first, str | os.PathLike) and isinstance(second, str | os.PathLike)):
        return first is second
    if os.fspath(first) == os.fspath(second):
        return True
    try:
        return Path(first).samefile(second)
    except OSError:
        return False


def _replaced_input() -> Readable | None:
    """Gives what stands in for standard input, as in a notebook or a test."""
    try:
        sys.stdin.fileno()
    except (OSError, ValueError, AttributeError):
        return getattr(sys.stdin, "buffer", None)
    return None


def _name(thing: object) -> str:
    """Names a file object as far as it has a name."""
    name = getattr(thing, "name", None)
    if isinstance(name, str | os.PathLike):
        return os.fspath(cast("str", name))
    return f"<{type(thing).__name__}>"
