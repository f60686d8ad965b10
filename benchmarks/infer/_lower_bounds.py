"""Lower bounds: the time of the matrix products, exponentials and GELUs of ESM-2 alone."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.infer._inputs import NETWORK_SHAPES, InferenceTask

MATRIX_ROWS = 1024  # Rows of the square matrices that measure the speed of products.
_USE_FLOAT64 = False  # False for float32
NUMBERS_IN_CACHE = 1 << 16  # Number of values that fit into the L2 cache.


def prepare_products(task: InferenceTask) -> Callable[[], None]:
    """Run square matrix products with as many operations as the network's products."""
    square = _fastest_product()
    times = round(_count_operations(task) / (2 * MATRIX_ROWS**3))

    def run_operations() -> None:
        for _ in range(times):
            square()

    return run_operations


def prepare_functions(task: InferenceTask) -> Callable[[], None]:
    """Compute as many exponentials and GELUs as the network, on a small array."""
    from seqloom._rust import _native
    from seqloom.tensor import backend

    on: Any = backend("numpy", num_threads=1)
    x = np.random.default_rng(0).uniform(-9, 0, NUMBERS_IN_CACHE).astype("float32")
    out = np.empty_like(x)
    exp = _native.ElementwiseProgram(_USE_FLOAT64, 1, [], [("exp", [0])], [(1, None, [])])
    exponentials, gelus = _count_functions(task)

    def run_operations() -> None:
        for _ in range(exponentials // NUMBERS_IN_CACHE):
            exp.run((x,), (out,), 1)
        for _ in range(gelus // NUMBERS_IN_CACHE):
            on.gelu(x, out=out)

    return run_operations


def _count_operations(task: InferenceTask) -> float:
    """Count the multiplications and additions of the network's matrix products."""
    layers, width, _ = NETWORK_SHAPES[task.size]
    lengths = np.array([len(ids) for ids in task.records], float)
    linear = 2 * (4 + 8) * width**2 * lengths.sum()
    attention = 4 * width * (lengths**2).sum()
    return layers * (linear + attention)


def _count_functions(task: InferenceTask) -> tuple[int, int]:
    """Count the exponentials and the GELUs of the network."""
    layers, width, heads = NETWORK_SHAPES[task.size]
    lengths = [len(ids) for ids in task.records]
    pairs = sum(length**2 for length in lengths)
    return layers * heads * pairs, layers * 4 * width * sum(lengths)


def _fastest_product() -> Callable[[], object]:
    """Return the matrix product of the fastest library: seqloom, NumPy or PyTorch."""
    import torch

    from seqloom.tensor import backend

    torch.set_num_threads(1)
    ones = np.ones((MATRIX_ROWS, MATRIX_ROWS), "float32")
    ours, theirs = backend("numpy", num_threads=1), torch.from_numpy(ones)
    return min(
        (lambda: ours.matmul(ones, ones), lambda: ones @ ones, lambda: theirs @ theirs),
        key=_processor_seconds,
    )


def _processor_seconds(run_operations: Callable[[], object]) -> float:
    """Return the shortest processor time of five calls."""
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        run_operations()
        times.append(time.process_time() - start)
    return min(times)
