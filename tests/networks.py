"""Small networks that several tests train, and a training step for all networks."""

from typing import Any

import numpy as np

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F
from seqloom.tensor import apply


class MLP(nn.Module):
    """Two hidden layers with dropout."""

    layers: list[nn.Linear]
    dropout: nn.Dropout

    def __init__(self):
        self.layers = [nn.Linear(12, 32), nn.Linear(32, 32), nn.Linear(32, 5)]
        self.dropout = nn.Dropout(0.1)

    def loss(self, batch, key):
        x = batch["x"]
        for number, layer in enumerate(self.layers[:-1]):
            x = self.dropout(F.relu(layer(x)), key=key.fold(number))
        return F.cross_entropy(self.layers[-1](x), batch["label"])

    @staticmethod
    def batch(draw):
        x = draw.normal(size=(16, 12)).astype(np.float32)
        return {"x": x, "label": draw.integers(0, 5, 16).astype(np.int32)}


class Logistic(nn.Module):
    """A linear model: one weight for each base, position and class."""

    head: nn.Linear

    def __init__(self, inputs, outputs):
        self.head = nn.Linear(inputs, outputs)

    def logits(self, x):
        return self.head(x.reshape(x.shape[0], -1))


class SpliceCNN(sl.models.SequenceCNN):
    """A narrow version of the demo's network."""

    def __init__(self):
        super().__init__(
            sl.models.SequenceCNNConfig(
                channels=4, outputs=3, length=24, widths=(8, 8, 8), pools=(1, 2, 2)
            )
        )

    def loss(self, batch, key):
        return F.cross_entropy(self.logits(batch["x"], key=key), batch["label"])

    @staticmethod
    def batch(draw):
        label = draw.integers(0, 3, 16).astype(np.int32)
        return {"x": one_hot(draw, 16, 24), "label": label}


class DeepSEA(nn.Module):
    """A narrow DeepSEA (Zhou and Troyanskaya 2015)."""

    convolutions: list[nn.Conv1d]
    hidden: nn.Linear
    head: nn.Linear

    def __init__(self):
        self.convolutions = [nn.Conv1d(4, 8, 8), nn.Conv1d(8, 12, 8), nn.Conv1d(12, 16, 8)]
        self.hidden, self.head = nn.Linear(16 * 9, 20), nn.Linear(20, 7)

    def loss(self, batch, key):  # noqa: ARG002  # it has no dropout
        x = batch["x"]
        for layer, pool in zip(self.convolutions, (2, 2, 1), strict=True):
            x = F.relu(layer(x))
            x = F.max_pool1d(x, pool) if pool > 1 else x
        x = F.relu(self.hidden(x.reshape(x.shape[0], -1)))
        return F.binary_cross_entropy_with_logits(self.head(x), batch["label"])

    @staticmethod
    def batch(draw):
        label = (draw.random((6, 7)) < 0.3).astype(np.float32)
        return {"x": one_hot(draw, 6, 85), "label": label}


class Encoder(nn.Module):
    """One pre-normalised attention block over residues."""

    letters: nn.Param
    scales: list[nn.Param]
    shifts: list[nn.Param]
    attend: nn.Linear
    mix: nn.Linear
    up: nn.Linear
    down: nn.Linear
    head: nn.Linear
    dropout: nn.Dropout

    width, heads = 16, 2

    def __init__(self, rate=0.1):
        width = self.width
        self.letters = nn.Param((9, width), nn.FanIn(1))
        self.scales = [nn.Param((width,), nn.Fill(1.0)) for _ in range(2)]
        self.shifts = [nn.Param((width,), nn.Fill(0.0)) for _ in range(2)]
        self.attend, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 32), nn.Linear(32, width)
        self.head, self.dropout = nn.Linear(width, 9), nn.Dropout(rate)

    def loss(self, batch, key):
        x = F.embedding(batch["x"], self.letters.value)
        x = x + self.dropout(self._look(self._norm(0, x)), key=key.fold(1))
        fed = self.down(F.gelu(self.up(self._norm(1, x))))
        x = x + self.dropout(fed, key=key.fold(2))
        return F.cross_entropy(self.head(x).reshape(-1, 9), batch["label"].reshape(-1))

    def _norm(self, half, x):
        scale, shift = self.scales[half].value, self.shifts[half].value
        return F.layer_norm(x, (self.width,), scale, shift)

    def _look(self, x):
        rows, places, width = x.shape
        parts = self.attend(x).reshape(rows, places, 3, self.heads, -1)
        q, k, v = apply("unstack", apply("permute_dims", parts, (2, 0, 3, 1, 4)))
        seen = F.scaled_dot_product_attention(q, k, v)
        seen = apply("permute_dims", seen, (0, 2, 1, 3)).reshape(rows, places, width)
        return self.mix(seen)

    @staticmethod
    def batch(draw):
        x, label = (draw.integers(0, 9, (4, 10)).astype(np.int32) for _ in "xy")
        return {"x": x, "label": label}


class StillEncoder(Encoder):
    """The encoder without dropout."""

    def __init__(self):
        super().__init__(rate=0.0)


def one_hot(draw, rows, length):
    """Return random one-hot residues."""
    letters = np.eye(4, dtype=np.float32)[draw.integers(0, 4, (rows, length))]
    return np.ascontiguousarray(letters.transpose(0, 2, 1))


def train(model, optimizer, key, lr, batch):
    """Take one step on any backend; return the loss."""
    loss, grads = nn.value_and_grad(lambda net: net.loss(batch, key))(model)
    optimizer.step(lr, model, grads)
    return loss


def losses(
    network,
    backend,
    *,
    lr=1e-3,
    steps=50,
    step=train,
    dropout=True,
    order: Any = slice(None),
):
    """Return the losses of several steps on one backend, each with its batch and key."""
    model, optimizer = network().bind(backend, sl.Key(0)), sl.optim.AdamW()
    if not dropout:
        _keep_all(model)
    draw, found = np.random.default_rng(0), []
    batches = [network.batch(draw) for _ in range(4)]
    for number in range(steps):
        arrays = batches[number % len(batches)]
        rows = {key: np.ascontiguousarray(each[order]) for key, each in arrays.items()}
        batch = {key: model.backend.tensor(each) for key, each in rows.items()}
        found.append(float(step(model, optimizer, sl.Key(0, number), lr, batch)))
    return np.array(found)


def _keep_all(model):
    """Remove dropout, so that the rows of a batch can be in any order."""
    for _, layer in model.named(nn.Dropout):
        layer.p = 0.0
