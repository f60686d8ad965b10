"""A network like BPNet (Avsec et al., 2021) with random weights, for three programs."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import seqloom as sl

FIRST_WIDTH, LAYER_COUNT, CHANNELS = 21, 8, 64


@dataclass(frozen=True)
class BPNetConfig(sl.nn.Config):
    """Channels, width of the first kernel, and number of dilated layers."""

    channels: int = CHANNELS
    first_width: int = FIRST_WIDTH
    layers: int = LAYER_COUNT

    def build(self) -> "BPNet":
        """Return a new network."""
        return BPNet(self)


class BPNet(sl.nn.Module):
    """Convolution, dilated residual layers, and a head on the mean over positions."""

    stem: sl.nn.Conv1d
    layers: list[sl.nn.Conv1d]
    head: sl.nn.Linear

    def __init__(self, config: BPNetConfig) -> None:
        width = config.channels
        self.stem = sl.nn.Conv1d(4, width, config.first_width, padding="same")
        self.layers = [
            sl.nn.Conv1d(width, width, 3, padding="same", dilation=2 ** (number + 1))
            for number in range(config.layers)
        ]
        self.head = sl.nn.Linear(width, 1)

    def __call__(self, x: sl.tensor.Tensor) -> sl.tensor.Tensor:
        """Map one-hot sequences ``(n, 4, l)`` to scores ``(n, 1)``."""
        x = sl.nn.functional.relu(self.stem(x))
        for layer in self.layers:
            x = x + sl.nn.functional.relu(layer(x))
        return self.head(x.mean(-1))


def make_bpnet(threads: int) -> sl.models.Trained:
    """Return the network with the same random weights in each process."""
    network = BPNetConfig().init(
        sl.tensor.backend("numpy", num_threads=threads), key=sl.Key(0)
    )
    task = sl.models.Regress(("signal",))
    return sl.models.Trained(network.eval(), sl.encode.OneHot("dna"), task, batch_size=64)


def save_arrays(path: Path, network: sl.nn.Module) -> None:
    """Write the parameters in the order of the layers, for a program without seqloom."""
    record = network.to_record()
    arrays: dict[str, Any] = {name: np.asarray(values) for name, values in record.items()}
    np.savez(path, **arrays)
