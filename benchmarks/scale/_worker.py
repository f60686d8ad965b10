"""Measure one operation in one library.

The command is ``python -m benchmarks.scale._worker OPERATION LIBRARY``.

Each line of standard input has a file and sizes for the warm-up, and a file and sizes
for the measurement. Each measurement runs in a new child process.
"""

import ctypes
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._measure import peak_memory_increase
from benchmarks.scale._encode_and_predict import make_encoder, make_predictor
from benchmarks.scale._reading import (
    Maker,
    Work,
    make_bed_reader,
    make_loader_pass,
    make_parser,
)
from benchmarks.scale._sweeps import InputSizes
from benchmarks.scale._training import make_training_step

FACTORY_OF_OPERATION: dict[str, Callable[[str], Maker]] = {
    "parse": make_parser,
    "encode": make_encoder,
    "load": make_loader_pass,
    "train step": make_training_step,
    ".bed read": make_bed_reader,
    "predict": make_predictor,
}
# Calls are repeated for 0.3 s, at least 3 and at most 7 times, for at most 1.5 s.
TIMES, SECONDS, LONG = 7, 0.3, 1.5
# Number of values of a result that are compared.
COMPARED_NUMBERS = 1000


def _main(operation: str, side: str) -> None:
    """Print a line when ready, then measure in one child process per input line."""
    maker = FACTORY_OF_OPERATION[operation](side)
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run_measurement(maker, json.loads(line))
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"{operation}, {side}: the child failed at {line}")


def _run_measurement(maker: Maker, asked: list[tuple[str, list[int]]]) -> None:
    """Run the warm-up, measure, print the result and exit."""
    small, large = ((InputSizes(*sizes), Path(path)) for path, sizes in asked)
    maker(*small)()  # Imports and first calls are not measured.
    ctypes.CDLL(None).malloc_trim(0)
    print(json.dumps(_measure_call(maker(*large))), flush=True)
    os._exit(0)


def _measure_call(work: Work) -> dict[str, Any]:
    """Return the shortest time in seconds, the peak bytes, and the results."""
    rounds: list[tuple[float, list[float]]] = []
    grown = peak_memory_increase(lambda: rounds.append(_time_call(work)))
    while len(rounds) < TIMES and sum(seconds for seconds, _ in rounds) < (
        LONG if len(rounds) < 3 else SECONDS
    ):
        rounds.append(_time_call(work))
    seconds = min(seconds for seconds, _ in rounds)
    return {"seconds": seconds, "bytes": grown, "found": rounds[0][1]}


def _time_call(work: Work) -> tuple[float, list[float]]:
    """Return the seconds of one call, and a number that summarises each result."""
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    return seconds, [_weighted_sum(each) for each in found]


def _weighted_sum(found: Any) -> float:
    """Return a weighted sum of the last values of an array, to compare results."""
    numbers = np.atleast_1d(np.asarray(found))[..., -1].ravel()[-COMPARED_NUMBERS:]
    return float(numbers.astype(float) @ np.linspace(1, 2, len(numbers)))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
