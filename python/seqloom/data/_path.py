"""Which files a caller means."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from seqloom._arguments import as_path
from seqloom.errors import ArgumentError, MissingFileError


def expand(
    paths: Any,
) -> tuple[str, ...]:
    """Lists files, patterns replaced by what they match, in sorted order."""
    is_one = isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable)
    several: Any = [paths] if is_one else list(paths)  # pyright: ignore[reportArgumentType]
    if not several:
        raise ArgumentError("no file is given")
    return tuple(name for path in several for name in _matches(path))


def tables_of(
    what: str, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
) -> tuple[str, ...]:
    """Lists tables; a list of names that are no files may be meant as the values."""
    names = expand(paths)
    if len(names) > 1 and not any(Path(name).exists() for name in names):
        raise MissingFileError(
            f"{names[0]}: no such file, nor any of the other {len(names) - 1:,}; a list of "
            f"texts names tables, {what} in the order of the file are np.array([...])"
        )
    return names


def _matches(given: Any) -> list[str]:
    """Lists what one path or pattern stands for."""
    path = os.fspath(as_path("each file", given).expanduser())
    if not glob.has_magic(path) or Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - absolute or relative
    if not found:
        raise MissingFileError(f"{path}: no file matches this pattern")
    return found
