"""Open, lock, rename and flush files."""

from __future__ import annotations

import errno
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# Flags that reject symbolic links, and open a pipe without waiting for its other end.
NOFOLLOW: int = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

# Constants of renameat2 (linux/fcntl.h, linux/fs.h) and renamex_np (macOS sys/stdio.h).
_AT_FDCWD, _RENAME_NOREPLACE, _RENAME_EXCHANGE = -100, 1, 2
_RENAME_SWAP, _RENAME_EXCL = 2, 4
# Error codes of a system or file system that does not support a rename with a flag.
_UNSUPPORTED_ERRORS = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


def open_handle(path: Path, flags: int, mode: int = 0o666) -> int:
    """Open a file or folder, and allow other processes to rename or replace it."""
    if sys.platform == "win32":
        from seqloom._system import _windows

        return _windows.open_shared_file(path, flags)
    return os.open(path, flags, mode)


def lock_file(handle: int, *, wait: bool = True) -> None:
    """Lock an open file; the system releases the lock at the end of the process.

    Raises:
        BlockingIOError: Another process has the lock, and `wait` is False.
        OSError: The file system does not support locks, or the handle is a folder on
            Windows.
    """
    if sys.platform == "win32":
        from seqloom._system import _windows

        _windows.lock_byte(handle, wait=wait)
    else:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)


def read_bytes_at(handle: int, size: int, position: int) -> bytes:
    """Read bytes at a position; on Windows, only one thread may use the handle."""
    if sys.platform == "win32":
        os.lseek(handle, position, os.SEEK_SET)
        return os.read(handle, size)
    return os.pread(handle, size, position)


def fsync(path: Path) -> None:
    """Flush a file or a folder to disk."""
    if sys.platform == "win32" and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if sys.platform == "win32" else os.O_RDONLY)
    try:
        _flush_to_disk(handle)
    finally:
        os.close(handle)


def _flush_to_disk(handle: int) -> None:
    """Flush to disk, including the cache of the drive, which fsync omits on macOS."""
    if sys.platform == "darwin":
        import fcntl

        with suppress(OSError):  # F_FULLFSYNC is not supported by every file system
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def start_sync(handle: int) -> None:
    """Start writing the bytes of an open file to disk; `fsync` waits for the end."""
    getattr(os, "fdatasync", os.fsync)(handle)


def change_owner(path: Path, user: int, group: int) -> None:
    """Change the user and group of a file; -1 means no change. Raise OSError on failure."""
    if sys.platform == "win32":
        raise OSError(errno.ENOTSUP, "Windows has no POSIX owners")
    os.chown(path, user, group)


def exchange_files(one: Path, other: Path) -> bool:
    """Exchange two files atomically; return False if the system does not support it."""
    code = _rename_with_flag(one, other, linux=_RENAME_EXCHANGE, macos=_RENAME_SWAP)
    if code and code not in _UNSUPPORTED_ERRORS:
        raise OSError(code, os.strerror(code), str(other))
    return not code


def rename_without_replacing(part: Path, final: Path) -> int:
    """Rename a file unless the target exists; return 0 or an error code."""
    if sys.platform == "win32":
        try:
            part.rename(final)  # on Windows, a rename never replaces a file
        except OSError as error:
            return error.errno or errno.EINVAL
        return 0
    return _rename_with_flag(part, final, linux=_RENAME_NOREPLACE, macos=_RENAME_EXCL)


def _rename_with_flag(one: Path, other: Path, *, linux: int, macos: int) -> int:
    """Call the rename function of the system with a flag; return 0 or an error code."""
    if sys.platform == "win32":
        return errno.ENOSYS
    import ctypes

    library = ctypes.CDLL(None, use_errno=True)
    names = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], linux)
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(*names, macos)
    else:
        return errno.ENOSYS
    return ctypes.get_errno() if failed else 0
