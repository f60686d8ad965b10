"""Choose the number of threads, and run work that Ctrl-C can stop."""

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

# Environment variables of seqloom, bed_reader, OpenMP and SLURM, in order of
# precedence. SLURM sets its variable in each job.
_THREAD_VARIABLES = (
    "SEQLOOM_NUM_THREADS",
    "PST_NUM_THREADS",
    "NUM_THREADS",
    "MKL_NUM_THREADS",
    "OMP_NUM_THREADS",
    "SLURM_CPUS_PER_TASK",
)
# Maximum number of threads, which exceeds the number of cores of any machine.
_MAX_THREADS = 1 << 16
# Seconds between two calls of `look` in `run_interruptible`.
_POLL_SECONDS = 0.1


def count_threads(num_threads: int | None = None) -> int:
    """Return the number of threads that a call may use."""
    # The precedence is: a positive argument, the first of `_THREAD_VARIABLES` that is
    # set, and the number of cores that the process may use.
    if num_threads is not None and (count := check_threads(num_threads)):
        return count
    name = find_threads_variable()
    if name is None:
        return count_cores()
    value = os.environ[name]
    if name == "OMP_NUM_THREADS":
        # OMP_NUM_THREADS may list a number for each nesting level; use the outermost
        # level, which comes first.
        value = value.partition(",")[0]
    if not value.strip().isdecimal() or int(value) < 1:
        raise ArgumentError(f"{name} must be an integer above 0, got {value!r}")
    return int(value)


def find_threads_variable() -> str | None:
    """Return the environment variable that sets the number of threads, or None."""
    return next((name for name in _THREAD_VARIABLES if os.environ.get(name)), None)


def check_threads(num_threads: object) -> int:
    """Validate the number of threads; 0 means all cores."""
    try:
        count = -1 if isinstance(num_threads, bool) else operator.index(num_threads)  # pyright: ignore[reportArgumentType]
    except TypeError:
        count = -1
    if not 0 <= count <= _MAX_THREADS:
        raise ArgumentError(
            f"num_threads must be an integer from 1 to {_MAX_THREADS}, or 0 or None for "
            f"all cores, got {quote(num_threads)}"
        )
    return count


def supports_threads(part: Any) -> bool:
    """Return True if the class of an object declares that threads may share it."""
    # A subclass must declare thread safety again, because it may add state that is not
    # thread-safe.
    return part is None or (
        "supports_threads" in part.__class__.__dict__ and part.supports_threads
    )


@contextmanager
def limit_blas(num_threads: int) -> Generator[None]:
    """Limit the number of threads of NumPy's BLAS library during the block."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(num_threads, user_api="blas"):
        yield


def run_interruptible(
    work: Callable[[], Result], look: Callable[[], object], *, stop: Callable[[], object]
) -> Result:
    """Run `work` on another thread; call `look` and handle Ctrl-C on this thread."""
    # `look`, which reports progress, is called ten times a second, and once at the end.
    # If `look` raises, or after Ctrl-C, `stop` is called and must make the work end
    # soon.
    results: list[Result] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as failure:  # noqa: BLE001 - re-raised below
            failures.append(failure)
        finally:
            is_over.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        while not is_over.wait(_POLL_SECONDS):
            look()
        look()
    except BaseException:
        stop()
        is_over.wait()
        raise
    if failures:
        raise failures[0]
    return results[0]
