"""Folders that are whole or absent: written beside, and renamed in one step."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import secrets
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from seqloom._files import sync
from seqloom._signals import signals_waiting
from seqloom.errors import FileError, RunFolderError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

# Of renameat2 in linux/fcntl.h and linux/fs.h.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
# What a file system says that exchanges nothing.
_WITHOUT_EXCHANGE = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


def write_folder(
    path: Path, files: Mapping[str, bytes], *, check: Callable[[], None]
) -> None:
    """Writes a folder beside, and gives it the name when the disk has all of it."""
    # `check` refuses what must not be replaced, which others may have written meanwhile.
    final = Path(os.path.realpath(path))
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with folder_beside(final) as part:
            for name, data in files.items():
                (part / name).write_bytes(data)
                sync(part / name)
            sync(part)
            with signals_waiting(), _renaming_alone(final.parent):
                check()
                _give_name(part, final)
            # Before the old folder is emptied: the disk must not keep its name.
            sync(final.parent)
    except (FileError, RunFolderError):
        raise
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot be written: {reason}") from error


@contextmanager
def folder_beside(final: Path) -> Generator[Path]:
    """Makes a folder beside another one: locked while it is written, gone at the end."""
    part = final.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    handle: int | None = None
    try:
        with signals_waiting():
            handle = _make(part, final)
        yield part
    finally:
        if handle is not None:
            with signals_waiting():
                shutil.rmtree(part, ignore_errors=True)
                os.close(handle)


def _make(part: Path, final: Path) -> int:
    """Makes a folder and locks it, and removes those of dead writers."""
    # Before it has its lock, another writer would take it for a dead one's.
    with _renaming_alone(final.parent):
        _remove_dead(final)
        part.mkdir()
        handle = os.open(part, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        return handle


@contextmanager
def _renaming_alone(folder: Path) -> Generator[None]:
    """Waits for the lock of a folder: one process at a time changes names in it."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _remove_dead(final: Path) -> None:
    """Removes the folders of writers that were killed: nobody has locked them."""
    for left in final.parent.glob(f".{final.name}.????????.part"):
        try:
            handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue  # removed by its writer
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        os.close(handle)


def _give_name(part: Path, final: Path) -> None:
    """Renames a new folder; what had the name before has the other one then."""
    if not final.exists() or not any(final.iterdir()):
        part.replace(final)  # an empty folder is replaced in one step
    elif not _exchange(part, final):
        _put_aside(part, final)


def _exchange(part: Path, final: Path) -> bool:
    """Exchanges two names in one step; False where the system cannot."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    here, names = _AT_FDCWD, (os.fsencode(part), os.fsencode(final))
    if not library.renameat2(here, names[0], here, names[1], _RENAME_EXCHANGE):
        return True
    code = ctypes.get_errno()
    if code in _WITHOUT_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(final))


def _put_aside(part: Path, final: Path) -> None:
    """Exchanges two names in three steps; an error brings the old folder back."""
    old = part.with_name(f".{final.name}.{secrets.token_hex(4)}.part")
    final.rename(old)
    try:
        part.rename(final)
    except OSError:
        old.rename(final)
        raise
    sync(final.parent)
    shutil.rmtree(old, ignore_errors=True)
