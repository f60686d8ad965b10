"""Times the network on each side, in turn, and writes the table."""

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks._measure import HOME, pick
from benchmarks._page import machine, publish, table
from benchmarks.tensor._sides import environment

SIDES = ("seqloom", "seqloom, compiled", "torch", "floor")
ROUNDS = pick(20, 7)
COUNTS = (1000, 5000)
HEAD = ("least ms a thousand letters", *SIDES, "seqloom / torch", "compiled / torch")


def main() -> None:
    """Measure rows of one and five thousand letters with one thread and with two."""
    rows = [_row(count, threads) for threads in (1, 2) for count in COUNTS]
    publish("spliceai", f"{table(HEAD, rows)}\n\n{_notes()}")


def _row(count: int, threads: int) -> list[str]:
    """One length and number of threads: a time for each side, and the ratios."""
    workers = [_start(side, count, threads) for side in SIDES]
    try:
        results = [np.array(_read(worker)) for worker in workers]
        for other in results[1:-1]:
            np.testing.assert_allclose(results[0], other, rtol=1e-3, atol=1e-6)
        rounds = [[_measure(worker) for worker in workers] for _ in range(ROUNDS)]
    finally:
        for worker in workers:
            worker.stdin.close()
            worker.wait()
    times = [min(side) * 1e3 / (count / 1000) for side in zip(*rounds, strict=True)]
    eager, compiled, torch, _ = times
    label = f"{count:,} letters, {threads} thread{'s' * (threads > 1)}"
    print(label, *(f"{each:.1f}" for each in times), flush=True)
    ratios = [f"**{each / torch:.2f}**" for each in (eager, compiled)]
    return [label, *(f"{each:.1f}" for each in times), *ratios]


def _start(side: str, count: int, threads: int) -> Any:
    """Start the process of a side."""
    module = "benchmarks.spliceai._worker"
    return subprocess.Popen(
        [sys.executable, "-m", module, side, str(count), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=HOME,
        env=environment(threads),
    )


def _measure(worker: Any) -> float:
    """Let a process work once; gives the seconds."""
    worker.stdin.write("\n")
    worker.stdin.flush()
    return _read(worker)


def _read(worker: Any) -> Any:
    return json.loads(worker.stdout.readline())


def _notes() -> str:
    """Say what was measured."""
    return (
        "One row of letters with its 10,000 letters of context, evaluated; the least time "
        "of the rounds, divided by the letters that are scored. The network is "
        "examples/splice_sites.py with the weights of the package spliceai, torch's the "
        "same layers, eager, in inference mode. The sides take turns, each in a process of "
        "its own that sleeps meanwhile; their results are compared first. The floor is the "
        "network's multiplications and additions at the rate of seqloom's products of "
        f"square matrices.\n\n{machine('numpy', 'torch', 'seqloom')}"
    )
