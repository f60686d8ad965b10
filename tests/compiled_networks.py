"""Small networks and their training steps, for the tests of compilation."""

from typing import Any

import numpy as np

import seqloom as sl
from seqloom.nn import functional as F
from seqloom.tensor import apply


class MLP(sl.nn.Module):
    first: sl.nn.Linear
    second: sl.nn.Linear
    dropout: sl.nn.Dropout

    def loss(self, batch, key):
        x = self.dropout(F.relu(self.first(batch["x"])), key=key.fold("dropout"))
        return F.cross_entropy(self.second(x), batch["label"])


class CNN(sl.nn.Module):
    network: sl.models.SequenceCNN

    def loss(self, batch, key):
        logits = self.network.logits(batch["x"], mask=batch["mask"], key=key)
        return F.cross_entropy(logits, batch["label"])


class Encoder(sl.nn.Module):
    """One attention block and two linear layers, with pre-normalisation."""

    letters: sl.nn.Param
    scale: sl.nn.Param
    shift: sl.nn.Param
    attend: sl.nn.Linear
    up: sl.nn.Linear
    head: sl.nn.Linear

    def loss(self, batch, key):
        del key
        x = F.embedding(batch["x"], self.letters.value)
        rows, places, width = x.shape
        normed = F.layer_norm(x, (width,), self.scale.value, self.shift.value)
        parts = self.attend(normed).reshape(rows, places, 3, 2, width // 2)
        q, k, v = apply("unstack", apply("permute_dims", parts, (2, 0, 3, 1, 4)))
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + apply("permute_dims", seen, (0, 2, 1, 3)).reshape(rows, places, width)
        logits = self.head(F.gelu(self.up(x)))
        return F.cross_entropy(logits.reshape(rows * places, -1), batch["label"])


def _mlp():
    layers = sl.nn.Linear(6, 16), sl.nn.Linear(16, 3), sl.nn.Dropout(0.25)
    return MLP(*layers)


def _cnn():
    config = sl.models.SequenceCNNConfig(channels=4, outputs=3, widths=(8, 8))
    return CNN(config.build())


def _encoder():
    fan, one, zero = sl.nn.FanIn(4), sl.nn.Fill(1.0), sl.nn.Fill(0.0)
    width = 8
    return Encoder(
        sl.nn.Param((5, width), fan),
        sl.nn.Param((width,), one),
        sl.nn.Param((width,), zero),
        sl.nn.Linear(width, 3 * width),
        sl.nn.Linear(width, 12),
        sl.nn.Linear(12, 5),
    )


NETWORK_FUNCTIONS = {"MLP": _mlp, "CNN": _cnn, "encoder": _encoder}


def batch_of(name, backend, seed=0):
    """Return a batch of tensors for the named network."""
    rng = np.random.default_rng(seed)
    x = {
        "MLP": lambda: rng.normal(size=(8, 6)).astype("f4"),
        "CNN": lambda: rng.normal(size=(8, 4, 20)).astype("f4"),
        "encoder": lambda: rng.integers(0, 5, (4, 6)).astype("i4"),
    }[name]()
    count = 24 if name == "encoder" else 8
    mask = (np.arange(20) < rng.integers(10, 20, (8, 1))).astype("f4")
    arrays = {"x": x, "label": rng.integers(0, 3, count).astype("i4"), "mask": mask}
    return {key: backend.tensor(each) for key, each in arrays.items()}


def model_of(name, backend) -> tuple[Any, sl.optim.AdamW]:
    """Return the network and an optimiser, with fixed random weights."""
    return NETWORK_FUNCTIONS[name]().bind(backend, sl.Key(0)), sl.optim.AdamW()


def step(model, optimizer, lr, batch, key):
    """Take one training step."""

    def loss_of(model, batch, key):
        return model.loss(batch, key)

    loss, grads = sl.nn.value_and_grad(loss_of)(model, batch, key)
    return optimizer.step(lr, model, grads), loss
