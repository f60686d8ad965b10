"""A network that embeds and classifies, and subtracts a running mean of embeddings."""

import numpy as np
import torch

from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    body: nn.Linear
    head: nn.Linear
    center: nn.Buffer

    def __init__(self):
        self.body, self.head = nn.Linear(10, 8), nn.Linear(8, 3)
        self.center = nn.Buffer((8,), nn.Fill(0.0))

    def embed(self, x):
        found = F.gelu(self.body(x))
        if self.training:
            mean = found.detach().mean(axis=0)
            self.center.assign(0.9 * self.center.value + 0.1 * mean)
        return found - self.center.value

    def classify(self, x):
        return self.head(self.embed(x))

    def loss(self, x, label):
        apart = (self.embed(x) ** 2).mean()
        return F.cross_entropy(self.classify(x), label) + 0.01 * apart


class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(10, 8), torch.nn.Linear(8, 3)
        self.register_buffer("center", torch.zeros(8))

    def embed(self, x):
        found = torch.nn.functional.gelu(self.body(x))
        self.center = 0.9 * self.center + 0.1 * found.detach().mean(0)
        return found - self.center

    def loss(self, x, label):
        apart = (self.embed(x) ** 2).mean()
        logits = self.head(self.embed(x))
        return torch.nn.functional.cross_entropy(logits, label) + 0.01 * apart


def batch(draw):
    """Return vectors and classes."""
    x = draw.normal(size=(16, 10)).astype(np.float32)
    return {"x": x, "label": draw.integers(0, 3, 16).astype(np.int64)}
