"""The four networks: the shapes of their weights by path, and a batch for each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Shapes = Mapping[str, tuple[int, ...]]

CLASSES, LETTERS, WIDTH, HEADS, LAYERS, FEED = 10, 33, 320, 5, 6, 1280
ROWS, PLACES = 8, 256
DEEPSEA_LENGTH, DEEPSEA_OUTPUTS = 1000, 919


@dataclass(frozen=True)
class Network:
    """What every side is given.

    Args:
        shapes: The weights, and the running averages, by path.
        batch: Makes the arrays of one batch.
        steps: How many steps make a round long enough for the clock.
    """

    shapes: Shapes
    batch: Callable[[np.random.Generator], Arrays]
    steps: int


def weights_of(network: Network) -> Arrays:
    """Draws weights that keep a signal's size; scales are 1, shifts 0."""
    draw = np.random.default_rng(0)
    return {path: _weight(draw, path, shape) for path, shape in network.shapes.items()}


def batch_of(network: Network) -> Arrays:
    """Draws the batch, the same for every side."""
    return network.batch(np.random.default_rng(1))


def _weight(draw: np.random.Generator, path: str, shape: tuple[int, ...]) -> np.ndarray:
    """One array of weights, by the last words of its path."""
    if path.endswith(("running_var", "norm.weight", "norm1.weight", "norm2.weight")):
        return np.ones(shape, np.float32)
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    return draw.uniform(-bound, bound, shape).astype(np.float32)


def _linear(path: str, before: int, after: int) -> Shapes:
    return {f"{path}.weight": (after, before), f"{path}.bias": (after,)}


def _norm(path: str, width: int) -> Shapes:
    return {f"{path}.weight": (width,), f"{path}.bias": (width,)}


def _conv(path: str, before: int, after: int, kernel: int) -> Shapes:
    return {f"{path}.weight": (after, before, kernel), f"{path}.bias": (after,)}


def _mlp() -> Shapes:
    return {
        **_linear("first", 784, 512),
        **_linear("second", 512, 512),
        **_linear("third", 512, CLASSES),
    }


def _cnn() -> Shapes:
    """The demo's network, under the paths that `SequenceCNN` gives."""
    shapes: dict[str, tuple[int, ...]] = {}
    for number, (before, size) in enumerate([(4, 3), (32, 5), (32, 5)]):
        path = f"blocks.{number}"
        shapes[f"{path}.conv.weight"] = (32, before, size)
        shapes |= _norm(f"{path}.norm", 32)
        shapes[f"{path}.norm.running_mean"] = (32,)
        shapes[f"{path}.norm.running_var"] = (32,)
    return {**shapes, **_linear("head", 480, 3)}


def _deepsea() -> Shapes:
    """Zhou and Troyanskaya 2015."""
    return {
        **_conv("first", 4, 320, 8),
        **_conv("second", 320, 480, 8),
        **_conv("third", 480, 960, 8),
        **_linear("hidden", 960 * 53, 925),
        **_linear("head", 925, DEEPSEA_OUTPUTS),
    }


def _encoder() -> Shapes:
    """Normalisation comes before each half of a block (Xiong et al. 2020)."""
    shapes: dict[str, tuple[int, ...]] = {
        "letters": (LETTERS, WIDTH),
        "places": (PLACES, WIDTH),
    }
    for number in range(LAYERS):
        path = f"blocks.{number}"
        shapes |= {**_norm(f"{path}.norm1", WIDTH), **_norm(f"{path}.norm2", WIDTH)}
        shapes |= _linear(f"{path}.attend", WIDTH, 3 * WIDTH)
        shapes |= _linear(f"{path}.mix", WIDTH, WIDTH)
        shapes |= _linear(f"{path}.up", WIDTH, FEED)
        shapes |= _linear(f"{path}.down", FEED, WIDTH)
    return {**shapes, **_norm("norm", WIDTH), **_linear("head", WIDTH, LETTERS)}


def _one_hot(draw: np.random.Generator, rows: int, length: int) -> np.ndarray:
    letters = draw.integers(0, 4, (rows, length))
    return np.ascontiguousarray(np.eye(4, dtype=np.float32)[letters].transpose(0, 2, 1))


def _mlp_batch(draw: np.random.Generator) -> Arrays:
    x = draw.normal(size=(64, 784)).astype(np.float32)
    return {"x": x, "label": draw.integers(0, CLASSES, 64)}


def _cnn_batch(draw: np.random.Generator) -> Arrays:
    return {"x": _one_hot(draw, 64, 60), "label": draw.integers(0, 3, 64)}


def _deepsea_batch(draw: np.random.Generator) -> Arrays:
    label = draw.random((64, DEEPSEA_OUTPUTS)) < 0.02
    return {"x": _one_hot(draw, 64, DEEPSEA_LENGTH), "label": label.astype(np.float32)}


def _encoder_batch(draw: np.random.Generator) -> Arrays:
    shape = (ROWS, PLACES)
    return {
        "x": draw.integers(0, LETTERS, shape),
        "label": draw.integers(0, LETTERS, shape),
    }


NETWORKS: dict[str, Network] = {
    "MLP": Network(_mlp(), _mlp_batch, 20),
    "SequenceCNN": Network(_cnn(), _cnn_batch, 20),
    "DeepSEA": Network(_deepsea(), _deepsea_batch, 1),
    "encoder": Network(_encoder(), _encoder_batch, 1),
}

Loss = Callable[[Any, Any, float], Any]
