"""The first layer of a network whose records are no one-hot channels yet."""

from seqloom.nn import BatchNorm1d, Embedding, Module
from seqloom.tensor import Tensor, apply


class TokenReader(Module):
    """Gives each token a row of numbers that is learned."""

    embedding: Embedding

    def __init__(self, vocabulary: int, channels: int) -> None:
        self.embedding = Embedding(vocabulary, channels)

    def __call__(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Embeds ``(batch, position)`` as ``(batch, channel, position)``; 0 in padding."""
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
        """Brings ``(batch, number)`` to ``(batch, channel, position)``, zero in padding."""
        is_one = self.norm.num_features == 1
        x = apply("expand_dims", x, axis=1 if is_one else 2)
        return normalise(self.norm, x, mask)


def normalise(norm: BatchNorm1d, x: Tensor, mask: Tensor | None) -> Tensor:
    """Batch norm; by the running averages where a batch is one value for each channel."""
    is_one = x.shape[0] * x.shape[2] == 1
    return norm.by_averages(x, mask) if is_one else norm(x, mask=mask)
