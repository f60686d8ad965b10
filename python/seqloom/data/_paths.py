"""Which files a caller means."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_path
from seqloom._system import lock
from seqloom.errors import ArgumentError, FileError, FormatError, MissingFileError
from seqloom.io import SequenceIndex
from seqloom.io._settings import check_regular

if TYPE_CHECKING:
    from seqloom._ragged import Ragged

    Columns = tuple[Ragged, Ragged, Ragged | None]
    from collections.abc import Generator

_ENDS = 1 << 16  # bytes that are hashed at the beginning and at the end of a file


def expand(
    paths: Any,
) -> tuple[str, ...]:
    """List files, patterns replaced by what they match, in sorted order."""
    is_one = isinstance(paths, (str, bytes, os.PathLike)) or not isinstance(paths, Iterable)
    several: Any = [paths] if is_one else list(paths)  # pyright: ignore[reportArgumentType]
    if not several:
        raise ArgumentError("no file is given")
    return tuple(name for path in several for name in _matches(path))


def tables_of(
    what: str, paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
) -> tuple[str, ...]:
    """List tables; a list of names that are no files may be meant as the values."""
    names = expand(paths)
    if len(names) > 1 and not any(Path(name).exists() for name in names):
        raise MissingFileError(
            f"{names[0]}: no such file, nor any of the other {len(names) - 1:,}; a list of "
            f"texts names tables, {what} in the order of the file are np.array([...])"
        )
    return names


def _matches(given: Any) -> list[str]:
    """List what one path or pattern stands for."""
    path = os.fspath(as_path("each file", given).expanduser())
    if not glob.has_magic(path) or Path(path).exists():
        return [path]
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207 - absolute or relative
    if not found:
        raise MissingFileError(f"{path}: no file matches this pattern")
    return found


def content_digest(parts: Iterable[Columns]) -> bytes:
    """Hash ids, letters and qualities, and how they are cut."""
    import hashlib  # loads OpenSSL, which most programs never need

    hashes = [hashlib.blake2b(digest_size=16) for _ in range(6)]
    for part in parts:
        columns = [rows for rows in part if rows is not None]
        for number, rows in enumerate(columns):
            hashes[2 * number].update(rows.lengths.tobytes())
            hashes[2 * number + 1].update(rows.data.data)
    whole = b"".join(digest.digest() for digest in hashes)
    return hashlib.blake2b(whole, digest_size=16).digest()


def file_digest(path: str) -> str:
    """Hash the size, the beginning and the end of a file, to recognise it again."""
    check_regular(path)
    import hashlib  # see above

    digest = hashlib.blake2b(digest_size=16)
    with Path(path).open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        digest.update(b"%d:" % size)
        digest.update(file.read(_ENDS))
        file.seek(max(size - _ENDS, 0))
        digest.update(file.read(_ENDS))
    return digest.hexdigest()


def index_of(path: str, num_threads: int | None = None) -> SequenceIndex:
    """Open the index of a file; of several processes that want it, one makes it."""
    # Nobody waits for an index that is there: a stopped process may hold the lock for long.
    if (index := ready_index(path, num_threads)) is not None:
        return index
    with _alone_with(path):
        return SequenceIndex(path, num_threads=num_threads)


def ready_index(path: str, num_threads: int | None = None) -> SequenceIndex | None:
    """Take an index that is there already; to go on reading, none needs to be made."""
    try:
        return SequenceIndex(path, build=False, num_threads=num_threads)
    except (FileError, FormatError):
        return None  # what is wrong with the file itself, its reader says


@contextmanager
def _alone_with(path: str) -> Generator[None]:
    """Keep other processes from making the same index meanwhile, where it can."""
    try:
        file = Path(path).open("rb")  # noqa: SIM115 - closed below
    except OSError:
        yield  # what is wrong with the file, its index says
        return
    with file:
        with suppress(OSError):  # some file systems have no locks: then each makes its own
            lock(file.fileno())
        yield
