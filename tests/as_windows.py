"""Hide Linux functions that Windows lacks, and emulate Windows functions on Linux.

The Windows modules `_winapi` and `msvcrt` are replaced by Linux calls with the same effect.
The script of `test_system.py` and its child processes import this module before seqloom.
"""

import asyncio
import errno
import fcntl
import importlib
import os
import select
import shutil
import signal
import stat
import subprocess
import sys
import sysconfig
import types
from multiprocessing import connection
from pathlib import Path
from typing import Any

import cyclopts
import msgspec
import numpy as np
import rich
import safetensors
import threadpoolctl

# These modules check the operating system when imported, so import them on Linux first.
for name in ("rich.console", "safetensors.numpy"):
    importlib.import_module(name)
assert all((cyclopts, msgspec, np, rich, safetensors, threadpoolctl, connection))
assert all((asyncio, shutil, subprocess, sysconfig.get_config_vars()))

_open = os.open


def _refuse_folders(path, flags, mode=0o777, *, dir_fd=None):
    """Open a file; reject folders, as `os.open` does on Windows."""
    if not isinstance(path, int) and dir_fd is None and Path(path).is_dir():
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return _open(path, flags, mode, dir_fd=dir_fd)  # pyright: ignore[reportArgumentType]


def _create_file(name, access, share, security, creation, flags, template):
    """Emulate CreateFile; `creation` is 1 (create), 3 (open), or 4 (open or create)."""
    assert (share, security, template) == (7, 0, 0)
    assert flags == 0x02000000
    extra = {1: os.O_CREAT | os.O_EXCL, 3: 0, 4: os.O_CREAT}[creation]
    is_folder = stat.S_ISDIR(Path(name).stat().st_mode) if creation == 3 else False
    writes = bool(access & _winapi.GENERIC_WRITE)
    assert not (is_folder and writes)
    return _open(name, (os.O_RDWR if writes else os.O_RDONLY) | extra, 0o666)


def _locking(handle, mode, count):
    """Lock bytes from the current offset of an open file; raise for a folder."""
    assert (mode, count) == (msvcrt.LK_NBLCK, 1)
    assert os.lseek(handle, 0, os.SEEK_CUR) == 1 << 62
    if stat.S_ISDIR(os.fstat(handle).st_mode):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES)) from error


def _open_process(access, inherit, pid):
    """Open an existing process."""
    assert (access, inherit) == (0x100000, False)
    if not Path(f"/proc/{pid}").exists():
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    return pid


_winapi = types.SimpleNamespace(
    GENERIC_READ=0x80000000,
    GENERIC_WRITE=0x40000000,
    CreateFile=_create_file,
    OpenProcess=_open_process,
    WaitForSingleObject=lambda *_: 258,
    CloseHandle=lambda _: None,
)
msvcrt = types.SimpleNamespace(
    LK_NBLCK=2, locking=_locking, open_osfhandle=lambda handle, _: handle
)


def _hide_proc(name):
    """Wrap a function so that it does not find the files below /proc and /sys."""

    def call(path, *args, **options):
        if str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return name(path, *args, **options)

    return call


def hide() -> None:
    """Make this process look like Windows to modules that are imported later."""
    modules: Any = sys.modules
    modules.update({"_winapi": _winapi, "msvcrt": msvcrt, "fcntl": None, "resource": None})
    for name in (
        *("O_NOFOLLOW", "chown", "fdatasync", "fork", "getloadavg", "pread", "pwrite"),
        *("register_at_fork", "sched_getaffinity", "sysconf"),
    ):
        delattr(os, name)
    for name in ("SIGHUP", "SIGKILL", "SIGUSR1", "SIGUSR2", "SIGXCPU", "pthread_sigmask"):
        delattr(signal, name)
    del select.poll
    for owner, name, value in (
        (os, "open", _refuse_folders),
        (os, "readlink", _hide_proc(os.readlink)),
        (Path, "read_text", _hide_proc(Path.read_text)),
        (shutil, "_use_fd_functions", False),  # shutil opens folders
        (sys, "platform", "win32"),
    ):
        setattr(owner, name, value)
