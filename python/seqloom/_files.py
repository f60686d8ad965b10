"""Files that are whole or absent, how to tell two apart, and the folder of the cache."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from contextlib import ExitStack, contextmanager, suppress
from itertools import chain, count, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeAlias

from seqloom._signals import signals_waiting
from seqloom._system import NOFOLLOW, change_owner, lock, open_handle, sync, sync_data
from seqloom.errors import ArgumentError, FileError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    Commit: TypeAlias = Callable[[Sequence[Path], Sequence[Path]], None]

# Number of names at which parts of killed writers are searched.
_LOOKED_AT = 8
# Seconds between two syncs of the bytes written so far.
_EARLY = 0.05


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one, never a part."""
    with atomic_paths([path]) as (part,):
        part.write_bytes(data)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Generator[Path]:
    """Yield a temporary path beside `path`, and rename it when the block ends well."""
    # A symbolic link stays, and the file that it names is written. A file that is replaced
    # keeps its permissions; a new one gets what the umask allows. A folder, a device or a
    # pipe is refused: a file would replace it.
    with atomic_paths([path]) as (part,):
        yield part


@contextmanager
def atomic_paths(
    paths: Sequence[str | os.PathLike[str]], *, commit: Commit | None = None
) -> Generator[list[Path]]:
    """Yield temporary paths for several files; renames all when the block ends well."""
    # Each part is an empty file, to be written in place: a lock on it says that its writer
    # is alive. The next writer of the same file removes the part of a writer that was
    # killed. If one file cannot be written, none is made. A writer that is killed between
    # two renames leaves some old and some new files, unless `commit`, which replaces the
    # renames, prevents it.
    finals = [_final(path) for path in paths]
    try:
        with ExitStack() as stack:
            parts = [stack.enter_context(_part_of(final)) for final in finals]
            yield parts
            for part, final in zip(parts, finals, strict=True):
                _keep_rights(part, final)
            _sync_all(parts)
            with signals_waiting():
                (commit or _rename)(parts, finals)
        _sync_all(dict.fromkeys(final.parent for final in finals))
    except FileError:
        raise
    except OSError as error:
        names = " and ".join(map(str, finals))
        raise FileError(f"{names}: cannot be written: {error.strerror or error}") from error


@contextmanager
def flushing(file: BinaryIO) -> Generator[None]:
    """Let the disk write the begin of a large file while the block writes the rest."""
    # An error is raised at the end, because the system reports it only once.
    is_over = threading.Event()
    failures: list[OSError] = []

    def flush() -> None:
        while not failures and not is_over.wait(_EARLY):
            try:
                sync_data(file.fileno())
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


def _final(path: str | os.PathLike[str]) -> Path:
    """Return the file that will be written; refuses what a file would replace."""
    final = Path(os.path.realpath(path)) if Path(path).is_symlink() else Path(path)
    if final.exists() and not final.is_file():
        raise FileError(
            f"{final}: is not a regular file; expected the name of a file to write"
        )
    return final


@contextmanager
def _part_of(final: Path) -> Generator[Path]:
    """Make the part of a file; while the block runs, no other writer removes it."""
    with ExitStack() as stack:
        # A signal between making the part and registering its removal would leave it.
        with signals_waiting():
            part, handle = _claim(final)
            stack.callback(_give_back, part, handle)
        yield part


def _give_back(part: Path, handle: int) -> None:
    """Remove a part and its lock."""
    with signals_waiting():
        # After the rename, another writer may have made a part of this name.
        if is_at(part, handle):
            part.unlink()
        os.close(handle)


def _claim(final: Path) -> tuple[Path, int]:
    """Make a part and lock it, and remove the parts of dead writers."""
    parts = (final.with_name(f".{final.name}.seqloom{n}.part") for n in count())
    first = list(islice(parts, _LOOKED_AT))
    try:
        # What replaces a private file is private from its first byte on.
        mode = 0o600 if final.exists() else 0o666
        for part in first:
            _remove_dead(part)
        claims = ((part, _make(part, mode)) for part in chain(first, parts))
        return next((part, handle) for part, handle in claims if handle is not None)
    except OSError as error:
        raise FileError(f"{final}: cannot be written: {error.strerror or error}") from error


