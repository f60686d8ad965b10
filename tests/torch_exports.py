"""PyTorch networks, and ONNX files that PyTorch exports."""

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
        # PyTorch's exporter would write equal arrays only once.
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
    """A recurrent network that reads the last residue of each record."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(4, 5, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(10, 2)

    def forward(self, x):
        states, _ = self.layer(x)
        ends = x.size(1) - 1 - x.sum(2).flip(1).argmax(1)
        return self.head(states[torch.arange(x.size(0)), ends])


class Attention(torch.nn.Module):
    """One attention head over token embeddings, written with basic operations."""

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


ONE_HOT_INPUT = np.eye(4, dtype="float32")[np.random.default_rng(3).integers(0, 4, (3, 12))]
ONE_HOT_INPUT[0, 9:] = ONE_HOT_INPUT[2, 4:] = 0
NETWORKS_AND_INPUTS = {
    "convolutions": (Convolutions, ONE_HOT_INPUT.transpose(0, 2, 1).copy()),
    "LSTM": (lambda: States(torch.nn.LSTM), ONE_HOT_INPUT),
    "GRU": (lambda: States(torch.nn.GRU), ONE_HOT_INPUT),
    "RNN": (lambda: States(torch.nn.RNN), ONE_HOT_INPUT),
    "attention": (Attention, np.arange(24).reshape(2, 12) % 7),
}


def export_by_tracing(name, folder):
    """Return a network, and its file from the exporter of PyTorch 2.5 and later."""
    make, x = NETWORKS_AND_INPUTS[name]
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
    """Return a network, its exported file, and an input."""
    make, x = NETWORKS_AND_INPUTS[name]
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
            # Without folding, a batch norm remains a node with weights.
            training=torch.onnx.TrainingMode.PRESERVE,
            do_constant_folding=name != "convolutions",
        )
    path = folder / "net.onnx"
    path.write_bytes(stream.getvalue())
    return net, path, x
