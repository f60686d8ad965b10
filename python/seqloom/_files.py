"""Write files atomically, compare files, and find the cache folder."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from seqloom._signals import delay_signals
from seqloom._system import (
    NOFOLLOW,
    change_owner,
    fsync,
    lock_file,
    open_handle,
    start_sync,
)
from seqloom.errors import ArgumentError, FileError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    CommitFunction: TypeAlias = Callable[[Sequence[Path], Sequence[Path]], None]

GZIP_MAGIC = b"\x1f\x8b"
# Number of temporary file names that are checked for files of killed writers.
_MAX_TEMPORARY_NAMES = 8
# Seconds between two syncs while a file is written.
_SYNC_INTERVAL_SECONDS = 0.05


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file atomically; after a crash, the file has the old or the new content."""
    with atomic_paths([path]) as (part,):
        part.write_bytes(data)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path, and rename it to `path` if the block succeeds."""
    # If `path` is a symbolic link, the target of the link is replaced. A replaced file
    # keeps its permissions; a new file gets default permissions (umask). A folder, a
    # device or a pipe is an error, because the rename would replace it.
    with atomic_paths([path]) as (part,):
        yield part


@contextmanager
def atomic_paths(
    paths: Sequence[str | os.PathLike[str]], *, commit: CommitFunction | None = None
) -> Generator[list[Path]]:
    """Yield temporary paths for several files; rename all files if the block succeeds."""
    # Each temporary file is locked while its writer runs. The next writer of the same
    # file removes unlocked temporary files of killed writers. If one file cannot be
    # written, no file is written. A writer that is killed between two renames leaves
    # some old and some new files, unless `commit` renames all files atomically.
    finals = [_check_target(path) for path in paths]
    try:
        with ExitStack() as stack:
            parts = [stack.enter_context(_temporary_file(final)) for final in finals]
            yield parts
            for part, final in zip(parts, finals, strict=True):
                _copy_permissions(part, final)
            _sync_files(parts)
            with delay_signals():
                (commit or _rename_files)(parts, finals)
        _sync_files(dict.fromkeys(final.parent for final in finals))
    except FileError:
        raise
    except OSError as error:
        names = " and ".join(map(str, finals))
        raise FileError(f"{names}: cannot be written: {error.strerror or error}") from error


@contextmanager
def flush_in_background(file: BinaryIO) -> Generator[None]:
    """Start writing a large file to disk while the block writes the rest."""
    # Store the error of a sync and raise it at the end, because the system reports each
    # error only once.
    is_over = threading.Event()
    failures: list[OSError] = []

    def flush() -> None:
        while not failures and not is_over.wait(_SYNC_INTERVAL_SECONDS):
            try:
                start_sync(file.fileno())
            except OSError as error:
                failures.append(error)

    thread = threading.Thread(target=flush, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()
    if failures:
        raise failures[0]


def _check_target(path: str | os.PathLike[str]) -> Path:
    """Return the path of the file to write; raise for a folder, a device or a pipe."""
    final = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    if final.exists() and not final.is_file():
        raise FileError(f"{final}: is not a regular file; expected a path for a file")
    return final


@contextmanager
def _temporary_file(final: Path) -> Generator[Path]:
    """Create a temporary file that no other writer removes during the block."""
    with ExitStack() as stack:
        # Delay signals, because a signal before the cleanup is registered would leave a
        # temporary file.
        with delay_signals():
            part, handle = _create_temporary(final)
            stack.callback(_remove_temporary, part, handle)
        yield part


def _remove_temporary(part: Path, handle: int) -> None:
    """Remove a temporary file and its lock."""
    with delay_signals():
        # Do not remove the path after a rename, because another writer may have created
        # a new file there.
        if is_open_file_at(part, handle):
            part.unlink()
        os.close(handle)


def _create_temporary(final: Path) -> tuple[Path, int]:
    """Create and lock a temporary file; remove temporary files of killed writers."""
    parts = (final.with_name(f".{final.name}.seqloom{n}.part") for n in count())
    first = list(islice(parts, _MAX_TEMPORARY_NAMES))
    try:
        # Restrict permissions first, so that a copy of a private file is never
        # readable.
        mode = 0o600 if final.exists() else 0o666
        for part in first:
            _remove_abandoned_file(part)
        claims = ((part, _create_locked_file(part, mode)) for part in chain(first, parts))
        return next((part, handle) for part, handle in claims if handle is not None)
    except OSError as error:
        raise FileError(f"{final}: cannot be written: {error.strerror or error}") from error


def _create_locked_file(part: Path, mode: int) -> int | None:
    """Create and lock a temporary file; return None if the name is taken."""
    try:
        handle = open_handle(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return None
    # On a file system without locks, no writer removes temporary files of other
    # writers.
    with suppress(OSError):
        lock_file(handle)
    if is_open_file_at(part, handle):
        return handle
    os.close(handle)  # another writer removed the file before it was locked
    return None


def _remove_abandoned_file(part: Path) -> None:
    """Remove a temporary file if it is not locked, because its writer was killed."""
    try:
        handle = open_handle(part, os.O_RDWR | NOFOLLOW)
    except OSError:
        return
    with suppress(OSError):
        # A pipe or device with this name was created by another program.
        if stat.S_ISREG(os.fstat(handle).st_mode):
            lock_file(handle, wait=False)
            if is_open_file_at(part, handle):
                part.unlink()
    os.close(handle)


def is_open_file_at(path: Path, handle: int) -> bool:
    """Return True if a path still refers to an open file, and is not a symbolic link."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _copy_permissions(part: Path, final: Path) -> None:
    """Copy the permissions of the replaced file, and its owner if possible."""
    try:
        old = final.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode)
    try:
        change_owner(part, old.st_uid, old.st_gid)
    except OSError:
        # If the group could not be copied, give the new group only the rights of other
        # users.
        with suppress(OSError):
            change_owner(part, -1, old.st_gid)
        if part.stat().st_gid != old.st_gid:
            mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    part.chmod(mode)


