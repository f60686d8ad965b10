"""Networks as seqloom modules, with the parameter paths of `_networks`."""

from typing import Any

from benchmarks.tensor._networks import (
    CHANNELS,
    CLASSES,
    DEEPSEA_OUTPUTS,
    DILATED_LAYERS,
    FEED,
    HEADS,
    LAYERS,
    LETTERS,
    PROFILE_KERNEL,
    WIDTH,
    middle_positions,
)
from seqloom import Key, nn
from seqloom.models import SequenceCNN, SequenceCNNConfig
from seqloom.nn import functional as F
from seqloom.tensor import Tensor, apply


class MLP(nn.Module):
    """Multilayer perceptron with 784, 512, 512 and 10 units, and ReLU."""

    first: nn.Linear
    second: nn.Linear
    third: nn.Linear
    dropout: nn.Dropout

    def __init__(self, rate: float, length: int) -> None:
        self.first, self.second = nn.Linear(length, 512), nn.Linear(512, 512)
        self.third, self.dropout = nn.Linear(512, CLASSES), nn.Dropout(rate)

    def loss(self, batch: Any, key: Key) -> Tensor:
        """Return the cross entropy of a batch."""
        x = self.dropout(F.relu(self.first(batch["x"])), key=key.fold(1))
        x = self.dropout(F.relu(self.second(x)), key=key.fold(2))
        return F.cross_entropy(self.third(x), batch["label"])


class SpliceCNN(SequenceCNN):
    """The convolutional network that ``seqloom demo`` trains."""

    def __init__(self, rate: float, length: int) -> None:
        super().__init__(
            SequenceCNNConfig(
                channels=4,
                outputs=3,
                length=length,
                kernel_size=(3, 5, 5),
                pools=(1, 2, 2),
                dropout=rate,
            )
        )

    def loss(self, batch: Any, key: Key) -> Tensor:
        """Return the cross entropy of a batch."""
        return F.cross_entropy(self.logits(batch["x"], key=key), batch["label"])


