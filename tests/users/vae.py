"""A variational autoencoder of k-mer counts; the noise is part of the batch."""

import numpy as np
import torch

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F


class Net(nn.Module):
    encoder: nn.Linear
    mean: nn.Linear
    log_variance: nn.Linear
    decoder: list[nn.Linear]

    def __init__(self, counts=24, hidden=16, latent=4):
        self.encoder = nn.Linear(counts, hidden)
        self.mean, self.log_variance = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.decoder = [nn.Linear(latent, hidden), nn.Linear(hidden, counts)]

    def encode(self, x):
        hidden = F.relu(self.encoder(x))
        return self.mean(hidden), self.log_variance(hidden)

    def decode(self, z):
        return self.decoder[1](F.relu(self.decoder[0](z)))

    def loss(self, x, noise):
        mean, log_variance = self.encode(x)
        z = mean + noise * sl.tensor.exp(log_variance * 0.5)
        error = ((self.decode(z) - x) ** 2).sum(axis=1).mean()
        apart = (mean**2 + sl.tensor.exp(log_variance) - 1 - log_variance).sum(axis=1)
        return error + 0.5 * apart.mean()


class Twin(torch.nn.Module):
    def __init__(self, counts=24, hidden=16, latent=4):
        super().__init__()
        self.encoder = torch.nn.Linear(counts, hidden)
        self.mean = torch.nn.Linear(hidden, latent)
        self.log_variance = torch.nn.Linear(hidden, latent)
        parts = [torch.nn.Linear(latent, hidden), torch.nn.Linear(hidden, counts)]
        self.decoder = torch.nn.ModuleList(parts)

    def loss(self, x, noise):
        hidden = self.encoder(x).relu()
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + noise * (log_variance * 0.5).exp()
        decoded = self.decoder[1](self.decoder[0](z).relu())
        error = ((decoded - x) ** 2).sum(1).mean()
        apart = (mean**2 + log_variance.exp() - 1 - log_variance).sum(1)
        return error + 0.5 * apart.mean()


def batch(draw):
    """Return counts and noise."""
    x = draw.poisson(2.0, (16, 24)).astype(np.float32)
    return {"x": x, "noise": draw.normal(size=(16, 4)).astype(np.float32)}
