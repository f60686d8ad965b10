"""The machine: its cores, its memory, its load, and what Linux says about it in files."""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_KIB = 1024


def read_fact(path: Path | str, pattern: str = r"(?s)(.*)") -> str | None:
    """Reads what a pattern finds in a file of the system; None where it is missing."""
    try:
        text = Path(path).read_text("utf-8", "replace")
    except OSError:
        return None
    match = re.search(pattern, text, re.MULTILINE)
    return match and match[1].strip()


@cache
def count_cores() -> int:
    """Counts the cores that the scheduler and the quota leave to this process."""
    allowed = os.cpu_count() or 1
    if sys.platform == "linux":
        allowed = len(os.sched_getaffinity(0))
    quotas = [quota for folder in _own_groups() if (quota := _quota(folder)) is not None]
    return max(1, min([allowed, *(int(quota) for quota in quotas)]))


def _own_groups() -> list[Path]:
    """Lists the control groups this process is in, from the root down."""
    lines = (read_fact("/proc/self/cgroup") or "").splitlines()
    if not lines:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    group = _CGROUPS / own.lstrip("/")
    return [*reversed([p for p in group.parents if p.is_relative_to(_CGROUPS)]), group]


def _quota(folder: Path) -> float | None:
    """Reads how many cores a control group may use, in either version's files."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        names = (folder / "cpu" / f"cpu.cfs_{name}_us" for name in ("quota", "period"))
    try:
        share, length = (int(name.read_text(encoding="ascii")) for name in names)
    except (OSError, ValueError):
        return None
    return None if share < 0 else share / length  # version 1 writes -1 for no quota


def load_average() -> float:
    """Reads how many programs wanted to run in the last minute; 0 where it is unknown."""
    return 0.0 if sys.platform == "win32" else os.getloadavg()[0]


def total_memory() -> int:
    """Reads the machine's memory in bytes; 0 where it is unknown."""
    if sys.platform == "win32":
        return 0
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (OSError, ValueError):
        return 0


def available_memory() -> int:
    """Reads how many bytes programs may still take; 0 where it is unknown."""
    return _KIB * int(read_fact("/proc/meminfo", r"^MemAvailable:\s*(\d+) kB$") or 0)
