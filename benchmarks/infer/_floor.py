"""Measure the unavoidable work: matrix products, exponentials and gelus."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.infer._inputs import SHAPES, Task

MATRIX_ROWS = 1024  # Rows of the square matrices that measure the speed of products.
_DOUBLE = False  # precision
CACHED_NUMBERS = 1 << 16  # Numbers that fit into the second-level cache.


def products(task: Task) -> Callable[[], None]:
    """Run square products with the same number of operations, in the fastest library."""
    square = _fastest_product()
    times = round(_operations(task) / (2 * MATRIX_ROWS**3))

    def work() -> None:
        for _ in range(times):
            square()

    return work


def functions(task: Task) -> Callable[[], None]:
    """Compute the same number of exponentials and gelus, on a small array."""
    from seqloom._rust import _native
    from seqloom.tensor import backend

    on: Any = backend("numpy", num_threads=1)
    x = np.random.default_rng(0).uniform(-9, 0, CACHED_NUMBERS).astype("float32")
    out = np.empty_like(x)
    exp = _native.ElementwiseProgram(_DOUBLE, 1, [], [("exp", [0])], [(1, None, [])])
    exponentials, gelus = _counts(task)

    def work() -> None:
        for _ in range(exponentials // CACHED_NUMBERS):
            exp.run((x,), (out,), 1)
        for _ in range(gelus // CACHED_NUMBERS):
            on.gelu(x, out=out)

    return work


def _operations(task: Task) -> float:
    """Return the multiplications and additions of all products."""
    layers, width, _ = SHAPES[task.size]
    lengths = np.array([len(ids) for ids in task.records], float)
    linear = 2 * (4 + 8) * width**2 * lengths.sum()
    attention = 4 * width * (lengths**2).sum()
    return layers * (linear + attention)


def _counts(task: Task) -> tuple[int, int]:
    """Return the numbers of exponentials and gelus."""
    layers, width, heads = SHAPES[task.size]
    lengths = [len(ids) for ids in task.records]
    pairs = sum(length**2 for length in lengths)
    return layers * heads * pairs, layers * 4 * width * sum(lengths)


def _fastest_product() -> Callable[[], object]:
    """Return the fastest product: seqloom, NumPy or torch."""
    import torch

    from seqloom.tensor import backend

    torch.set_num_threads(1)
    ones = np.ones((MATRIX_ROWS, MATRIX_ROWS), "float32")
    ours, theirs = backend("numpy", num_threads=1), torch.from_numpy(ones)
    return min(
        (lambda: ours.matmul(ones, ones), lambda: ones @ ones, lambda: theirs @ theirs),
        key=_seconds,
    )


def _seconds(work: Callable[[], object]) -> float:
    """Return the shortest of several times."""
    times: list[float] = []
    for _ in range(5):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)
