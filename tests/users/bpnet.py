"""A narrow BPNet (Avsec 2021): dilated residuals, a profile and its total count."""

import numpy as np
import torch

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    stem: nn.Conv1d
    blocks: list[nn.Conv1d]
    profile: nn.Conv1d
    counts: nn.Linear

    def __init__(self, width=12):
        self.stem = nn.Conv1d(4, width, 21, padding="same")
        self.blocks = [
            nn.Conv1d(width, width, 3, padding="same", dilation=2**number)
            for number in range(1, 4)
        ]
        self.profile = nn.Conv1d(width, 2, 25, padding="same")
        self.counts = nn.Linear(width, 2)

    def __call__(self, x):
        x = F.relu(self.stem(x))
        for conv in self.blocks:
            x = x + F.relu(conv(x))
        return self.profile(x), self.counts(x.mean(axis=2))

    def loss(self, x, counts):
        profile, total = self(x)
        likelihood = -(counts * F.log_softmax(profile, -1)).sum(axis=-1).mean()
        wanted = sl.tensor.log1p(counts.sum(axis=-1))
        return likelihood / 10 + ((total - wanted) ** 2).mean()


class Twin(torch.nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.stem = torch.nn.Conv1d(4, width, 21, padding="same")
        self.blocks = torch.nn.ModuleList(
            torch.nn.Conv1d(width, width, 3, padding="same", dilation=2**number)
            for number in range(1, 4)
        )
        self.profile = torch.nn.Conv1d(width, 2, 25, padding="same")
        self.counts = torch.nn.Linear(width, 2)

    def loss(self, x, counts):
        x = self.stem(x).relu()
        for conv in self.blocks:
            x = x + conv(x).relu()
        shares = self.profile(x).log_softmax(-1)
        likelihood = -(counts * shares).sum(-1).mean()
        wanted = counts.sum(-1).log1p()
        return likelihood / 10 + ((self.counts(x.mean(2)) - wanted) ** 2).mean()


def batch(draw):
    """Return one-hot bases, and counts of two strands at each position."""
    letters = np.eye(4, dtype=np.float32)[draw.integers(0, 4, (4, 60))]
    counts = draw.poisson(0.5, (4, 2, 60)).astype(np.float32)
    return {"x": np.ascontiguousarray(letters.transpose(0, 2, 1)), "counts": counts}
