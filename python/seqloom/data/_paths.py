"""Expands paths and patterns, hashes files, and opens their indexes."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_path
from seqloom._system import lock_file
from seqloom.errors import ArgumentError, FileError, FormatError, MissingFileError
from seqloom.io import SequenceIndex
from seqloom.io._settings import check_not_stream

if TYPE_CHECKING:
    from seqloom._ragged import Ragged

    RecordColumns = tuple[Ragged, Ragged, Ragged | None]
    from collections.abc import Generator

_HASHED_BYTES = 1 << 16  # number of bytes that are hashed at each end of a file


def expand_paths(paths: Any) -> tuple[str, ...]:
    """Return paths; each glob pattern is replaced by the sorted paths that match it."""
    is_one = isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable)
    several: Any = [paths] if is_one else list(paths)  # pyright: ignore[reportArgumentType]
    if not several:
        raise ArgumentError("no file was given, expected at least one")
    return tuple(name for path in several for name in _expand_pattern(path))


def expand_table_paths(
    what: str, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
) -> tuple[str, ...]:
    """Return the paths of tables; raise if the strings seem to be labels."""
    names = expand_paths(paths)
    if len(names) > 1 and not any(Path(name).exists() for name in names):
        raise MissingFileError(
            f"{names[0]}: no such file, nor any of the other {len(names) - 1:,}; a list of "
            f"strings is read as paths; pass {what} in record order as np.array([...])"
        )
    return names


def _expand_pattern(path_or_pattern: Any) -> list[str]:
    path = os.fspath(as_path("each file", path_or_pattern).expanduser())
    if not glob.has_magic(path) or Path(path).exists():
        return [path]
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - absolute or relative
    if not matches:
        raise MissingFileError(f"{path}: no file matches this pattern")
    return matches


def digest_records(parts: Iterable[RecordColumns]) -> bytes:
    """Return a hash of the ids, sequences and qualities of records."""
    import hashlib  # imported late: loads OpenSSL, which is rarely needed

    hashes = [hashlib.blake2b(digest_size=16) for _ in range(6)]
    for part in parts:
        columns = [rows for rows in part if rows is not None]
        for number, rows in enumerate(columns):
            hashes[2 * number].update(rows.lengths.tobytes())
            hashes[2 * number + 1].update(rows.data.data)
    whole = b"".join(digest.digest() for digest in hashes)
    return hashlib.blake2b(whole, digest_size=16).digest()


def digest_file(path: str) -> str:
    """Return a hash of a file's size, first bytes and last bytes."""
    check_not_stream(path)
    import hashlib  # imported late: loads OpenSSL

    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d:" % size)
        digest.update(file.read(_HASHED_BYTES))
        file.seek(max(size - _HASHED_BYTES, 0))
        digest.update(file.read(_HASHED_BYTES))
    return digest.hexdigest()


def open_index(path: str, num_threads: int | None = None) -> SequenceIndex:
    """Open the index of a file; build it if it is missing."""
    # An existing index is opened without the lock, because a suspended process may hold
    # the lock.
    if (index := open_existing_index(path, num_threads)) is not None:
        return index
    with _index_lock(path):
        return SequenceIndex(path, num_threads=num_threads)


def open_existing_index(path: str, num_threads: int | None = None) -> SequenceIndex | None:
    """Open an existing index; None if the file has no index."""
    try:
        return SequenceIndex(path, build=False, num_threads=num_threads)
    except (FileError, FormatError):
        return None  # the reader reports errors in the file


@contextmanager
def _index_lock(path: str) -> Generator[None]:
    """Lock a file while its index is built, if the file system supports locks."""
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError:
        yield  # the error is raised when the index is built
        return
    with file:
        with suppress(OSError):  # without locks, each process builds the index
            lock_file(file.fileno())
        yield
