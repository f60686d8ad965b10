"""Lower limit of a step's time: only the matrix products of the step."""

from typing import Any

import numpy as np

from benchmarks.tensor._networks import (
    CHANNELS,
    CLASSES,
    DEEPSEA_OUTPUTS,
    DILATED_LAYERS,
    DILATED_LENGTH,
    FEED,
    HEADS,
    LAYERS,
    LETTERS,
    PLACES,
    PROFILE_KERNEL,
    ROWS,
    WIDTH,
    Arrays,
)

# shapes of the two factors, and the number of products
Product = tuple[tuple[int, ...], tuple[int, ...], int]
BATCH, BLOCK = 64, 16  # samples in a batch, and in a block of a convolution


def products_of(name: str) -> list[Product]:
    """Return the matrix products of a training step, forward and backward."""
    return {
        "MLP": _mlp,
        "SequenceCNN": _cnn,
        "DeepSEA": _deepsea,
        "encoder": _encoder,
        "dilated": _dilated,
    }[name]()


class NumPyProducts:
    """Matrix products of a step, computed by the BLAS of NumPy.

    Args:
        shapes: Shapes of the two factors of each product, with the number of products.
    """

    def __init__(self, shapes: list[Product]) -> None:
        self.work = [(_ones(a), _ones(b), _ones((*a[:-1], b[-1])), n) for a, b, n in shapes]

    def prepare(self, batch: Arrays) -> Arrays:
        """Return the batch, which is not used."""
        return batch

    def step(self, batch: Any) -> float:
        """Compute all matrix products once."""
        del batch
        for one, other, out, times in self.work:
            for _ in range(times):
                np.matmul(one, other, out=out)
        return float("nan")


def _ones(shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape, np.float32)


def _dense(
    rows: int, before: int, after: int, times: int = 1, *, first: bool = False
) -> list[Product]:
    """Return the matrix products of a linear layer; the first has no input gradient."""
    products = [
        ((rows, before), (before, after), times),
        ((after, rows), (rows, before), times),
    ]
    return products if first else [*products, ((rows, after), (after, before), times)]


def _conv(
    window: int, after: int, places: int, *, samples: int = BATCH, first: bool = False
) -> list[Product]:
    """Return the matrix products of a convolution, in blocks of samples."""
    block = min(BLOCK, samples)
    return _dense(block * places, window, after, samples // block, first=first)


def _mlp() -> list[Product]:
    dense = [*_dense(BATCH, 784, 512, first=True), *_dense(BATCH, 512, 512)]
    return [*dense, *_dense(BATCH, 512, CLASSES)]


def _cnn() -> list[Product]:
    convolutions = [
        *_conv(12, 32, 60, first=True),
        *_conv(160, 32, 60),
        *_conv(160, 32, 30),
    ]
    return [*convolutions, *_dense(BATCH, 480, 3)]


def _deepsea() -> list[Product]:
    convolutions = [
        *_conv(32, 320, 993, first=True),
        *_conv(2560, 480, 241),
        *_conv(3840, 960, 53),
    ]
    dense = [*_dense(BATCH, 960 * 53, 925), *_dense(BATCH, 925, DEEPSEA_OUTPUTS)]
    return [*convolutions, *dense]


def _dilated() -> list[Product]:
    places: Any = {"places": DILATED_LENGTH, "samples": ROWS}
    layers = [_conv(3 * CHANNELS, CHANNELS, **places) for _ in range(DILATED_LAYERS)]
    first = _conv(4 * 21, CHANNELS, **places, first=True)
    heads = [*_conv(PROFILE_KERNEL * CHANNELS, 1, **places), *_dense(ROWS, CHANNELS, 1)]
    return [*first, *(product for layer in layers for product in layer), *heads]


def _encoder() -> list[Product]:
    rows, deep = ROWS * PLACES, WIDTH // HEADS
    dense = [
        *_dense(rows, WIDTH, 3 * WIDTH, LAYERS),
        *_dense(rows, WIDTH, WIDTH, LAYERS),
        *_dense(rows, WIDTH, FEED, LAYERS),
        *_dense(rows, FEED, WIDTH, LAYERS),
        *_dense(rows, WIDTH, LETTERS),
    ]
    maps, seen = (PLACES, PLACES), (PLACES, deep)
    every = ROWS * HEADS * LAYERS
    # Attention: two products forward, four backward.
    return [*dense, (seen, (deep, PLACES), 2 * every), (maps, seen, 4 * every)]
