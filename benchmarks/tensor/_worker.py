"""One side in a process of its own, which does as its standard input says, line by line."""

import json
import sys
import time
from typing import Any

from benchmarks._measure import memory_of
from benchmarks.tensor._networks import NETWORKS, batch_of, weights_of
from benchmarks.tensor._sides import SIDES


class Worker:
    """A side with its batch.

    Args:
        side: Its name.
        network: The network's name.
        threads: The threads that it may use.
        dropout: The share that is dropped.
    """

    def __init__(self, side: str, network: str, threads: int, dropout: float) -> None:
        it = NETWORKS[network]
        self.side: Any = SIDES[side](network, weights_of(it), threads, dropout)
        self.batch = self.side.prepare(batch_of(it))

    def losses(self, steps: int) -> list[float]:
        """Makes steps and gives their losses."""
        return [self.side.step(self.batch) for _ in range(steps)]

    def seconds(self, steps: int) -> float:
        """Makes steps and gives the time of one."""
        start = time.perf_counter()
        self.losses(steps)
        return (time.perf_counter() - start) / steps

    def memory(self, steps: int) -> int:
        """Makes steps and gives the bytes by which memory's peak exceeds its start."""
        return memory_of(lambda: self.losses(steps))


def main(settings: str) -> None:
    """Answers each line, a method and a number of steps, with a line of JSON."""
    worker = Worker(**json.loads(settings))
    print("ready", flush=True)
    for line in sys.stdin:
        method, steps = line.split()
        print(json.dumps(getattr(worker, method)(int(steps))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