def _rename_files(parts: Sequence[Path], finals: Sequence[Path]) -> None:
    """Rename all temporary files; on failure, remove every new file."""
    renamed: list[Path] = []
    try:
        for part, final in zip(parts, finals, strict=True):
            is_new = not final.exists()
            part.replace(final)
            renamed += [final] if is_new else []
    except OSError:
        for final in renamed:
            final.unlink(missing_ok=True)
        raise


def _sync_files(paths: Iterable[Path]) -> None:
    for path in paths:
        fsync(path)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Generator[None]:
    """Add the path to operating system errors that are raised in the block."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot be read: {reason}") from error


def check_not_truncated(path: str | os.PathLike[str], size: int) -> None:
    """Raise if a memory-mapped file was truncated, because reading it could crash."""
    try:
        now = Path(path).stat().st_size
    except OSError:
        return  # the file was removed, but the memory map is still valid
    if now < size:
        raise FileError(
            f"{path}: was truncated since it was opened, from {size:,} bytes to {now:,}; "
            "open it again"
        )


def as_path_text(name: str, value: object, *, one: str = "one file") -> str:
    """Return a path as text; raise an error that names the argument."""
    if isinstance(value, str):
        return value
    text: object = getattr(value, "__fspath__", lambda: None)()
    if isinstance(text, str):
        return text
    kind = type(value).__name__
    raise ArgumentError(f"{name} must be the path of {one}, a string or a Path; got {kind}")


def fingerprint_file(path: str | os.PathLike[str]) -> str:
    """Return a hash of a file's content with 32 hexadecimal digits."""
    with reading(path), Path(path).open("rb") as file:
        # BLAKE2 is fast, and 128 bits make collisions unlikely.
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    return digest.hexdigest()


def find_cache_folder() -> Path:
    """Return the cache folder: ``SEQLOOM_CACHE``, or a folder in ``~/.cache``."""
    if named := os.environ.get("SEQLOOM_CACHE"):
        return Path(named).expanduser().absolute()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser().absolute() / "seqloom"
