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


def step_products(name: str) -> list[Product]:
    """Return the matrix products of a training step, forward and backward."""
    return {
        "MLP": _mlp_products,
        "SequenceCNN": _cnn_products,
        "DeepSEA": _deepsea_products,
        "encoder": _encoder_products,
        "dilated": _dilated_products,
    }[name]()


class NumPyProducts:
    """Matrix products of a step, computed by the BLAS of NumPy.

    Args:
        shapes: Shapes of the two factors of each product, with the number of products.
    """

    def __init__(self, shapes: list[Product]) -> None:
        self.work = [
            (_array_of_ones(a), _array_of_ones(b), _array_of_ones((*a[:-1], b[-1])), n)
            for a, b, n in shapes
        ]

    def prepare_batch(self, batch: Arrays) -> Arrays:
        """Return the batch, which is not used."""
        return batch

    def step(self, batch: Any) -> float:
        """Compute all matrix products once."""
        del batch
        for one, other, out, times in self.work:
            for _ in range(times):
                np.matmul(one, other, out=out)
        return float("nan")


def _array_of_ones(shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape, np.float32)


def _dense_products(
    rows: int, before: int, after: int, times: int = 1, *, first: bool = False
) -> list[Product]:
    """Return a linear layer's matrix products; the first layer has no input gradient."""
    products = [
        ((rows, before), (before, after), times),
        ((after, rows), (rows, before), times),
    ]
    return products if first else [*products, ((rows, after), (after, before), times)]


def _conv_products(
    window: int, after: int, places: int, *, samples: int = BATCH, first: bool = False
) -> list[Product]:
    """Return the matrix products of a convolution, in blocks of samples."""
    block = min(BLOCK, samples)
    return _dense_products(block * places, window, after, samples // block, first=first)


def _mlp_products() -> list[Product]:
    dense = [
        *_dense_products(BATCH, 784, 512, first=True),
        *_dense_products(BATCH, 512, 512),
    ]
    return [*dense, *_dense_products(BATCH, 512, CLASSES)]


def _cnn_products() -> list[Product]:
    convolutions = [
        *_conv_products(12, 32, 60, first=True),
        *_conv_products(160, 32, 60),
        *_conv_products(160, 32, 30),
    ]
    return [*convolutions, *_dense_products(BATCH, 480, 3)]


def _deepsea_products() -> list[Product]:
    convolutions = [
        *_conv_products(32, 320, 993, first=True),
        *_conv_products(2560, 480, 241),
        *_conv_products(3840, 960, 53),
    ]
    dense = [
        *_dense_products(BATCH, 960 * 53, 925),
        *_dense_products(BATCH, 925, DEEPSEA_OUTPUTS),
    ]
    return [*convolutions, *dense]


def _dilated_products() -> list[Product]:
    places: Any = {"places": DILATED_LENGTH, "samples": ROWS}
    layers = [
        _conv_products(3 * CHANNELS, CHANNELS, **places) for _ in range(DILATED_LAYERS)
    ]
    first = _conv_products(4 * 21, CHANNELS, **places, first=True)
    heads = [
        *_conv_products(PROFILE_KERNEL * CHANNELS, 1, **places),
        *_dense_products(ROWS, CHANNELS, 1),
    ]
    return [*first, *(product for layer in layers for product in layer), *heads]


def _encoder_products() -> list[Product]:
    rows, deep = ROWS * PLACES, WIDTH // HEADS
    dense = [
        *_dense_products(rows, WIDTH, 3 * WIDTH, LAYERS),
        *_dense_products(rows, WIDTH, WIDTH, LAYERS),
        *_dense_products(rows, WIDTH, FEED, LAYERS),
        *_dense_products(rows, FEED, WIDTH, LAYERS),
        *_dense_products(rows, WIDTH, LETTERS),
    ]
    maps, seen = (PLACES, PLACES), (PLACES, deep)
    every = ROWS * HEADS * LAYERS
    # Attention computes two products in the forward pass, and four in the backward
    # pass.
    return [*dense, (seen, (deep, PLACES), 2 * every), (maps, seen, 4 * every)]
