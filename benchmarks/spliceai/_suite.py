"""Time the network in each library in turns, and write the table."""

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks._measure import REPOSITORY_ROOT, full_or_quick
from benchmarks._page import describe_machine, markdown_table, publish_section
from benchmarks.tensor._libraries import thread_environment

TIMED_PROGRAMS = ("seqloom", "seqloom, compiled", "torch", "floor")
ROUNDS = full_or_quick(20, 7)
BASE_COUNTS = (1000, 5000)
NOTES = """
The network reads a context of 10,000 bases. The network is examples/splice_sites.py;
torch runs the same layers in inference mode. The floor is the time of the network's
arithmetic at the speed of seqloom's square matrix products.
"""
TABLE_COLUMNS = (
    "shortest time per 1,000 bases, ms",
    *TIMED_PROGRAMS,
    "seqloom / torch",
    "compiled / torch",
)


def main() -> None:
    """Measure inputs of 1,000 and 5,000 bases with one and with two threads."""
    rows = [_time_libraries(count, threads) for threads in (1, 2) for count in BASE_COUNTS]
    text = markdown_table(TABLE_COLUMNS, rows)
    text += f"\n\n{describe_machine('numpy', 'torch', 'seqloom')}"
    publish_section("spliceai", text, notes=NOTES, shown="5,000")


def _time_libraries(count: int, threads: int) -> list[str]:
    """Return the times of all libraries for one length and number of threads."""
    workers = [_start_library(side, count, threads) for side in TIMED_PROGRAMS]
    try:
        results = [np.array(_read_line(worker)) for worker in workers]
        for other in results[1:-1]:
            np.testing.assert_allclose(results[0], other, rtol=1e-3, atol=1e-6)
        rounds = [[_time_network_once(worker) for worker in workers] for _ in range(ROUNDS)]
    finally:
        for worker in workers:
            worker.stdin.close()
            worker.wait()
    times = [min(side) * 1e3 / (count / 1000) for side in zip(*rounds, strict=True)]
    eager, compiled, torch, _ = times
    label = f"{count:,} bases, {threads} thread{'s' * (threads > 1)}"
    print(label, *(f"{each:.1f}" for each in times), flush=True)
    ratios = [f"**{each / torch:.2f}**" for each in (eager, compiled)]
    return [label, *(f"{each:.1f}" for each in times), *ratios]


def _start_library(side: str, count: int, threads: int) -> Any:
    """Start the process of a library."""
    module = "benchmarks.spliceai._worker"
    return subprocess.Popen(
        [sys.executable, "-m", module, side, str(count), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPOSITORY_ROOT,
        env=thread_environment(threads),
    )


def _time_network_once(worker: Any) -> float:
    """Let a process run the network once; return the seconds."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    return _read_line(worker)


def _read_line(worker: Any) -> Any:
    return json.loads(worker.stdout.readline())
