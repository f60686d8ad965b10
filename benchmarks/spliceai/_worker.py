"""Run the network with one library once for each line of standard input."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.spliceai._network import count_operations, load_in_seqloom

MATRIX_ROWS = 1024  # Number of rows of the matrices in the lower bound.


def _load_library(side: str, count: int, threads: int) -> Callable[[], Any]:
    """Load one library, and return a function that runs its network."""
    if side.startswith("seqloom"):
        return load_in_seqloom(count, threads, compiled="compiled" in side)
    if side == "torch":
        from benchmarks.spliceai._torch_network import load_in_torch

        return load_in_torch(count, threads)
    return _multiply_square_matrices(count, threads)


def _multiply_square_matrices(count: int, threads: int) -> Callable[[], Any]:
    """Return square matrix products with about as many operations as the network."""
    from seqloom.tensor import backend

    ones = np.ones((MATRIX_ROWS, MATRIX_ROWS), "float32")
    square = backend("numpy", num_threads=threads).tensor(ones)
    times = round(count_operations(count) / (2 * MATRIX_ROWS**3))
    return lambda: [square @ square for _ in range(times)]


def main() -> None:
    """Print a result first, then the seconds of a call for each input line."""
    side, count, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    work = _load_library(side, count, threads)
    first = work()
    sample = first[0, :, ::50].tolist() if isinstance(first, np.ndarray) else []
    print(json.dumps(sample), flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        work()
        print(json.dumps(time.perf_counter() - start), flush=True)


if __name__ == "__main__":
    main()
