"""Time and memory measurements that all benchmark suites use."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

REPOSITORY_ROOT = Path(__file__).parents[1]
# Environment variable that is 1 in a quick run and in its child processes.
QUICK_RUN_VARIABLE = "SEQLOOM_BENCH_QUICK"
T = TypeVar("T")


def is_quick_run() -> bool:
    """Return True in a quick run (`python -m benchmarks --quick`)."""
    return os.environ.get(QUICK_RUN_VARIABLE) == "1"


def full_or_quick(full: T, quick: T) -> T:
    """Return `full` in a full run, and `quick` in a quick run."""
    return quick if is_quick_run() else full


def time_call(work: Callable[[], object]) -> float:
    """Time one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def time_alternately(
    sides: Mapping[str, Callable[[], object]], *, rounds: int
) -> dict[str, list[float]]:
    """Time each function once per round, so that other load affects all functions."""
    seconds: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds):
        for name, work in sides.items():
            seconds[name].append(time_call(work))
    return seconds


def run_module(module: str, *arguments: str, **variables: str) -> Any:
    """Run a module in a fresh interpreter and read the JSON on its last line.

    Args:
        module: The module.
        arguments: Command-line arguments of the module.
        variables: Environment variables in addition to those of this process.

    Returns:
        The parsed JSON value.
    """
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        cwd=REPOSITORY_ROOT,
        env={**os.environ, **variables},
    )
    return json.loads(done.stdout.splitlines()[-1])


def peak_memory_increase(work: Callable[[], object]) -> int:
    """Return how much `work` increases the peak resident memory, in bytes."""
    Path("/proc/self/clear_refs").write_text("5")  # resets the recorded peak memory
    start = _resident_memory("VmRSS")
    work()
    return _resident_memory("VmHWM") - start


def touch_memory(size: int = 4 << 30) -> None:
    """Use and free memory, because the first access is slow on a virtual machine."""
    np.ones(size, np.uint8)


def read_blocks(path: Path) -> None:
    """Read a file in blocks without parsing, as a lower bound of every reader's time."""
    block = bytearray(1 << 20)
    with path.open("rb", buffering=0) as file:
        while file.readinto(block):
            pass


def _resident_memory(key: str) -> int:
    """Return the resident memory (VmRSS) or its peak (VmHWM) in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(key)) * 1024
