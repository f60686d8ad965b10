"""Which files a caller means."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom.errors import ArgumentError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Iterable


def expand(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
) -> tuple[str, ...]:
    """Lists files, patterns replaced by what they match, in sorted order."""
    several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not several:
        raise ArgumentError("no file is given")
    return tuple(name for path in several for name in _matches(os.fspath(path)))


def _matches(path: str) -> list[str]:
    """Lists what one path or pattern stands for."""
    path = os.fspath(Path(path).expanduser())
    if not glob.has_magic(path) or Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - absolute or relative
    if not found:
        raise MissingFileError(f"{path}: no file matches this pattern")
    return found
