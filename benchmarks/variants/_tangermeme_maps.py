"""Time mutation maps of tangermeme: ``python _tangermeme_maps.py FOLDER THREADS MODE``.

The program runs in the environment of tangermeme and imports nothing else of this
project. FOLDER has the parameters of the network in ``network.npz`` and one-hot
sequences in ``sequences.npy``. MODE is ``slow`` or ``fast``; ``fast`` uses the fast
computation for short jobs too. The effects are written to ``MODE.npy``.
"""

import json
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch

maps = import_module("tangermeme.saturation_mutagenesis")


class BPNet(torch.nn.Module):
    """The network of _networks.py."""

    def __init__(self, arrays: dict[str, np.ndarray]) -> None:
        super().__init__()
        self.stem = _load_layer(arrays, "stem", dilation=1)
        count = sum(name.endswith(".weight") for name in arrays) - 2
        self.layers = torch.nn.ModuleList(
            _load_layer(arrays, f"layers.{number}", dilation=2 ** (number + 1))
            for number in range(count)
        )
        self.head = torch.nn.Linear(*arrays["head.weight"].shape[::-1])
        parts = {it: torch.tensor(arrays[f"head.{it}"]) for it in ("weight", "bias")}
        self.head.load_state_dict(parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map one-hot sequences ``(n, 4, l)`` to scores ``(n, 1)``."""
        x = torch.relu(self.stem(x))
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return self.head(x.mean(-1))


def _load_layer(arrays: dict[str, np.ndarray], name: str, *, dilation: int) -> Any:
    weight = torch.tensor(arrays[f"{name}.weight"])
    outputs, inputs, size = weight.shape
    layer = torch.nn.Conv1d(inputs, outputs, size, padding="same", dilation=dilation)
    bias = torch.tensor(arrays[f"{name}.bias"])
    layer.load_state_dict({"weight": weight, "bias": bias})
    return layer


def _main(folder: Path, threads: int, mode: str) -> None:
    """Write effects, and print the seconds of the quicker batch size."""
    torch.set_num_threads(threads)
    network = BPNet(dict(np.load(folder / "network.npz"))).eval()
    x = torch.tensor(np.load(folder / "sequences.npy"))
    if mode == "fast":
        vars(maps)["_FAST_MIN_SECONDS"] = 0.0  # forces the fast computation
    _compute_maps(network, x[:1, :, :200], 32, mode=mode)  # imports are not measured
    found = [_compute_maps(network, x, size, mode=mode) for size in (32, 256)]
    seconds, effects = min(found, key=lambda each: each[0])
    np.save(folder / f"{mode}.npy", effects)
    print(json.dumps({"seconds": seconds}))


def _compute_maps(
    network: BPNet, x: torch.Tensor, size: int, *, mode: str
) -> tuple[float, np.ndarray]:
    """Return the seconds and the effects ``(sequences, 4, positions)``."""
    start = time.perf_counter()
    before, after = maps.saturation_mutagenesis(
        network, x, raw_outputs=True, fast=mode == "fast", batch_size=size, device="cpu"
    )
    seconds = time.perf_counter() - start
    return seconds, (after[..., 0] - before[:, None, None, 0]).numpy()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
