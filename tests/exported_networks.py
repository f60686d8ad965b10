"""Networks of published architectures that are exported in tests."""

from typing import Any

import numpy as np

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F
from seqloom.tensor import apply


class Recurrent(nn.Module):
    """A bidirectional LSTM or GRU over residues that returns its last states."""

    cells: nn.LSTM | nn.GRU
    head: nn.Linear

    def __init__(self, kind: type[nn.LSTM | nn.GRU] = nn.LSTM, layers=1):
        self.cells = kind(4, 6, layers, bidirectional=True)
        self.head = nn.Linear(12, 2)

    def __call__(self, x, mask=None):
        _, last = self.cells(x.permute_dims((0, 2, 1)), mask=mask)
        state = last[0] if isinstance(last, tuple) else last
        return self.head(apply("concat", [state[-2], state[-1]], axis=1))


class ByLengths(Recurrent):
    """A recurrent network that also reads record lengths, and averages all states."""

    def __call__(self, x, lengths=None):
        out, _ = self.cells(x.permute_dims((0, 2, 1)), lengths=lengths)
        return self.head(out.sum(axis=1) / out.shape[-1])


class Dilated(nn.Module):
    """Residual convolutions with doubling dilation, like BPNet."""

    first: nn.Conv1d
    layers: list[nn.Conv1d]
    norms: list[nn.BatchNorm1d]
    head: nn.Linear

    def __init__(self):
        self.first = nn.Conv1d(4, 8, 7, padding="same")
        self.layers = [
            nn.Conv1d(8, 8, 3, padding="same", dilation=2**power) for power in (1, 2, 3)
        ]
        self.norms = [nn.BatchNorm1d(8) for _ in self.layers]
        self.head = nn.Linear(8, 2)

    def __call__(self, x, mask=None):
        x = F.relu(self.first(x))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = x + F.relu(norm(layer(x), mask=mask))
        return self.head(F.masked_mean(x, mask))


class Attention(nn.Module):
    """A transformer over residues with sinusoidal positions and mean pooling."""

    embed: nn.Conv1d
    layers: list[nn.TransformerEncoderLayer]
    head: nn.Linear

    def __init__(self, rotary=None):
        self.embed = nn.Conv1d(4, 8, 1)
        self.layers = [
            nn.TransformerEncoderLayer(8, 2, 16, rotary=rotary) for _ in range(2)
        ]
        self.head = nn.Linear(8, 2)

    def __call__(self, x, mask=None):
        x = self.embed(x).permute_dims((0, 2, 1))
        place = x.backend.arange(x.shape[1], dtype="float32")
        rates = np.array([1, 0.1], "f4")
        angle = sl.tensor.Tensor(place, x.backend)[:, None] * rates
        waves = [sl.tensor.sin(angle), sl.tensor.cos(angle)]
        x = x + apply("concat", [*waves, *waves], axis=-1)
        padding = None if mask is None else mask == 0
        for layer in self.layers:
            x = layer(x, src_key_padding_mask=padding)
        return self.head(F.masked_mean(x.permute_dims((0, 2, 1)), mask))


class Tokens(nn.Module):
    """A network of token embeddings, learned positions, and max pooling."""

    embed: nn.Embedding
    places: nn.Embedding
    head: nn.Linear

    def __init__(self):
        self.embed, self.places = nn.Embedding(12, 6), nn.Embedding(512, 6)
        self.head = nn.Linear(6, 2)

    def __call__(self, tokens, mask=None):
        place = tokens.backend.arange(tokens.shape[1], dtype="int32")
        x = self.embed(tokens) + self.places(sl.tensor.Tensor(place, tokens.backend))
        return self.head(F.masked_max(x.permute_dims((0, 2, 1)), mask))


class Short(Tokens):
    """A network with learned positions for 64 residues, sliced to the input's length."""

    def __call__(self, tokens, mask=None):
        x = self.embed(tokens) + self.places.weight.value[:64][: tokens.shape[1]]
        return self.head(F.masked_max(x.permute_dims((0, 2, 1)), mask))


class Pyramid(nn.Module):
    """A network that halves the length three times and restores it, as in a U-Net."""

    down: list[nn.Conv1d]
    head: nn.Linear

    def __init__(self):
        self.down = [nn.Conv1d(4, 4, 3, padding="same") for _ in range(3)]
        self.head = nn.Linear(4, 2)

    def __call__(self, x):
        seen = []
        for layer in self.down:
            seen.append(x)
            x = F.max_pool1d(F.relu(layer(x)), 2)
        for before in reversed(seen):
            x = apply("repeat", x, 2, axis=2) + before
        return self.head(x.mean(axis=-1))


class Centre(nn.Module):
    """A network that reads the middle of a record, by slices that depend on the length."""

    head: nn.Linear

    def __init__(self):
        self.head = nn.Linear(4 * 11 + 1, 2)

    def __call__(self, x):
        middle = x.shape[2] // 2
        window = x[:, :, middle - 5 : middle + 6]
        flat = window.reshape(x.shape[0], -1)
        rows = x.reshape(x.shape[0] * x.shape[2], 4).sum(axis=1)
        share = rows.reshape(x.shape[0], x.shape[2]).mean(axis=1, keepdims=True)
        return self.head(apply("concat", [flat, share], axis=1))


# Networks for records of any length, and for lengths that can be halved or cropped.
NETWORKS_OF_ANY_LENGTH: dict[str, Any] = {
    "lstm": lambda: Recurrent(nn.LSTM),
    "gru": lambda: Recurrent(nn.GRU),
    "two layers": lambda: Recurrent(nn.LSTM, 2),
    "lengths": ByLengths,
    "dilated": Dilated,
    "attention": Attention,
    "rotary": lambda: Attention(rotary=10_000.0),
}
NETWORKS_OF_SOME_LENGTHS: dict[str, Any] = {"pyramid": Pyramid, "centre": Centre}


def draw_records(lengths, seed=0):
    """Return random DNA sequences of these lengths."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("ACGT"), length)) for length in lengths]


def ready(model: Any, seed=0) -> Any:
    """Return the network with random weights, in evaluation mode."""
    model = model.bind("numpy", sl.Key(seed)).eval()
    rng = np.random.default_rng(seed)
    drawn = {
        path: rng.uniform(-0.5, 0.5, size=each.shape).astype("f4")
        for path, each in model.to_record().items()
        if each.dtype.kind == "f" and not path.endswith("running_var")
    }
    return model.load_record(drawn, strict=False)
