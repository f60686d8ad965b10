"""Measure the memory of one library in this process.

The command is ``python -m benchmarks.train_cnn._memory LIBRARY THREADS``.
"""

import json
import sys

from benchmarks._measure import peak_memory_increase
from benchmarks.train_cnn._setup import make_trainer, prepare_data
from seqloom._threads import limit_blas

MEASURED_STEPS = 10


def main(name: str, threads: int) -> None:
    """Print by how many bytes ten training steps increase the peak memory."""
    config, batches = prepare_data()
    side = make_trainer(name, config, threads)
    with limit_blas(threads):
        grown = peak_memory_increase(
            lambda: [side.step(batch) for batch in batches[:MEASURED_STEPS]]
        )
    print(json.dumps(grown))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
