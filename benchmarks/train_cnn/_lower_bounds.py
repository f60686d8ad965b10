"""Lower bound of a training step: its matrix products at the speed of BLAS."""

from statistics import median

import numpy as np

from benchmarks._measure import time_alternately
from benchmarks.train_cnn._setup import BATCH_SIZE
from seqloom._threads import limit_blas
from seqloom.models import SequenceCNNConfig

MATRIX_ROWS = 1024


def lower_bound_ms(config: SequenceCNNConfig, threads: int) -> float:
    """Return the milliseconds of a training step at the speed of a large matrix product."""
    return 1000 * _count_operations(config) / _product_speed(threads)


def _count_operations(config: SequenceCNNConfig) -> float:
    """Count the floating-point operations of the convolutions and their gradients."""
    shapes = _conv_shapes(config)
    forward = [
        2 * BATCH_SIZE * places * outs * ins * size for places, outs, ins, size in shapes
    ]
    # Each gradient costs as much as the forward pass; the first layer has no input
    # gradient.
    return 3 * sum(forward) - forward[0]


def _conv_shapes(config: SequenceCNNConfig) -> list[tuple[int, int, int, int]]:
    """List positions, output and input channels, and kernel size of each convolution."""
    params = dict(config.build().parameters())
    places, shapes = config.length or 0, list[tuple[int, int, int, int]]()
    for number, pool in enumerate(config.pools):
        outs, ins, size = params[f"blocks.{number}.conv.weight"].shape
        shapes.append((places, outs, ins, size))
        places //= pool
    return shapes


def _product_speed(threads: int) -> float:
    """Measure the floating-point operations per second of a large matrix product."""
    one = np.ones((MATRIX_ROWS, MATRIX_ROWS), np.float32)
    out = np.empty_like(one)
    with limit_blas(threads):
        seconds = time_alternately(
            {"matmul": lambda: np.matmul(one, one, out=out)}, rounds=7
        )
    return 2 * MATRIX_ROWS**3 / median(seconds["matmul"])
