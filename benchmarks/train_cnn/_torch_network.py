"""The network of the demo in eager PyTorch on the CPU, with fused AdamW."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seqloom.models import SequenceCNNConfig


class TorchTrainer:
    """The network of the demo in PyTorch, with its optimiser.

    Args:
        config: Settings of the seqloom network.
        weights: Initial weights of the seqloom network by path.
        threads: Number of threads.
        lr: Learning rate.
    """

    def __init__(
        self,
        config: SequenceCNNConfig,
        weights: Mapping[str, np.ndarray],
        *,
        threads: int,
        lr: float,
    ) -> None:
        torch.set_num_threads(threads)
        self.model = TorchNetwork(config, weights)
        self.model.load_state_dict(_copy_weights(weights), strict=False)
        params = list(self.model.parameters())
        flat = {"params": [each for each in params if each.ndim == 1], "weight_decay": 0.0}
        wide = {"params": [each for each in params if each.ndim > 1], "weight_decay": 0.01}
        self.optimizer = torch.optim.AdamW([wide, flat], lr=lr, fused=True)

    def step(self, batch: dict[str, Any]) -> float:
        """Train on one batch and return the loss."""
        self.optimizer.zero_grad()
        logits = self.model(torch.from_numpy(batch["inputs"]))
        loss = F.cross_entropy(logits, torch.from_numpy(batch["label"]))
        loss.backward()
        self.optimizer.step()
        return loss.item()


class TorchNetwork(nn.Module):
    """PyTorch modules that have the same names as the layers of `SequenceCNN`."""

    def __init__(
        self, config: SequenceCNNConfig, weights: Mapping[str, np.ndarray]
    ) -> None:
        super().__init__()
        shapes = [
            weights[f"blocks.{i}.conv.weight"].shape for i in range(len(config.widths))
        ]
        self.blocks = nn.ModuleList(
            ConvolutionBlock(shape, pool)
            for shape, pool in zip(shapes, config.pools, strict=True)
        )
        self.dropout = nn.Dropout(config.dropout)
        outputs, features = weights["head.weight"].shape
        self.head = nn.Linear(features, outputs)

    def forward(self, x: Tensor) -> Tensor:
        """Map inputs ``(batch, channel, position)`` to logits ``(batch, output)``."""
        for block in self.blocks:
            x = block(x)
        return self.head(self.dropout(x.flatten(1)))


class ConvolutionBlock(nn.Module):
    """A convolution, batch normalisation, GELU and optional pooling."""

    def __init__(self, shape: tuple[int, ...], pool: int) -> None:
        super().__init__()
        after, before, kernel = shape
        self.conv = nn.Conv1d(before, after, kernel, padding=kernel // 2, bias=False)
        self.norm = nn.BatchNorm1d(after)
        self.pool = nn.MaxPool1d(pool) if pool > 1 else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        """Return the features ``(batch, channel, position)``."""
        return self.pool(F.gelu(self.norm(self.conv(x))))


def _copy_weights(weights: Mapping[str, np.ndarray]) -> dict[str, Tensor]:
    """Copy the seqloom weights; keep PyTorch's count of batches."""
    return {path: torch.from_numpy(value.copy()) for path, value in weights.items()}
