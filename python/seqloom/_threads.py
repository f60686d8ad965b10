"""How many threads to use, and keeping BLAS to them."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from seqloom._arguments import as_whole
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

Result = TypeVar("Result")

# Ours first, then those that users of bed_reader know, then those of OpenMP and of SLURM,
# which a job on a shared machine has set.
_VARIABLES = (
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
)
# More than any machine has cores, and than any pool can hold.
_MOST = 1 << 16
# Seconds between two looks at a work.
_OFTEN = 0.1
_CGROUPS = Path("/sys/fs/cgroup")


def thread_count(num_threads: int | None = None) -> int:
    """Decides how many threads a call may use.

    The argument decides; then the first of these environment variables that is set:
    SEQLOOM_NUM_THREADS, PST_NUM_THREADS, NUM_THREADS, MKL_NUM_THREADS, OMP_NUM_THREADS
    and SLURM_CPUS_PER_TASK; then the cores that the machine and its container's quota
    allow.

    Args:
        num_threads: The caller's wish.

    Returns:
        A number, at least 1.

    Raises:
        ArgumentError: The wish, or a variable's value, is not a whole number above 0, or
            the wish is above 65536.

    Examples:
        >>> thread_count(3)
        3
        >>> thread_count() >= 1
        True
    """
    if num_threads is not None:
        count = as_whole("num_threads", num_threads)
        if not 1 <= count <= _MOST:
            raise ArgumentError(f"num_threads must be from 1 to {_MOST}, got {num_threads}")
        return count
    for name in _VARIABLES:
        if value := os.environ.get(name):
            return _count_of(name, value)
    return core_count()


@contextmanager
def limit_blas(num_threads: int) -> Generator[None]:
    """Keeps NumPy's matrix library to a number of threads while the block runs.

    Args:
        num_threads: How many threads it may use.

    Yields:
        Nothing.

    Examples:
        >>> with limit_blas(1):
        ...     pass
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(num_threads, user_api="blas"):
        yield


def watched(
    work: Callable[[], Result], look: Callable[[], object], *, stop: Callable[[], object]
) -> Result:
    """Works on another thread: this one looks at it now and then, and hears Ctrl-C.

    Args:
        work: What is done.
        look: Called ten times a second, and once after the end.
        stop: Makes the work end soon; called where looking fails or Ctrl-C comes.

    Returns:
        What the work gives.

    Examples:
        >>> watched(lambda: 3, lambda: None, stop=lambda: None)
        3
    """
    made: list[Result] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            made.append(work())
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)
        finally:
            is_over.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not is_over.wait(_OFTEN):
            look()
        look()
    except BaseException:
        stop()
        is_over.wait()
        raise
    if failures:
        raise failures[0]
    return made[0]


def _count_of(name: str, value: str) -> int:
    """Reads an environment variable's number of threads."""
    if name == "OMP_NUM_THREADS":
        # It may hold a number for each level of nesting; the outermost comes first.
        value = value.partition(",")[0]
    if not value.strip().isdecimal() or int(value) < 1:
        raise ArgumentError(f"{name} must be a whole number above 0, got {value!r}")
    return int(value)


@cache
def core_count() -> int:
    """Counts the cores that the scheduler and the quota leave to this process."""
    allowed = _allowed_cores()
    quotas = [quota for folder in _own_groups() if (quota := _quota(folder)) is not None]
    return max(1, min([allowed, *(int(quota) for quota in quotas)]))


def _allowed_cores() -> int:
    """Counts the cores that this process may be scheduled on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _own_groups() -> list[Path]:
    """Lists the control groups this process is in, from the root down."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return []
    own = next((line[3:] for line in lines if line.startswith("0::")), "/")
    group = _CGROUPS / own.lstrip("/")
    return [*reversed([p for p in group.parents if p.is_relative_to(_CGROUPS)]), group]


def _quota(folder: Path) -> float | None:
    """Reads how many cores a control group may use, in either version's files."""
    try:
        quota, period = (folder / "cpu.max").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return _old_quota(folder / "cpu")
    return None if quota == "max" else int(quota) / int(period)


def _old_quota(folder: Path) -> float | None:
    """Reads the quota as version 1 of control groups writes it; -1 means none."""
    try:
        quota, period = (
            int((folder / f"cpu.cfs_{name}_us").read_text(encoding="ascii"))
            for name in ("quota", "period")
        )
    except (OSError, ValueError):
        return None
    return None if quota < 0 else quota / period
