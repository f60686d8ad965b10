"""The lock of a run folder: one process writes to it at a time."""

import json
import os
import socket
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from seqloom._files import is_at
from seqloom._signals import signals_waiting
from seqloom._system import NOFOLLOW, after_fork, lock, open_handle
from seqloom.errors import FileError, RunFolderError

NAME = ".run.lock"
# Who holds a lock says so a moment after it has it.
_LOOKS, _PAUSE = 20, 0.01
_held: set[int] = set()


@contextmanager
def writing_alone(folder: Path) -> Generator[None]:
    """Keeps every other run out of a folder while the block runs."""
    # The system takes a lock back when its process ends, however it ends: a run that was
    # killed stops nobody. Its file stays, and is the next run's.
    path, handle = folder / NAME, None
    try:
        with signals_waiting():
            handle = _take(path)
        if handle is None:
            raise RunFolderError(
                f"{folder}: is being written by another run ({_owner_of(path)}); wait "
                "until it has ended, stop it, or choose another folder (out=, --out)"
            )
        yield
    finally:
        if handle in _held:  # not in a forked process
            with signals_waiting():
                _release(path, handle)


def _take(path: Path) -> int | None:
    """Takes the lock; None where another run has it."""
    try:
        handle = _lock(path)
    except OSError as error:
        reason = error.strerror or error
        raise FileError(f"{path}: cannot lock the run folder: {reason}") from error
    if handle is not None:
        _held.add(handle)
        _sign(handle)
    return handle


def _lock(path: Path) -> int | None:
    """Opens the file and locks it."""
    while True:
        handle = open_handle(path, os.O_RDWR | os.O_CREAT | NOFOLLOW)
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            os.close(handle)
            return None
        except OSError:
            pass  # a file system without locks
        if is_at(path, handle):
            return handle
        os.close(handle)  # removed by the run that had it


def _sign(handle: int) -> None:
    """Writes who has the lock, for the message that another run gets."""
    owner = {"pid": os.getpid(), "host": socket.gethostname()}
    with suppress(OSError):  # a full disk; the lock holds without
        os.ftruncate(handle, 0)
        os.write(handle, json.dumps(owner).encode())


def _release(path: Path, handle: int) -> None:
    """Removes the file and gives the lock back."""
    _held.discard(handle)
    with suppress(OSError):  # the folder itself may be gone; a file that stays is harmless
        if is_at(path, handle):
            path.unlink()
    with suppress(OSError):
        os.close(handle)


def _owner_of(path: Path) -> str:
    """Names the process that has a lock."""
    for _ in range(_LOOKS):
        with suppress(OSError, ValueError, KeyError, TypeError):
            facts: Any = json.loads(path.read_bytes())
            return f"process {int(facts['pid'])} on {facts['host']}"
        time.sleep(_PAUSE)
    return "a process that has not said its number"


def _forget() -> None:
    """Lets a forked process hold no lock: it may outlive the run."""
    for handle in _held:
        os.close(handle)
    _held.clear()


after_fork(_forget)
