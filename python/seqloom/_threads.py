"""How many threads to use, what they may share, and work that Ctrl-C can stop."""

from __future__ import annotations

import operator
import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from seqloom._arguments import quote
from seqloom._system import count_cores
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

Result = TypeVar("Result")

# First our own variable, then those of bed_reader, of OpenMP, and of SLURM, which sets its
# variable in each job.
_VARIABLES = (
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
)
# More threads than any machine has cores.
_MOST = 1 << 16
# Seconds between two calls of `look`.
_INTERVAL = 0.1


def count_threads(num_threads: int | None = None) -> int:
    """Decide how many threads a call may use."""
    # A number above 0 is taken. Without one, the first of `_VARIABLES` that is set counts,
    # or else the number of cores that the machine and the quota of its container allow.
    if num_threads is not None and (count := check_threads(num_threads)):
        return count
    name = threads_variable()
    if name is None:
        return count_cores()
    value = os.environ[name]
    if name == "OMP_NUM_THREADS":
        # It may hold a number for each level of nesting; the outermost comes first.
        value = value.partition(",")[0]
    if not value.strip().isdecimal() or int(value) < 1:
        raise ArgumentError(f"{name} must be an integer above 0, got {value!r}")
    return int(value)


def threads_variable() -> str | None:
    """Name the environment variable that decides how many threads are used."""
    return next((name for name in _VARIABLES if os.environ.get(name)), None)


def check_threads(num_threads: object) -> int:
    """Refuse a number of threads that no machine has; 0 stands for all cores."""
    try:
        count = -1 if isinstance(num_threads, bool) else operator.index(num_threads)  # pyright: ignore[reportArgumentType]
    except TypeError:
        count = -1
    if not 0 <= count <= _MOST:
        raise ArgumentError(
            f"num_threads must be an integer from 1 to {_MOST}, or 0 or None for all "
            f"cores, got {quote(num_threads)}"
        )
    return count


def supports_threads(part: Any) -> bool:
    """Return True if the class of an object declares that threads may share it."""
    # A subclass may not keep what the class promises: it declares it again.
    return part is None or (
        "supports_threads" in part.__class__.__dict__ and part.supports_threads
    )


@contextmanager
def limit_blas(num_threads: int) -> Generator[None]:
    """Limit NumPy's matrix library to a number of threads while the block runs."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(num_threads, user_api="blas"):
        yield


def run_interruptible(
    work: Callable[[], Result], look: Callable[[], object], *, stop: Callable[[], object]
) -> Result:
    """Run `work` on another thread; this one reports progress and hears Ctrl-C."""
    # `look` is called ten times a second, and once after the end. Where it fails, or Ctrl-C
    # comes, `stop` must make the work end soon.
    results: list[Result] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 - raised again below
            failures.append(failure)
        finally:
            is_over.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not is_over.wait(_INTERVAL):
            look()
        look()
    except BaseException:
        stop()
        is_over.wait()
        raise
    if failures:
        raise failures[0]
    return results[0]
