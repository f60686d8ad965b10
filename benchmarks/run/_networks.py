"""Create the five networks with random weights, as trained models."""

from collections.abc import Callable
from typing import Any

import numpy as np

import seqloom as sl
from seqloom import nn
from seqloom.models import Classify, Custom, Trained
from seqloom.nn import functional as F
from seqloom.tensor import Tensor

DNA_ENCODER = sl.encode.OneHot("dna")
BATCH_RECORDS = 256


class LSTMClassifier(nn.Module):
    """A bidirectional LSTM whose states are averaged over the positions."""

    lstm: nn.LSTM
    head: nn.Linear

    def __init__(self) -> None:
        self.lstm = nn.LSTM(4, 64, bidirectional=True)
        self.head = nn.Linear(128, 3)

    def logits(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """Map one-hot bases ``(n, 4, l)`` to outputs ``(n, 3)``."""
        states = self.lstm(x.permute_dims((0, 2, 1)), mask=mask)[0]
        return self.head(F.masked_mean(states.permute_dims((0, 2, 1)), mask))


class DilatedNetwork(nn.Module):
    """Residual convolutions whose dilation doubles (BPNet, Avsec et al. 2021)."""

    first: nn.Conv1d
    blocks: list[nn.Conv1d]
    head: nn.Linear

    def __init__(self) -> None:
        self.first = nn.Conv1d(4, 64, 25, padding="same")
        self.blocks = [
            nn.Conv1d(64, 64, 3, padding="same", dilation=2**step) for step in range(1, 9)
        ]
        self.head = nn.Linear(64, 3)

    def logits(self, x: Tensor) -> Tensor:
        """Map one-hot bases ``(n, 4, l)`` to outputs ``(n, 3)``."""
        x = F.relu(self.first(x))
        for block in self.blocks:
            x = x + F.relu(block(x))
        return self.head(x.mean(axis=2))


class MotifNetwork(nn.Module):
    """Motif detectors with a maximum over positions (DeepBind, Alipanahi et al. 2015)."""

    motifs: nn.Conv1d
    head: nn.Linear

    def __init__(self) -> None:
        self.motifs = nn.Conv1d(4, 16, 24, padding="same")
        self.head = nn.Linear(16, 3)

    def logits(self, x: Tensor) -> Tensor:
        """Map one-hot bases ``(n, 4, l)`` to outputs ``(n, 3)``."""
        return self.head(F.relu(self.motifs(x)).max(axis=2))


class TokenTransformer(nn.Module):
    """A transformer encoder on tokens whose outputs are averaged over the positions."""

    embedding: nn.Embedding
    encoder: nn.TransformerEncoder
    head: nn.Linear

    def __init__(self) -> None:
        self.embedding = nn.Embedding(6, 128)
        layer = nn.TransformerEncoderLayer(
            128, 4, 512, 0.0, "gelu", norm_first=True, rotary=10_000.0
        )
        self.encoder = nn.TransformerEncoder(layer, 3)
        self.head = nn.Linear(128, 3)

    def logits(self, x: Tensor) -> Tensor:
        """Map tokens ``(n, l)`` to outputs ``(n, 3)``."""
        return self.head(self.encoder(self.embedding(x)).mean(axis=1))


def _demo_network(length: int = 60) -> tuple[Any, Any, int]:
    """Return the network that `make demo` trains.

    The network reads windows of 60 bases or of another length.
    """
    config = sl.models.SequenceCNNConfig(
        channels=4,
        outputs=3,
        length=length,
        widths=(32, 32, 32),
        kernel_size=(3, 5, 5),
        pools=(1, 2, 2),
    )
    return config.init("numpy", key=sl.Key(0)), DNA_ENCODER, length


def _genotype_network() -> tuple[Any, Any, int]:
    """Return a perceptron for 10,000 variants."""
    config = sl.models.GenotypeMLPConfig(variants=10_000, outputs=3, hidden=(64, 32))
    return config.init("numpy", key=sl.Key(0)), None, 10_000


def _make_network_of_kind(
    kind: Callable[[], Any], encoder: Any, length: int
) -> tuple[Any, Any, int]:
    """Return the network with a given name."""
    return kind().bind("numpy", sl.Key(0)), encoder, length


READ_LENGTH = 150  # bases per read
NETWORKS: dict[str, Callable[[], tuple[Any, Any, int]]] = {
    "SequenceCNN": _demo_network,
    "GenotypeMLP": _genotype_network,
    "LSTM, 2 directions": lambda: _make_network_of_kind(LSTMClassifier, DNA_ENCODER, 100),
    "dilated residual": lambda: _make_network_of_kind(DilatedNetwork, DNA_ENCODER, 500),
    "transformer": lambda: _make_network_of_kind(
        TokenTransformer, sl.encode.Integer("dna"), 128
    ),
}
NETWORKS_FOR_READS: dict[str, Callable[[], tuple[Any, Any, int]]] = {
    "motif detectors": lambda: _make_network_of_kind(
        MotifNetwork, DNA_ENCODER, READ_LENGTH
    ),
    "SequenceCNN": lambda: _demo_network(READ_LENGTH),
    "dilated residual": lambda: _make_network_of_kind(
        DilatedNetwork, DNA_ENCODER, READ_LENGTH
    ),
}


def make_network(name: str, *, of_reads: bool = False) -> tuple[Trained, int]:
    """Create a network and return it with the length of its inputs."""
    network, encoder, length = (NETWORKS_FOR_READS if of_reads else NETWORKS)[name]()
    task = Classify(("a", "b", "c")) if encoder is not None else Custom()
    _randomise_zeros(network)
    return Trained(network.eval(), encoder, task, BATCH_RECORDS), length


def sample_inputs(name: str, length: int) -> dict[str, Any]:
    """Sample a random batch in the format of the network's encoder."""
    rng = np.random.default_rng(0)
    if name == "GenotypeMLP":
        return {"inputs": rng.normal(size=(BATCH_RECORDS, length)).astype("float32")}
    letters = rng.integers(0, 4, (BATCH_RECORDS, length))
    if name == "transformer":
        return {"inputs": letters.astype("int32")}
    return {
        "inputs": np.ascontiguousarray(np.eye(4, dtype="float32")[letters].swapaxes(1, 2))
    }


def _randomise_zeros(network: Any) -> None:
    """Randomise weights that are initialised to zero, so that outputs differ."""
    rng = np.random.default_rng(1)
    for _, param in network.named(nn.Param):
        values = np.asarray(param.value)
        if not values.any():
            drawn = rng.normal(0, 0.1, values.shape).astype("float32")
            param.assign(drawn)
