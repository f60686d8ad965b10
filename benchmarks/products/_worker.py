"""Compute the products that standard input requests, with one library."""

import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from benchmarks.products._processes import ProductShape


def _make_matrices(shape: ProductShape) -> list[np.ndarray]:
    """Return both factors (transposed factors as views) and the output array."""
    left, right = (shape.rows, shape.depth), (shape.depth, shape.columns)
    stored = [
        np.full(size[::-1] if way == "t" else size, 0.5, shape.dtype)
        for way, size in zip(shape.layout, (left, right), strict=True)
    ]
    views = [a.T if way == "t" else a for way, a in zip(shape.layout, stored, strict=True)]
    return [*views, np.empty((shape.rows, shape.columns), shape.dtype)]


def _prepare_seqloom_product(shape: ProductShape, threads: int) -> Callable[[], object]:
    from seqloom._rust import _native

    left, right, out = _make_matrices(shape)
    return lambda: _native.product((left, right), None, out, threads)


def _prepare_openblas_product(shape: ProductShape, _threads: int) -> Callable[[], object]:
    left, right, out = _make_matrices(shape)
    return lambda: np.matmul(left, right, out=out)


def _prepare_torch_product(shape: ProductShape, threads: int) -> Callable[[], object]:
    import torch

    torch.set_num_threads(threads)
    left, right, out = map(torch.from_numpy, _make_matrices(shape))
    return lambda: torch.mm(left, right, out=out)


def seqloom_cases() -> Iterator[tuple[str, Callable[[], Callable[[], object]]]]:
    """Yield every product in float32 and float64, with one and with two threads."""
    from benchmarks.products._suite import network_products

    for threads in (1, 2):
        for dtype in ("float32", "float64"):
            for name, shape in network_products(dtype):
                label = f"{name} {shape}, {dtype}, {threads}"
                yield label, partial(_prepare_seqloom_product, shape, threads)


def _answer_requests(name: str, threads: int) -> None:
    """Read shapes and numbers of calls, and print the seconds per product."""
    work_of = {
        "ours": _prepare_seqloom_product,
        "OpenBLAS": _prepare_openblas_product,
        "torch": _prepare_torch_product,
    }[name]
    for line in sys.stdin:
        _, dtype, layout, *numbers = line.split()
        rows, depth, columns, _, times = map(int, numbers)
        work = work_of(ProductShape(layout, rows, depth, columns, dtype), threads)
        work()
        start = time.perf_counter()
        for _ in range(times):
            work()
        print((time.perf_counter() - start) / times, flush=True)


if __name__ == "__main__":
    _answer_requests(sys.argv[1], int(sys.argv[2]))
