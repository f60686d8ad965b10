"""Measure the first call of a training step with one library in this process.

python -m benchmarks.first_call._worker SIDE NETWORK FOLDER, with all caches in FOLDER.
"""

import json
import os
import sys
import time
from collections.abc import Callable
from statistics import median
from typing import Any

LATER, DROPOUT, THREADS = 3, 0.1, 1


def main(side: str, network: str, folder: str) -> None:
    """Print the seconds of the first call, of a later call, and of tracing and planning."""
    _set_cache_folder(folder)
    parts = _record_compilation_stages() if side == "numpy compiled" else {}
    call = _make_step(side, network)
    first = _time_call(call)
    later = median([_time_call(call) for _ in range(LATER)])
    print(json.dumps({"first": first, "later": later, **parts}))


def _set_cache_folder(folder: str) -> None:
    """Make all libraries keep their caches in one folder, including small entries."""
    os.environ.update(
        TORCHINDUCTOR_CACHE_DIR=f"{folder}/torch",
        JAX_COMPILATION_CACHE_DIR=f"{folder}/jax",
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1",
    )


def _make_step(side: str, network: str) -> Callable[[], float]:
    """Return a training step with its batch, after setting environment variables."""
    from benchmarks.tensor._libraries import BUILDER_OF_LIBRARY
    from benchmarks.tensor._networks import MeasurementSetup, draw_batch

    setup = MeasurementSetup(name=network, threads=THREADS, dropout=DROPOUT)
    made: Any = BUILDER_OF_LIBRARY[side](setup)
    batch = made.prepare_batch(draw_batch(setup.network))
    return lambda: made.step(batch)


def _record_compilation_stages() -> dict[str, float]:
    """Wrap the functions for tracing and planning, to record how long they take."""
    from seqloom.tensor._compile import _trace
    from seqloom.tensor.backends._numpy import NumPyBackend

    parts: dict[str, float] = {}
    for owner, name, label in (
        (_trace, "_run_on_symbols", "trace"),
        (NumPyBackend, "program", "plan"),
    ):
        setattr(owner, name, _with_recorded_time(getattr(owner, name), label, parts))
    return parts


def _with_recorded_time(function: Any, label: str, parts: dict[str, float]) -> Any:
    """Wrap a function so that it records how long each call takes."""

    def call_and_record(*args: Any) -> Any:
        start = time.perf_counter()
        made = function(*args)
        parts[label] = time.perf_counter() - start
        return made

    return call_and_record


def _time_call(call: Callable[[], float]) -> float:
    """Return the seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


if __name__ == "__main__":
    main(*sys.argv[1:])
