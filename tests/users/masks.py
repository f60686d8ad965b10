"""Sequences of different lengths, pooled with attention over their real positions."""

import numpy as np
import torch

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    letters: nn.Embedding
    conv: nn.Conv1d
    score: nn.Linear
    head: nn.Linear

    def __init__(self):
        self.letters = nn.Embedding(6, 8, padding_idx=5)
        self.conv = nn.Conv1d(8, 12, 5, padding=2)
        self.score, self.head = nn.Linear(12, 1), nn.Linear(24, 3)

    def loss(self, x, mask, label):
        found = self.letters(x).permute_dims((0, 2, 1))
        found = F.relu(self.conv(found)).permute_dims((0, 2, 1))
        scores = self.score(found)[..., 0]
        weights = F.softmax(sl.tensor.where(mask, scores, -1e9), -1)
        attended = (weights[..., None] * found).sum(axis=1)
        real = mask.astype("float32")[..., None]
        mean = (found * real).sum(axis=1) / real.sum(axis=1)
        return F.cross_entropy(self.head(sl.tensor.concat([attended, mean], axis=1)), label)


class Twin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = torch.nn.Embedding(6, 8, padding_idx=5)
        self.conv = torch.nn.Conv1d(8, 12, 5, padding=2)
        self.score, self.head = torch.nn.Linear(12, 1), torch.nn.Linear(24, 3)

    def loss(self, x, mask, label):
        found = self.conv(self.letters(x).permute(0, 2, 1)).relu().permute(0, 2, 1)
        scores = self.score(found)[..., 0].masked_fill(~mask, -1e9)
        attended = (scores.softmax(-1)[..., None] * found).sum(1)
        real = mask.float()[..., None]
        mean = (found * real).sum(1) / real.sum(1)
        logits = self.head(torch.cat([attended, mean], 1))
        return torch.nn.functional.cross_entropy(logits, label)


def batch(draw):
    """Return residues, a mask of real positions, and classes."""
    mask = np.arange(20) < draw.integers(5, 21, (12, 1))
    x = np.where(mask, draw.integers(0, 5, (12, 20)), 5)
    return {"x": x, "mask": mask, "label": draw.integers(0, 3, 12).astype(np.int64)}
