"""A language model of proteins: a recurrent network that predicts the next residue."""

import torch

from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    letters: nn.Embedding
    memory: nn.GRU
    head: nn.Linear

    def __init__(self, letters=21, width=12, hidden=16):
        self.letters = nn.Embedding(letters, width)
        self.memory = nn.GRU(width, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, letters)

    def loss(self, x):
        found, _ = self.memory(self.letters(x[:, :-1]))
        return F.cross_entropy(self.head(found).reshape(-1, 21), x[:, 1:].reshape(-1))


class Twin(torch.nn.Module):
    def __init__(self, letters=21, width=12, hidden=16):
        super().__init__()
        self.letters = torch.nn.Embedding(letters, width)
        self.memory = torch.nn.GRU(width, hidden, num_layers=2, batch_first=True)
        self.head = torch.nn.Linear(hidden, letters)

    def loss(self, x):
        found, _ = self.memory(self.letters(x[:, :-1]))
        logits = self.head(found).reshape(-1, 21)
        return torch.nn.functional.cross_entropy(logits, x[:, 1:].reshape(-1))


def batch(draw):
    """Return residues as integers."""
    return {"x": draw.integers(0, 21, (8, 16))}
