"""Networks of torch, and the ONNX files that torch writes of them."""

import io
import warnings
from typing import Any, cast

import numpy as np
import torch


class Convolutions(torch.nn.Module):
    """Residual convolutions with normalisations and a pool."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv1d(4, 6, 5, padding="same")
        self.norm = torch.nn.BatchNorm1d(6)
        # Torch's exporter would write equal arrays once.
        for number, part in enumerate(self.norm.state_dict().values()):
            if part.ndim:
                part.copy_(torch.rand(6) + number)
        self.second = torch.nn.Conv1d(6, 6, 3, padding=2, dilation=2)
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = x + torch.nn.functional.gelu(self.second(x))
        return self.head(torch.nn.functional.max_pool1d(x, 2).mean(2))


class States(torch.nn.Module):
    """A recurrent network that reads the last letter of each record."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(4, 5, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(10, 2)

    def forward(self, x):
        states, _ = self.layer(x)
        ends = x.size(1) - 1 - x.sum(2).flip(1).argmax(1)
        return self.head(states[torch.arange(x.size(0)), ends])


class Attention(torch.nn.Module):
    """One head of attention over embedded tokens, written out."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 8)
        self.places = torch.nn.Parameter(torch.randn(500, 8))
        self.norm = torch.nn.LayerNorm(8)
        self.mix = torch.nn.Linear(8, 24)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, tokens):
        x = self.table(tokens) + self.places[: tokens.size(1)]
        q, k, v = self.mix(self.norm(x)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
        return self.head((x + weights @ v).mean(1))


LETTERS = np.eye(4, dtype="float32")[np.random.default_rng(3).integers(0, 4, (3, 12))]
LETTERS[0, 9:] = LETTERS[2, 4:] = 0
NETWORKS = {
    "convolutions": (Convolutions, LETTERS.transpose(0, 2, 1).copy()),
    "LSTM": (lambda: States(torch.nn.LSTM), LETTERS),
    "GRU": (lambda: States(torch.nn.GRU), LETTERS),
    "RNN": (lambda: States(torch.nn.RNN), LETTERS),
    "attention": (Attention, np.arange(24).reshape(2, 12) % 7),
}


def export_by_tracing(name, folder):
    """Make a network, and write its file by the exporter that torch has since 2.5."""
    make, x = NETWORKS[name]
    torch.manual_seed(0)
    net, path = make().eval(), folder / "net.onnx"
    records = torch.export.Dim("records", min=2, max=64)
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            net,
            (torch.from_numpy(x),),
            path,
            dynamo=True,
            dynamic_shapes=({0: records},),
            verbose=False,
        )
    return net, path, x


def export(name, folder):
    """Make a network, writes its file, and gives both with an input."""
    make, x = NETWORKS[name]
    torch.manual_seed(0)
    net = make().eval()
    sizes = {0: "records", 1: "length"} if x.ndim == 2 else {0: "records", 1: "a", 2: "b"}
    stream = io.BytesIO()
    with warnings.catch_warnings(action="ignore"):
        torch.onnx.export(
            net,
            (torch.from_numpy(x),),
            cast("Any", stream),
            input_names=["x"],
            dynamic_axes={"x": sizes},
            opset_version=14,
            dynamo=False,
            # Not folded, a batch norm stays one, with weights of its own.
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=name != "convolutions",
        )
    path = folder / "net.onnx"
    path.write_bytes(stream.getvalue())
    return net, path, x