class DeepSEA(nn.Module):
    """DeepSEA: three convolutions and two linear layers (Zhou and Troyanskaya 2015)."""

    first: nn.Conv1d
    second: nn.Conv1d
    third: nn.Conv1d
    hidden: nn.Linear
    head: nn.Linear
    pool: nn.MaxPool1d
    dropout: nn.Dropout

    def __init__(self, rate: float, length: int) -> None:
        places = ((length - 7) // 4 - 7) // 4 - 7
        self.first, self.second = nn.Conv1d(4, 320, 8), nn.Conv1d(320, 480, 8)
        self.third, self.hidden = nn.Conv1d(480, 960, 8), nn.Linear(960 * places, 925)
        self.head = nn.Linear(925, DEEPSEA_OUTPUTS)
        self.pool, self.dropout = nn.MaxPool1d(4), nn.Dropout(rate)

    def loss(self, batch: Any, key: Key) -> Tensor:
        """Return the binary cross entropy of a batch."""
        x = self.dropout(self.pool(F.relu(self.first(batch["x"]))), key=key.fold(1))
        x = self.dropout(self.pool(F.relu(self.second(x))), key=key.fold(2))
        x = self.dropout(F.relu(self.third(x)), key=key.fold(3))
        x = F.relu(self.hidden(x.reshape(x.shape[0], -1)))
        return F.binary_cross_entropy_with_logits(self.head(x), batch["label"])


class LayerNormalisation(nn.Module):
    """Layer normalisation over the last axis (Ba et al. 2016)."""

    weight: nn.Param
    bias: nn.Param

    def __init__(self, width: int) -> None:
        self.weight = nn.Param((width,), nn.Fill(1.0))
        self.bias = nn.Param((width,), nn.Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Normalise the last axis."""
        return F.layer_norm(x, x.shape[-1:], self.weight.value, self.bias.value)


class TransformerBlock(nn.Module):
    """Transformer block: attention, then two linear layers, with pre-normalisation."""

    norm1: LayerNormalisation
    norm2: LayerNormalisation
    attend: nn.Linear
    mix: nn.Linear
    up: nn.Linear
    down: nn.Linear
    dropout: nn.Dropout

    def __init__(self, rate: float) -> None:
        self.norm1, self.norm2 = LayerNormalisation(WIDTH), LayerNormalisation(WIDTH)
        self.attend, self.mix = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, FEED), nn.Linear(FEED, WIDTH)
        self.dropout = nn.Dropout(rate)

    def __call__(self, x: Tensor, key: Key) -> Tensor:
        """Apply the block to an array ``(row, position, width)``."""
        seen = self.mix(self._attention(self.norm1(x), key.fold(1)))
        x = x + self.dropout(seen, key=key.fold(2))
        fed = self.down(F.gelu(self.up(self.norm2(x))))
        return x + self.dropout(fed, key=key.fold(3))

    def _attention(self, x: Tensor, key: Key) -> Tensor:
        rows, places, width = x.shape
        parts = self.attend(x).reshape(rows, places, 3, HEADS, -1)
        q, k, v = apply("unstack", apply("permute_dims", parts, (2, 0, 3, 1, 4)))
        seen = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout.p, rng=key)
        return apply("permute_dims", seen, (0, 2, 1, 3)).reshape(rows, places, width)


class TransformerEncoder(nn.Module):
    """Transformer with learned embeddings of residues and positions."""

    letters: nn.Param
    places: nn.Param
    blocks: list[TransformerBlock]
    norm: LayerNormalisation
    head: nn.Linear
    dropout: nn.Dropout

    def __init__(self, rate: float, length: int) -> None:
        self.letters = nn.Param((LETTERS, WIDTH), nn.Fill(0.0))
        self.places = nn.Param((length, WIDTH), nn.Fill(0.0))
        self.blocks = [TransformerBlock(rate) for _ in range(LAYERS)]
        self.norm, self.head = LayerNormalisation(WIDTH), nn.Linear(WIDTH, LETTERS)
        self.dropout = nn.Dropout(rate)

    def loss(self, batch: Any, key: Key) -> Tensor:
        """Return the cross entropy of the residues of a batch."""
        x = F.embedding(batch["x"], self.letters.value) + self.places.value
        x = self.dropout(x, key=key.fold(LAYERS))
        for number, block in enumerate(self.blocks):
            x = block(x, key.fold(number))
        logits = self.head(self.norm(x)).reshape(-1, LETTERS)
        return F.cross_entropy(logits, batch["label"].reshape(-1))


class DilatedNetwork(nn.Module):
    """Dilated residual layers that predict a profile and a count (Avsec et al. 2021)."""

    first: nn.Conv1d
    layers: list[nn.Conv1d]
    profile: nn.Conv1d
    count: nn.Linear

    def __init__(self, rate: float, length: int) -> None:
        del rate, length  # the network has no dropout and accepts any length
        self.first = nn.Conv1d(4, CHANNELS, 21, padding="same")
        self.layers = [
            nn.Conv1d(CHANNELS, CHANNELS, 3, padding="same", dilation=2**number)
            for number in range(1, DILATED_LAYERS + 1)
        ]
        self.profile = nn.Conv1d(CHANNELS, 1, PROFILE_KERNEL, padding="same")
        self.count = nn.Linear(CHANNELS, 1)

    def loss(self, batch: Any, key: Key) -> Tensor:
        """Return the sum of the profile's cross entropy and the count's squared error."""
        del key
        x = F.relu(self.first(batch["x"]))
        for layer in self.layers:
            x = x + F.relu(layer(x))
        profile = self.profile(x)[:, 0, middle_positions(x.shape[-1])]
        by_position = (batch["profile"] * F.log_softmax(profile)).sum(axis=-1)
        error = self.count(x.mean(axis=-1)) - batch["count"]
        return (error * error).mean() - by_position.mean()


MODULE_OF_NETWORK: dict[str, Any] = {
    "MLP": MLP,
    "SequenceCNN": SpliceCNN,
    "DeepSEA": DeepSEA,
    "encoder": TransformerEncoder,
    "dilated": DilatedNetwork,
}
