"""A transformer that classifies short sequences."""

import numpy as np
import torch

from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    letters: nn.Embedding
    positions: nn.Embedding
    encoder: nn.TransformerEncoder
    head: nn.Linear

    def __init__(self, letters=5, width=16, length=20, classes=3):
        self.letters, self.positions = (
            nn.Embedding(letters, width),
            nn.Embedding(length, width),
        )
        layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(width, classes)

    def loss(self, x, label):
        found = self.letters(x) + self.positions.weight.value
        return F.cross_entropy(self.head(self.encoder(found).mean(axis=1)), label)


class Twin(torch.nn.Module):
    def __init__(self, letters=5, width=16, length=20, classes=3):
        super().__init__()
        self.letters = torch.nn.Embedding(letters, width)
        self.positions = torch.nn.Embedding(length, width)
        layer = torch.nn.TransformerEncoderLayer(
            width, 2, 32, dropout=0.0, norm_first=True, batch_first=True
        )
        self.encoder = torch.nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = torch.nn.Linear(width, classes)

    def loss(self, x, label):
        found = self.encoder(self.letters(x) + self.positions.weight)
        return torch.nn.functional.cross_entropy(self.head(found.mean(1)), label)


def batch(draw):
    """Return residues and classes."""
    x = draw.integers(0, 5, (8, 20))
    return {"x": x, "label": draw.integers(0, 3, 8).astype(np.int64)}
