"""Low-rank adaptation of frozen layers (LoRA, Hu 2021), with a new head."""

import numpy as np
import torch

from seqloom import nn
from seqloom.nn import functional as F


class LowRank(nn.Module):
    base: nn.Linear
    down: nn.Param
    up: nn.Param

    def __init__(self, base, rank=2):
        outside, inside = base.weight.shape
        self.base = base.freeze()
        self.down = nn.Param((rank, inside), nn.Normal(0.1))
        self.up = nn.Param((outside, rank), nn.Fill(0.0))

    def __call__(self, x):
        return self.base(x) + x @ self.down.value.T @ self.up.value.T


class Net(nn.Module):
    layers: list[LowRank]
    head: nn.Linear

    def __init__(self):
        self.layers = [LowRank(nn.Linear(10, 16)), LowRank(nn.Linear(16, 16))]
        self.head = nn.Linear(16, 3)

    def loss(self, x, label):
        for layer in self.layers:
            x = F.relu(layer(x))
        return F.cross_entropy(self.head(x), label)


class LowRankTwin(torch.nn.Module):
    def __init__(self, base, rank=2):
        super().__init__()
        self.base = base.requires_grad_(requires_grad=False)
        self.down = torch.nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.up = torch.nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        bases = torch.nn.Linear(10, 16), torch.nn.Linear(16, 16)
        self.layers = torch.nn.ModuleList(map(LowRankTwin, bases))
        self.head = torch.nn.Linear(16, 3)

    def loss(self, x, label):
        for layer in self.layers:
            x = layer(x).relu()
        return torch.nn.functional.cross_entropy(self.head(x), label)


def batch(draw):
    """Return random vectors and classes."""
    x = draw.normal(size=(16, 10)).astype(np.float32)
    return {"x": x, "label": draw.integers(0, 3, 16).astype(np.int64)}
