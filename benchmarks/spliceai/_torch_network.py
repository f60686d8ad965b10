"""The first SpliceAI network, written for torch."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.spliceai._network import (
    CHANNELS,
    CONTEXT_BASES,
    RESIDUAL_BLOCKS,
    Work,
    random_bases,
    read_weights,
)

Conv = partial(nn.Conv1d, padding="same")
# Names of the batch norm arrays in torch -> in Keras.
NORM_NAMES = {
    "weight": "gamma",
    "bias": "beta",
    "running_mean": "moving_mean",
    "running_var": "moving_variance",
}


class ResidualUnit(nn.Module):
    """Two convolutions after batch norm and ReLU, added to the input."""

    def __init__(self, size: int, dilation: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        for _ in range(2):
            conv = Conv(CHANNELS, CHANNELS, size, dilation=dilation)
            parts += [nn.BatchNorm1d(CHANNELS, eps=1e-3), nn.ReLU(), conv]
        self.layers = nn.Sequential(*parts)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(n, width, l)`` to the same shape."""
        return x + self.layers(x)


class SpliceAI(nn.Module):
    """Blocks of units with summed outputs; layers are in the order of the Keras model."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.first = Conv(4, CHANNELS, 1), Conv(CHANNELS, CHANNELS, 1)
        blocks = [
            nn.ModuleList(
                [
                    *(ResidualUnit(size, dilation) for _ in range(units)),
                    Conv(CHANNELS, CHANNELS, 1),
                ]
            )
            for units, size, dilation in RESIDUAL_BLOCKS
        ]
        self.blocks: Any = nn.ModuleList(blocks)
        self.head = Conv(CHANNELS, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Map ``(n, 4, l + context)`` to ``(n, 3, l)``."""
        x = self.stem(x)
        total = self.first(x)
        for *units, skip in self.blocks:
            for unit in units:
                x = unit(x)
            total = total + skip(x)
        inside = total[:, :, CONTEXT_BASES // 2 : total.shape[2] - CONTEXT_BASES // 2]
        return self.head(inside).softmax(1)


def load_in_torch(count: int, threads: int) -> Work:
    """Create the torch network with the published weights, without compiling it."""
    torch.set_num_threads(threads)
    network = SpliceAI().eval()
    for layer, state in _read_layers(network):
        layer.load_state_dict(state, strict=False)
    x = torch.tensor(random_bases(count))

    def run_network() -> np.ndarray:
        with torch.inference_mode():
            return network(x).numpy()

    return run_network


def _read_layers(network: nn.Module) -> Iterator[tuple[nn.Module, dict[str, Tensor]]]:
    """Yield each layer with its published weights."""
    kinds = {"conv1d": nn.Conv1d, "batch_normalization": nn.BatchNorm1d}
    for name, kind in kinds.items():
        layers = [layer for layer in network.modules() if isinstance(layer, kind)]
        for number, layer in enumerate(layers, 1):
            yield layer, _layer_weights(f"{name}_{number}")


def _layer_weights(layer: str) -> dict[str, Tensor]:
    """Return the weights of a layer by their names in torch."""
    found = {
        name.rpartition(".")[2]: torch.tensor(np.ascontiguousarray(values.T))
        for name, values in read_weights().items()
        if name.startswith(f"{layer}.")
    }
    if "kernel" in found:
        return {"weight": found["kernel"], "bias": found["bias"]}
    return {ours: found[keras] for ours, keras in NORM_NAMES.items()}
