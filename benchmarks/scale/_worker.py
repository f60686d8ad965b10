"""Measures one side of one operation: python -m ... OPERATION SIDE.

Each line of its input names a file and sizes twice: small ones, and those that are
measured. The libraries are loaded once; each point has a child process of its own.
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

from benchmarks._measure import memory_of
from benchmarks.scale._computing import encode, predict
from benchmarks.scale._reading import Maker, Work, bed_read, load, parse
from benchmarks.scale._sweeps import Sizes
from benchmarks.scale._training import train_step

OPERATIONS: dict[str, Callable[[str], Maker]] = {
    "parse": parse,
    "encode": encode,
    "load": load,
    "train step": train_step,
    ".bed read": bed_read,
    "predict": predict,
}
# At most seven calls; no further one after 0.3 s in all, but three at least, unless those
# take 1.5 s.
TIMES, SECONDS, LONG = 7, 0.3, 1.5
# So many numbers of a result are compared.
LOOKED_AT = 1000


def _main(operation: str, side: str) -> None:
    """Say when it is ready, then answers each line of the input by a child."""
    maker = OPERATIONS[operation](side)
    print("ready", flush=True)
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _answer(maker, json.loads(line))
        _, status = os.waitpid(child, 0)
        if status:
            sys.exit(f"{operation}, {side}: the child failed at {line}")


def _answer(maker: Maker, asked: list[tuple[str, list[int]]]) -> None:
    """Do the small work unmeasured, measures the other, prints it and ends."""
    small, large = ((Sizes(*sizes), Path(path)) for path, sizes in asked)
    maker(*small)()  # what is loaded or made at the first call is not counted
    ctypes.CDLL(None).malloc_trim(0)
    print(json.dumps(_measure(maker(*large))), flush=True)
    os._exit(0)


def _measure(work: Work) -> dict[str, Any]:
    """Return the least seconds, the bytes of the first call, and what it found."""
    rounds: list[tuple[float, list[float]]] = []
    grown = memory_of(lambda: rounds.append(_time(work)))
    while len(rounds) < TIMES and sum(seconds for seconds, _ in rounds) < (
        LONG if len(rounds) < 3 else SECONDS
    ):
        rounds.append(_time(work))
    seconds = min(seconds for seconds, _ in rounds)
    return {"seconds": seconds, "bytes": grown, "found": rounds[0][1]}


def _time(work: Work) -> tuple[float, list[float]]:
    """Time one call; gives a number for each thing that it found."""
    start = time.perf_counter()
    found = work()
    seconds = time.perf_counter() - start
    return seconds, [_weighed(each) for each in found]


def _weighed(found: Any) -> float:
    """Add up the last numbers along the last axis, each by a weight of its own."""
    numbers = np.atleast_1d(np.asarray(found))[..., -1].ravel()[-LOOKED_AT:]
    return float(numbers.astype(float) @ np.linspace(1, 2, len(numbers)))


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2])
