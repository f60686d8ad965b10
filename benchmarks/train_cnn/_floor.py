"""The least time that a step can take here: its multiplications at BLAS's own speed."""

from statistics import median

import numpy as np

from benchmarks._measure import interleave
from benchmarks.train_cnn._setup import BATCH_SIZE
from seqloom._threads import limit_blas
from seqloom.models import SequenceCNNConfig

SIZE = 1024


def floor_ms(config: SequenceCNNConfig, threads: int) -> float:
    """Return the milliseconds of a step's multiply-adds at the speed of a large matmul."""
    return 1000 * _operations(config) / _speed(threads)


def _operations(config: SequenceCNNConfig) -> float:
    """Count a step's floating-point operations in convolutions, forward and backward."""
    shapes = _conv_shapes(config)
    forward = [
        2 * BATCH_SIZE * places * outs * ins * size for places, outs, ins, size in shapes
    ]
    # Weights and inputs need as much again each; the first inputs have no gradient.
    return 3 * sum(forward) - forward[0]


def _conv_shapes(config: SequenceCNNConfig) -> list[tuple[int, int, int, int]]:
    """List places, channels after, channels before and letters of each convolution."""
    params = dict(config.build().parameters())
    places, shapes = config.length or 0, list[tuple[int, int, int, int]]()
    for number, pool in enumerate(config.pools):
        outs, ins, size = params[f"blocks.{number}.conv.weight"].shape
        shapes.append((places, outs, ins, size))
        places //= pool
    return shapes


def _speed(threads: int) -> float:
    """Measure floating-point operations a second in a product of large matrices."""
    one = np.ones((SIZE, SIZE), np.float32)
    out = np.empty_like(one)
    with limit_blas(threads):
        seconds = interleave({"matmul": lambda: np.matmul(one, one, out=out)}, rounds=7)
    return 2 * SIZE**3 / median(seconds["matmul"])