def _make(part: Path, mode: int) -> int | None:
    """Make a part and lock it; None: the name is another writer's."""
    try:
        handle = open_handle(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, mode)
    except FileExistsError:
        return None
    # Without locks no writer removes the parts of others.
    with suppress(OSError):
        lock(handle)
    if is_at(part, handle):
        return handle
    os.close(handle)  # another writer removed the part before it was locked
    return None


def _remove_dead(part: Path) -> None:
    """Remove a part that is not locked: its writer was killed."""
    try:
        handle = open_handle(part, os.O_RDWR | NOFOLLOW)
    except OSError:
        return
    with suppress(OSError):
        # A pipe or a device of this name belongs to another program.
        if stat.S_ISREG(os.fstat(handle).st_mode):
            lock(handle, wait=False)
            if is_at(part, handle):
                part.unlink()
    os.close(handle)


def is_at(path: Path, handle: int) -> bool:
    """Return True if a name is still that of an open file, and no link to it."""
    try:
        return os.path.samestat(path.lstat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _keep_rights(part: Path, final: Path) -> None:
    """Give a part the permissions of what it replaces, and the owner if it can."""
    try:
        old = final.stat()
    except FileNotFoundError:
        return
    mode = stat.S_IMODE(old.st_mode)
    try:
        change_owner(part, old.st_uid, old.st_gid)
    except OSError:
        # A new group must not get the rights of the old one: it gets those of others.
        with suppress(OSError):
            change_owner(part, -1, old.st_gid)
        if part.stat().st_gid != old.st_gid:
            mode = mode & ~stat.S_IRWXG | (mode & stat.S_IRWXO) << 3
    part.chmod(mode)


def _rename(parts: Sequence[Path], finals: Sequence[Path]) -> None:
    """Give all parts their names; if one cannot have it, no new file stays."""
    made: list[Path] = []
    try:
        for part, final in zip(parts, finals, strict=True):
            is_new = not final.exists()
            part.replace(final)
            made += [final] if is_new else []
    except OSError:
        for final in made:
            final.unlink(missing_ok=True)
        raise


def _sync_all(paths: Iterable[Path]) -> None:
    """Wait until the disk has all of them."""
    for path in paths:
        sync(path)


@contextmanager
def reading(path: str | os.PathLike[str]) -> Generator[None]:
    """Name the file in an error of the system while it is read."""
    try:
        yield
    except FileError:
        raise
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot be read: {reason}") from error


def check_uncut(path: str | os.PathLike[str], size: int) -> None:
    """Refuse a mapped file that was cut: to read behind its end would end the process."""
    try:
        now = Path(path).stat().st_size
    except OSError:
        return  # its name is gone; the map keeps what it had
    if now < size:
        raise FileError(
            f"{path}: was cut since it was opened, from {size:,} bytes to {now:,}; open it "
            "again"
        )


def check_path(name: str, value: object, *, one: str = "one file") -> str:
    """Return the text of a path; refuses anything else by the name of the argument."""
    if isinstance(value, str):
        return value
    text: object = getattr(value, "__fspath__", lambda: None)()
    if isinstance(text, str):
        return text
    kind = type(value).__name__
    raise ArgumentError(f"{name} must be the path of {one}, a string or a Path; got {kind}")


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Hash a file's content to 32 hexadecimal digits, whatever the file is called."""
    with reading(path), Path(path).open("rb") as file:
        # A fast hash, long enough to be unique.
        digest = hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16))
    return digest.hexdigest()


def cache_home() -> Path:
    """Find the folder of this user's cache: ``SEQLOOM_CACHE``, else in ``~/.cache``."""
    if named := os.environ.get("SEQLOOM_CACHE"):
        return Path(named).expanduser().absolute()
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser().absolute() / "seqloom"
