"""Processes: their memory, their parents, their signals, and the files they wait for."""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom._system._machine import read_fact

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

# Whether `ready_files` takes files that are no sockets.
CAN_POLL = sys.platform != "win32"
# On Windows: the longest wait, after which the caller looks at its processes.
_WAIT_SECONDS = 0.1

_PARENT_DIED = 1  # prctl's PR_SET_PDEATHSIG


def after_fork(call: Callable[[], Any]) -> None:
    """Calls a function in each process that is forked from this one."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=call)


@contextmanager
def without_signals(*numbers: int) -> Generator[None]:
    """Starts processes that do not receive these signals."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def follow_parent() -> None:
    """Lets the system kill this process when the thread that started it ends."""
    # On other systems a thread that watches the parent does it, a moment later.
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PARENT_DIED, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Tells whether a process exists."""
    if sys.platform == "win32":
        from seqloom._system import _windows

        return _windows.is_running(pid)  # `os.kill` would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def resident_memory(process: int | str) -> int:
    """Reads the resident bytes of a process, or of ``"self"``; 0 where it is unknown."""
    if sys.platform == "win32":
        return 0
    pages = (read_fact(f"/proc/{process}/statm") or "").split()[1:2]
    return int(pages[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0


def child_processes() -> list[str]:
    """Lists the processes that this one's threads started; none where it is unknown."""
    children: list[str] = []
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            children += (read_fact(thread / "children") or "").split()
    return children


def ready_files(files: Mapping[int, bool], seconds: float) -> list[int]:
    """Waits until one of some files can be read, or, where the value is True, written."""
    if sys.platform == "win32":
        writers = [file for file, writes in files.items() if writes]
        seconds = min(seconds, _WAIT_SECONDS)
        readable, writable, _ = select.select([*files], writers, [], seconds)
        return [*{*readable, *writable}]
    poll = select.poll()
    for file, writes in files.items():
        poll.register(file, select.POLLIN | select.POLLOUT if writes else select.POLLIN)
    return [file for file, _ in poll.poll(seconds * 1000)]
