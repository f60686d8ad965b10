"""Networks of the benchmark: the shapes of their weights by path, and random batches."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

Arrays = dict[str, np.ndarray]
Shapes = Mapping[str, tuple[int, ...]]

CLASSES, LETTERS, WIDTH, HEADS, LAYERS, FEED = 10, 33, 320, 5, 6, 1280
ROWS, PLACES = 8, 256
DEEPSEA_LENGTH, DEEPSEA_OUTPUTS = 1000, 919
DILATED_LENGTH, CHANNELS, DILATED_LAYERS, PROFILE_KERNEL = 2114, 64, 9, 75


@dataclass(frozen=True)
class Network:
    """Network that is implemented in every library.

    Args:
        shapes_of: Function from the length of a sample to the shapes of all weights.
        draw: Function that draws a batch with a given number and length of samples.
        rows: Number of samples in a batch.
        length: Length of a sample.
        steps: Number of steps per round.
    """

    shapes_of: Callable[[int], Shapes]
    draw: Callable[[np.random.Generator, int, int], Arrays]
    rows: int
    length: int
    steps: int

    @property
    def shapes(self) -> Shapes:
        """Shapes of all weights, by path."""
        return self.shapes_of(self.length)


@dataclass(frozen=True, kw_only=True)
class MeasurementSetup:
    """Settings of a measurement: the network, its sizes, threads, device and dtype.

    Args:
        name: Name of the network.
        threads: Number of threads that a library may use on the CPU.
        dropout: Dropout rate.
        device: ``cpu`` or ``cuda``.
        dtype: ``float32``, or ``bfloat16`` for products in half precision.
        rows: Number of samples in a batch; None for the default of the network.
        length: Length of a sample; None for the default of the network.
    """

    name: str
    threads: int = 1
    dropout: float = 0.0
    device: str = "cpu"
    dtype: str = "float32"
    rows: int | None = None
    length: int | None = None

    @property
    def network(self) -> Network:
        """Network with the sizes of this measurement."""
        given = {"rows": self.rows, "length": self.length}
        sizes: Any = {name: size for name, size in given.items() if size is not None}
        return replace(NETWORKS[self.name], **sizes)


def draw_weights(network: Network) -> Arrays:
    """Draw initial weights of layers whose outputs have the scale of the inputs."""
    draw = np.random.default_rng(0)
    return {
        path: _initial_weight(draw, path, shape) for path, shape in network.shapes.items()
    }


def draw_batch(network: Network) -> Arrays:
    """Draw a batch, which is the same for all libraries."""
    return network.draw(np.random.default_rng(1), network.rows, network.length)


def _initial_weight(
    draw: np.random.Generator, path: str, shape: tuple[int, ...]
) -> np.ndarray:
    """Return initial weights: ones, zeros or random numbers, depending on the path."""
    if path.endswith(("running_var", "norm.weight", "norm1.weight", "norm2.weight")):
        return np.ones(shape, np.float32)
    if len(shape) == 1:
        return np.zeros(shape, np.float32)
    bound = 1 / np.sqrt(np.prod(shape[1:]))
    return draw.uniform(-bound, bound, shape).astype(np.float32)


def _linear_shapes(path: str, before: int, after: int) -> Shapes:
    return {f"{path}.weight": (after, before), f"{path}.bias": (after,)}


def _norm_shapes(path: str, width: int) -> Shapes:
    return {f"{path}.weight": (width,), f"{path}.bias": (width,)}


def _conv_shapes(path: str, before: int, after: int, kernel: int) -> Shapes:
    return {f"{path}.weight": (after, before, kernel), f"{path}.bias": (after,)}


def _mlp_shapes(length: int) -> Shapes:
    return {
        **_linear_shapes("first", length, 512),
        **_linear_shapes("second", 512, 512),
        **_linear_shapes("third", 512, CLASSES),
    }


def _cnn_shapes(length: int) -> Shapes:
    """Return the weight shapes of the demo network, by their paths in `SequenceCNN`."""
    shapes: dict[str, tuple[int, ...]] = {}
    for number, (before, size) in enumerate([(4, 3), (32, 5), (32, 5)]):
        path = f"blocks.{number}"
        shapes[f"{path}.conv.weight"] = (32, before, size)
        shapes |= _norm_shapes(f"{path}.norm", 32)
        shapes[f"{path}.norm.running_mean"] = (32,)
        shapes[f"{path}.norm.running_var"] = (32,)
    return {**shapes, **_linear_shapes("head", 32 * (length // 2 // 2), 3)}


def _deepsea_shapes(length: int) -> Shapes:
    """Return the weight shapes of DeepSEA (Zhou and Troyanskaya 2015)."""
    places = ((length - 7) // 4 - 7) // 4 - 7
    return {
        **_conv_shapes("first", 4, 320, 8),
        **_conv_shapes("second", 320, 480, 8),
        **_conv_shapes("third", 480, 960, 8),
        **_linear_shapes("hidden", 960 * places, 925),
        **_linear_shapes("head", 925, DEEPSEA_OUTPUTS),
    }


def _encoder_shapes(length: int) -> Shapes:
    """Return the weight shapes of a transformer encoder (Xiong et al. 2020)."""
    shapes: dict[str, tuple[int, ...]] = {
        "letters": (LETTERS, WIDTH),
        "places": (length, WIDTH),
    }
    for number in range(LAYERS):
        path = f"blocks.{number}"
        shapes |= {
            **_norm_shapes(f"{path}.norm1", WIDTH),
            **_norm_shapes(f"{path}.norm2", WIDTH),
        }
        shapes |= _linear_shapes(f"{path}.attend", WIDTH, 3 * WIDTH)
        shapes |= _linear_shapes(f"{path}.mix", WIDTH, WIDTH)
        shapes |= _linear_shapes(f"{path}.up", WIDTH, FEED)
        shapes |= _linear_shapes(f"{path}.down", FEED, WIDTH)
    return {
        **shapes,
        **_norm_shapes("norm", WIDTH),
        **_linear_shapes("head", WIDTH, LETTERS),
    }


def _dilated_shapes(length: int) -> Shapes:
    """Return the weight shapes of dilated layers with two heads (Avsec et al. 2021)."""
    del length
    layers = [f"layers.{number}" for number in range(DILATED_LAYERS)]
    shapes: dict[str, tuple[int, ...]] = {**_conv_shapes("first", 4, CHANNELS, 21)}
    for path in layers:
        shapes |= _conv_shapes(path, CHANNELS, CHANNELS, 3)
    shapes |= _conv_shapes("profile", CHANNELS, 1, PROFILE_KERNEL)
    return {**shapes, **_linear_shapes("count", CHANNELS, 1)}


def middle_positions(length: int) -> slice:
    """Return the middle half of all positions, for which the network predicts a profile."""
    return slice(length // 4, length - length // 4)


def _draw_one_hot(draw: np.random.Generator, rows: int, length: int) -> np.ndarray:
    letters = draw.integers(0, 4, (rows, length))
    return np.ascontiguousarray(np.eye(4, dtype=np.float32)[letters].transpose(0, 2, 1))


def _mlp_batch(draw: np.random.Generator, rows: int, length: int) -> Arrays:
    x = draw.normal(size=(rows, length)).astype(np.float32)
    return {"x": x, "label": draw.integers(0, CLASSES, rows)}


def _cnn_batch(draw: np.random.Generator, rows: int, length: int) -> Arrays:
    return {"x": _draw_one_hot(draw, rows, length), "label": draw.integers(0, 3, rows)}


def _deepsea_batch(draw: np.random.Generator, rows: int, length: int) -> Arrays:
    label = draw.random((rows, DEEPSEA_OUTPUTS)) < 0.02
    return {"x": _draw_one_hot(draw, rows, length), "label": label.astype(np.float32)}


def _dilated_batch(draw: np.random.Generator, rows: int, length: int) -> Arrays:
    """Return a batch with read counts per position, and the log of their sum."""
    middle = middle_positions(length)
    counts = draw.poisson(0.25, (rows, middle.stop - middle.start)).astype(np.float32)
    total = np.log1p(counts.sum(axis=1, keepdims=True))
    return {"x": _draw_one_hot(draw, rows, length), "profile": counts, "count": total}


def _encoder_batch(draw: np.random.Generator, rows: int, length: int) -> Arrays:
    shape = (rows, length)
    return {
        "x": draw.integers(0, LETTERS, shape),
        "label": draw.integers(0, LETTERS, shape),
    }


NETWORKS: dict[str, Network] = {
    "MLP": Network(_mlp_shapes, _mlp_batch, 64, 784, 20),
    "SequenceCNN": Network(_cnn_shapes, _cnn_batch, 64, 60, 20),
    "DeepSEA": Network(_deepsea_shapes, _deepsea_batch, 64, DEEPSEA_LENGTH, 1),
    "encoder": Network(_encoder_shapes, _encoder_batch, ROWS, PLACES, 1),
    "dilated": Network(_dilated_shapes, _dilated_batch, 8, DILATED_LENGTH, 1),
}
# Networks that are measured on CPUs.
CPU_NETWORKS = ("MLP", "SequenceCNN", "DeepSEA", "encoder")

Loss = Callable[[Any, Any, float], Any]
