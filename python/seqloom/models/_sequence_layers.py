"""Components of SequenceCNN: input layers, convolution blocks, the aligned branch."""

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
from seqloom.nn._processes import find_batch_processes, mean_over_processes
from seqloom.tensor import Tensor, apply


class TokenInput(Module):
    """Learned embedding of token ids."""

    embedding: Embedding

    def __init__(self, vocabulary: int, channels: int) -> None:
        self.embedding = Embedding(vocabulary, channels)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Embed ``(batch, position)`` as ``(batch, channel, position)``; 0 at padding."""
        if mask is None:
            return self.embedding(x).permute_dims((0, 2, 1))
        # Padding may contain invalid ids such as -1.
        tokens = x * apply("astype", mask, "int32")
        rows = self.embedding(tokens).permute_dims((0, 2, 1))
        return rows * apply("expand_dims", mask, axis=1)


class NumberInput(Module):
    """Normalisation of qualities or counts to mean 0 and standard deviation 1."""

    norm: BatchNorm1d

    def __init__(self, channels: int) -> None:
        # Error probabilities vary little, so eps must be tiny. A k-mer that is absent
        # from training must not become a huge number, so eps must be larger for counts.
        self.norm = BatchNorm1d(channels, eps=1e-12 if channels == 1 else 1e-2)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Map ``(batch, number)`` to ``(batch, channel, position)``; 0 at padding."""
        is_one = self.norm.num_features == 1
        x = apply("expand_dims", x, axis=1 if is_one else 2)
        return apply_batch_norm(self.norm, x, mask)


def apply_batch_norm(norm: BatchNorm1d, x: Tensor, mask: Tensor | None) -> Tensor:
    """Apply batch norm; use running averages if a channel has only one value."""
    is_one = x.shape[0] * x.shape[2] == 1
    return norm.by_averages(x, mask) if is_one else norm(x, mask=mask)


class Block(Module):
    """Convolution, batch norm, GELU and optional pooling."""

    conv: Conv1d
    norm: BatchNorm1d
    pool: MaxPool1d | None

    def __init__(self, before: int, after: int, *, kernel_size: int, pool: int) -> None:
        # The batch norm has a bias, so the convolution does not need a bias.
        self.conv = Conv1d(before, after, kernel_size, padding="same", bias=False)
        self.norm = BatchNorm1d(after)
        self.pool = MaxPool1d(pool) if pool > 1 else None

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Return features ``(batch, channel, position)``, 0 where the mask is 0."""
        x = F.gelu(apply_batch_norm(self.norm, self.conv(x), mask))
        return x if self.pool is None else self.pool(x)


# Width of the embedding of residues, which all positions share.
_RESIDUE_FEATURES = 16
_DROPOUT = 0.3
# Factor of the linear weights, so that effects seen in few records are learned in few
# steps.
_LINEAR_SCALE = 3.0
# Weight of the current batch in the running mean.
_MOMENTUM = 0.01


class Aligned(Module):
    """Linear model and hidden layer on the residues at each position."""

    # Because variants of one sequence differ in few residues, the mean record is
    # subtracted from the input. In the optimiser, all weights share one average of the
    # squared gradient. With weight decay, effects seen in few records shrink, as in
    # ridge regression. The hidden layer reads residues through an embedding that all
    # positions share. The output weights of the linear model and of the hidden layer
    # are initialised to zero.

    one_scale: ClassVar[tuple[str, ...]] = ("*linear", "*dense.weight")
    mean: "MeanSubtraction"
    linear: Param
    bias: Param
    letters: Linear
    dense: Linear
    dropout: Dropout
    last: Param

    def __init__(self, channels: int, positions: int, *, hidden: int, outputs: int) -> None:
        self.mean = MeanSubtraction(channels * positions)
        self.linear = Param((outputs, channels * positions), Fill(0.0))
        self.bias = Param((outputs,), Fill(0.0))
        self.letters = Linear(channels, _RESIDUE_FEATURES, bias=False)
        self.dense = Linear(_RESIDUE_FEATURES * positions, hidden)
        self.dropout = Dropout(_DROPOUT)
        self.last = Param((outputs, hidden), Fill(0.0))

    def __call__(self, x: Tensor, *, key: Key | None) -> Tensor:
        """Map ``(batch, channel, position)`` to ``(batch, output)``."""
        records, channels, positions = x.shape
        x = self.mean(x.permute_dims((0, 2, 1)).reshape(records, -1))
        straight = F.linear(x * _LINEAR_SCALE, self.linear.value) + self.bias.value
        letters = self.letters(x.reshape(records, positions, channels))
        hidden = F.gelu(self.dense(letters.reshape(records, -1)))
        return straight + F.linear(self.dropout(hidden, key=key), self.last.value)


class MeanSubtraction(Module):
    """Layer that subtracts the running mean of the training records."""

    total: Buffer
    seen: Buffer

    def __init__(self, features: int) -> None:
        self.total = Buffer((features,), Fill(0.0))
        self.seen = Buffer((1,), Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Subtract the mean from ``(batch, feature)``."""
        if self.training:
            processes, rows = find_batch_processes(), x.detach()
            # If training uses several processes, take the mean over the batches of all
            # processes.
            newest = (
                rows.mean(axis=0)
                if processes is None
                else mean_over_processes(processes, rows)
            )
            self.total.assign(self.total.value * (1 - _MOMENTUM) + newest * _MOMENTUM)
            self.seen.assign(self.seen.value * (1 - _MOMENTUM) + _MOMENTUM)
        # Bias correction: the running mean starts at zero.
        return x - self.total.value / apply("maximum", self.seen.value, _MOMENTUM)
