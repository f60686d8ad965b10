"""SpliceAI (Jaganathan et al., 2019), and a key map that loads its published weights."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

# Arrays of a batch norm: name in Keras, name in seqloom.
BATCH_NORM_KEYS = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


@dataclass(frozen=True)
class SpliceAIConfig(sl.nn.Config):
    """Channels, bases of context, and (units, kernel size, dilation) of each block."""

    width: int = 32
    context: int = 10_000
    blocks: tuple[tuple[int, int, int], ...] = (
        (4, 11, 1),
        (4, 11, 4),
        (4, 21, 10),
        (4, 41, 25),
    )

    def build(self) -> "SpliceAI":
        """Return a new network."""
        return SpliceAI(self)


class ResidualUnit(sl.nn.Module):
    """Residual unit: the input plus two times batch norm, ReLU and convolution."""

    norms: list[sl.nn.BatchNorm1d]
    convs: list[sl.nn.Conv1d]

    def __init__(self, width: int, size: int, dilation: int) -> None:
        self.norms = [sl.nn.BatchNorm1d(width, eps=1e-3) for _ in range(2)]
        self.convs = [
            sl.nn.Conv1d(width, width, size, padding="same", dilation=dilation)
            for _ in range(2)
        ]

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        """Map an array ``(n, width, l)`` to an array of the same shape."""
        y = x
        for norm, conv in zip(self.norms, self.convs, strict=True):
            y = conv(sl.nn.functional.relu(norm(y)))
        return x + y


class SpliceAI(sl.nn.Module):
    """Probabilities of no splice site, acceptor and donor for each position."""

    stem: sl.nn.Conv1d
    blocks: list[list[ResidualUnit]]
    skips: list[sl.nn.Conv1d]
    head: sl.nn.Conv1d
    crop: int

    def __init__(self, config: SpliceAIConfig) -> None:
        width = config.width
        self.stem = sl.nn.Conv1d(4, width, 1)
        self.blocks = [
            [ResidualUnit(width, size, dilation) for _ in range(units)]
            for units, size, dilation in config.blocks
        ]
        self.skips = [sl.nn.Conv1d(width, width, 1) for _ in range(1 + len(self.blocks))]
        self.head = sl.nn.Conv1d(width, 3, 1)
        self.crop = config.context // 2

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        """Map one-hot sequences ``(n, 4, l + context)`` to probabilities ``(n, 3, l)``."""
        x = self.stem(x)
        total = self.skips[0](x)
        for units, skip in zip(self.blocks, self.skips[1:], strict=True):
            for unit in units:
                x = unit(x)
            total = total + skip(x)
        center = total[:, :, self.crop : total.shape[2] - self.crop]
        return sl.nn.functional.softmax(self.head(center), 1)


def load_spliceai(
    paths: Iterable[Path | str], backend: sl.tensor.Backend | str = "numpy"
) -> list[SpliceAI]:
    """Load the published Keras files, one network for each path, for evaluation."""
    models = list[SpliceAI]()
    for path in paths:
        model = SpliceAIConfig().init(backend)
        model.load_record(sl.record.load(path), keys=keras_keys(model))
        models.append(model.eval())
    return models


def keras_keys(model: SpliceAI) -> dict[str, str | tuple[str, Callable[[Any], Any]]]:
    """Return the key map from Keras names to paths; kernels are transposed."""
    convs, norms = ["stem", "skips.0"], list[str]()
    for block, units in enumerate(model.blocks):
        paths = [f"blocks.{block}.{unit}" for unit in range(len(units))]
        convs += [f"{path}.convs.{i}" for path in paths for i in (0, 1)]
        convs += [f"skips.{block + 1}"]
        norms += [f"{path}.norms.{i}" for path in paths for i in (0, 1)]
    keys: dict[str, str | tuple[str, Callable[[Any], Any]]] = {}
    for number, path in enumerate([*convs, "head"], 1):
        layer = f"conv1d_{number}.conv1d_{number}"
        keys[f"{layer}.kernel"] = (f"{path}.weight", np.transpose)
        keys[f"{layer}.bias"] = f"{path}.bias"
    for number, path in enumerate(norms, 1):
        layer = f"batch_normalization_{number}.batch_normalization_{number}"
        keys |= {
            f"{layer}.{keras}": f"{path}.{name}" for keras, name in BATCH_NORM_KEYS.items()
        }
    return keys
