"""Files that can be read more than once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from seqloom._files import check_path
from seqloom.errors import FileError

_STREAMS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFSOCK: "a socket",
}


def check_lasting(path: str | os.PathLike[str]) -> None:
    """Refuses a stream, standard input too: there is no going back in it."""
    if check_path("path", path) == "-":
        raise FileError("-: standard input can be read once only; save it to a file first")
    check_regular(path)


def check_regular(path: str | os.PathLike[str], *, instead: str = "") -> None:
    """Refuses a stream; what else is wrong with a path, its reader says.

    Args:
        path: The file.
        instead: What else helps, behind the advice to save a stream to a file.

    Raises:
        FileError: It is a stream.
    """
    try:
        mode = Path(path).stat().st_mode
    except OSError:
        return
    if kind := _STREAMS.get(stat.S_IFMT(mode)):
        raise FileError(
            f"{os.fspath(path)}: {kind} can be read once only; "
            f"save it to a file first{instead}"
        )
