"""The parts of SequenceCNN: readers, blocks, the path for variants of one sequence."""

from typing import ClassVar

from seqloom._key import Key
from seqloom.nn import (
    BatchNorm1d,
    Buffer,
    Conv1d,
    Dropout,
    Embedding,
    Fill,
    Linear,
    MaxPool1d,
    Module,
    Param,
    functional as F,
)
from seqloom.nn._joint import find_joint, mean_jointly
from seqloom.tensor import Tensor, apply


class TokenReader(Module):
    """Gives each token a row of numbers that is learned."""

    embedding: Embedding

    def __init__(self, vocabulary: int, channels: int) -> None:
        self.embedding = Embedding(vocabulary, channels)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Embed ``(batch, position)`` as ``(batch, channel, position)``; 0 in padding."""
        if mask is None:
            return self.embedding(x).permute_dims((0, 2, 1))
        # What stands in padding need not be a row: -1, say.
        tokens = x * apply("astype", mask, "int32")
        rows = self.embedding(tokens).permute_dims((0, 2, 1))
        return rows * apply("expand_dims", mask, axis=1)


class NumberReader(Module):
    """Brings amounts, such as qualities or counts, to mean 0 and deviation 1."""

    norm: BatchNorm1d

    def __init__(self, channels: int) -> None:
        # Probabilities of error vary little; a word that training never counted must not
        # become a huge number.
        self.norm = BatchNorm1d(channels, eps=1e-12 if channels == 1 else 1e-2)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Bring ``(batch, number)`` to ``(batch, channel, position)``, zero in padding."""
        is_one = self.norm.num_features == 1
        x = apply("expand_dims", x, axis=1 if is_one else 2)
        return normalise(self.norm, x, mask)


def normalise(norm: BatchNorm1d, x: Tensor, mask: Tensor | None) -> Tensor:
    """Batch norm; by the running averages where a batch is one value for each channel."""
    is_one = x.shape[0] * x.shape[2] == 1
    return norm.by_averages(x, mask) if is_one else norm(x, mask=mask)


class Block(Module):
    """A convolution, batch normalisation, GELU and, if asked for, pooling."""

    conv: Conv1d
    norm: BatchNorm1d
    pool: MaxPool1d | None

    def __init__(self, before: int, after: int, *, kernel_size: int, pool: int) -> None:
        # The normalisation has a shift of its own, so the convolution needs no bias.
        self.conv = Conv1d(before, after, kernel_size, padding="same", bias=False)
        self.norm = BatchNorm1d(after)
        self.pool = MaxPool1d(pool) if pool > 1 else None

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return the features ``(batch, channel, position)``, zero where the mask is."""
        x = F.gelu(normalise(self.norm, self.conv(x), mask))
        return x if self.pool is None else self.pool(x)


# The numbers that a letter is brought to, alike at all positions: what letters share.
_FEATURES = 16
_DROPOUT = 0.3
# How far a unit of weight goes: an effect that few records show is found in few steps.
_REACH = 3.0
# The share of the newest batch in the mean.
_NEWEST = 0.01


class Aligned(Module):
    """A linear model of the letters at each position, and hidden features beside it."""

    # Where most letters are those of one sequence, a letter that differs is rare. So the
    # mean record is taken off first, and all weights of a position share one scale in the
    # optimiser: with decay this shrinks what few records show, as ridge regression does.
    # The hidden features see letters through an embedding that all positions share. They
    # begin at zero.

    one_scale: ClassVar[tuple[str, ...]] = ("*linear", "*dense.weight")
    mean: "Mean"
    linear: Param
    bias: Param
    letters: Linear
    dense: Linear
    dropout: Dropout
    last: Param

    def __init__(self, channels: int, positions: int, *, hidden: int, outputs: int) -> None:
        self.mean = Mean(channels * positions)
        self.linear = Param((outputs, channels * positions), Fill(0.0))
        self.bias = Param((outputs,), Fill(0.0))
        self.letters = Linear(channels, _FEATURES, bias=False)
        self.dense = Linear(_FEATURES * positions, hidden)
        self.dropout = Dropout(_DROPOUT)
        self.last = Param((outputs, hidden), Fill(0.0))

    def __call__(self, x: Tensor, *, key: Key | None) -> Tensor:
        """Bring ``(batch, channel, position)`` to ``(batch, output)``."""
        records, channels, positions = x.shape
        x = self.mean(x.permute_dims((0, 2, 1)).reshape(records, -1))
        straight = F.linear(x * _REACH, self.linear.value) + self.bias.value
        letters = self.letters(x.reshape(records, positions, channels))
        hidden = F.gelu(self.dense(letters.reshape(records, -1)))
        return straight + F.linear(self.dropout(hidden, key=key), self.last.value)


class Mean(Module):
    """Takes off the mean record of what training has shown."""

    total: Buffer
    seen: Buffer

    def __init__(self, features: int) -> None:
        self.total = Buffer((features,), Fill(0.0))
        self.seen = Buffer((1,), Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Bring ``(batch, feature)`` to the same shape."""
        if self.training:
            joint, rows = find_joint(), x.detach()
            # Several processes share the mean record of their batches.
            newest = rows.mean(axis=0) if joint is None else mean_jointly(joint, rows)
            self.total.assign(self.total.value * (1 - _NEWEST) + newest * _NEWEST)
            self.seen.assign(self.seen.value * (1 - _NEWEST) + _NEWEST)
        # A running mean that began at zero has seen less than all of its weight.
        return x - self.total.value / apply("maximum", self.seen.value, _NEWEST)
