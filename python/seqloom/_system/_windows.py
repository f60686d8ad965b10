"""File and process functions for Windows."""

import errno
import os
import sys
import time
from pathlib import Path

_SHARE_ALL = 1 | 2 | 4  # other processes may read, write, rename and delete the file
_BACKUP_SEMANTICS = 0x02000000  # flag that is required to open a folder
_CREATE_NEW, _OPEN_EXISTING, _OPEN_ALWAYS = 1, 3, 4
# Offset of the locked byte, after the end of any file, because Windows blocks reads of
# locked bytes.
_LOCKED_BYTE_OFFSET = 1 << 62
_LOCK_RETRY_SECONDS = 0.05
_SYNCHRONIZE, _WAIT_TIMEOUT = 0x100000, 258


def open_shared_file(path: Path, flags: int) -> int:
    """Open a file or folder, and allow other processes to rename or remove it."""
    assert sys.platform == "win32"  # noqa: S101 - for the type checker
    import _winapi
    import msvcrt

    writes = flags & (os.O_RDWR | os.O_WRONLY)
    access = _winapi.GENERIC_READ | (_winapi.GENERIC_WRITE if writes else 0)
    creation = _OPEN_EXISTING
    if flags & os.O_CREAT:
        creation = _CREATE_NEW if flags & os.O_EXCL else _OPEN_ALWAYS
    handle = _winapi.CreateFile(
        str(path), access, _SHARE_ALL, 0, creation, _BACKUP_SEMANTICS, 0
    )
    return msvcrt.open_osfhandle(handle, flags)


def lock_byte(handle: int, *, wait: bool) -> None:
    """Lock one byte of an open file."""
    assert sys.platform == "win32"  # noqa: S101 - for the type checker
    import msvcrt

    while True:
        os.lseek(handle, _LOCKED_BYTE_OFFSET, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except PermissionError:
            if not wait:
                raise BlockingIOError(errno.EAGAIN, "the file is locked") from None
            time.sleep(_LOCK_RETRY_SECONDS)
        else:
            return
        finally:
            os.lseek(handle, 0, os.SEEK_SET)


def is_running(pid: int) -> bool:
    """Return whether a process exists."""
    assert sys.platform == "win32"  # noqa: S101 - for the type checker
    import _winapi

    try:
        handle = _winapi.OpenProcess(_SYNCHRONIZE, False, pid)  # noqa: FBT003 - no keyword
    except PermissionError:
        return True
    except OSError:
        return False
    try:
        return _winapi.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT
    finally:
        _winapi.CloseHandle(handle)
