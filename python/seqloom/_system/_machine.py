"""Read cores, memory and load of the machine, and control processes."""

from __future__ import annotations

import os
import re
import signal
import sys
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Generator


_CGROUP_ROOT = Path("/sys/fs/cgroup")
_KIB = 1024
_PR_SET_PDEATHSIG = 1  # option of prctl


def match_in_system_file(path: Path | str, pattern: str = r"(?s)(.*)") -> str | None:
    """Return the match of a pattern in a system file, or None if the file is missing."""
    try:
        text = Path(path).read_text("utf-8", "replace")
    except OSError:
        return None
    match = re.search(pattern, text, re.MULTILINE)
    return match and match[1].strip()


@cache
def count_cores() -> int:
    """Return the number of cores that CPU affinity and quota allow for this process."""
    allowed = os.cpu_count() or 1
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
    quotas = [
        quota
        for folder in _list_control_groups()
        if (quota := _read_cpu_quota(folder)) is not None
    ]
    return max(1, min([allowed, *(int(quota) for quota in quotas)]))


def _list_control_groups() -> list[Path]:
    """Return the control groups of this process, from the root down."""
    lines = (match_in_system_file("/proc/self/cgroup") or "").splitlines()
    if not lines:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    group = _CGROUP_ROOT / own.lstrip("/")
    return [*reversed([p for p in group.parents if p.is_relative_to(_CGROUP_ROOT)]), group]


def _read_cpu_quota(folder: Path) -> float | None:
    """Return the CPU quota of a control group (version 1 or 2) as a number of cores."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        names = (folder / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
    try:
        share, length = (int(name.read_text(encoding="ascii")) for name in names)
    except (OSError, ValueError):
        return None
    return None if share < 0 else share / length  # -1: no quota (cgroups version 1)


def load_average() -> float:
    """Return the load average of the last minute; 0 if unknown."""
    return 0.0 if sys.platform == "win32" else os.getloadavg()[0]


def total_memory() -> int:
    """Return the machine's memory in bytes; 0 if unknown."""
    if sys.platform == "win32":
        return 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0


def available_memory() -> int:
    """Return the memory available to programs in bytes; 0 if unknown."""
    return _KIB * int(
        match_in_system_file("/proc/meminfo", r"^MemAvailable:\s*(\d+) kB$") or 0
    )


def run_after_fork(call: Callable[[], Any]) -> None:
    """Call a function in each process that is forked from this one."""
    if sys.platform != "win32":
        os.register_at_fork(after_in_child=call)


@contextmanager
def block_signals(*numbers: int) -> Generator[None]:
    """Block signals, so that processes started in this block do not receive them."""
    if sys.platform == "win32":
        yield
        return
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def end_with_parent() -> None:
    """Make the system kill this process when the thread that started the process ends."""
    # On systems other than Linux, a thread watches the parent and ends this process.
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def is_running(pid: int) -> bool:
    """Return whether a process exists."""
    if sys.platform == "win32":
        from seqloom._system import _windows

        return _windows.is_running(pid)  # on Windows, `os.kill` would end the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def resident_memory(process: int | str) -> int:
    """Return the resident memory of a process, or of ``"self"``, in bytes; 0 if unknown."""
    if sys.platform == "win32":
        return 0
    pages = (match_in_system_file(f"/proc/{process}/statm") or "").split()[1:2]
    return int(pages[0]) * os.sysconf("SC_PAGE_SIZE") if pages else 0


def list_child_processes() -> list[str]:
    """Return the ids of the child processes; an empty list if unknown."""
    children: list[str] = []
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            children += (match_in_system_file(thread / "children") or "").split()
    return children
