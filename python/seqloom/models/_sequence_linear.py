"""A linear model of sequences: one-hot residues at each position, or k-mer counts."""

from dataclasses import dataclass
from typing import Any, Self

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import (
    Examples,
    check_examples,
    check_input_settings,
    count_outputs,
    count_positions,
    find_input_settings,
    require_sizes,
)
from seqloom.nn import Config, Fill, Module, Param, functional as F
from seqloom.tensor import Tensor, apply

# Maximum number of k-mers for the default k.
_MAX_KMERS = 512
_MAX_FEATURES = 1 << 24


@dataclass(frozen=True)
class SequenceLinearConfig(Config):
    """Settings of a `SequenceLinear`.

    Args:
        channels: Number of channels of each position: the width of the one-hot encoder.
        outputs: Number of outputs for each record: the number of classes or labels.
        length: Length of all sequences, for a weight for each residue at each position;
            None for counts of k-mers.
        k: Length of the k-mers; None for residues at positions. Exactly one of ``length``
            and ``k`` must be given.

    Raises:
        ArgumentError: A number is below 1, or both or none of ``length`` and ``k`` are
            given.

    Examples:
        >>> SequenceLinearConfig(channels=4, outputs=1, k=3).features
        65
    """

    channels: int
    outputs: int
    length: int | None = None
    k: int | None = None

    def __post_init__(self) -> None:
        convert_fields(self)
        if (self.length is None) == (self.k is None):
            raise ArgumentError(
                "give either length (weights for each position) or k (weights for each "
                f"k-mer), got length={self.length} and k={self.k}"
            )
        sizes = {"channels": self.channels, "outputs": self.outputs}
        sizes |= {} if self.k is None else {"k": self.k}
        sizes |= {} if self.length is None else {"length": self.length}
        require_sizes(self, sizes)
        if self.features > _MAX_FEATURES:
            raise ArgumentError(
                f"the features are limited to {_MAX_FEATURES:,}, got k={self.k} and length="
                f"{self.length} for {self.channels} channels"
            )

    @property
    def features(self) -> int:
        """Number of features of each record: k-mers and the length, or residues."""
        if self.k is not None:
            return self.channels**self.k + 1
        return self.channels * (self.length or 0)

    @classmethod
    def for_data(cls, train: Examples, *, k: int | None = None) -> Self:
        """Choose settings for a training set.

        Args:
            train: One-hot sequences with labels.
            k: Length of the k-mers. If None, sequences of equal length have weights for
                each position, and other sequences have the largest k with at most 512
                k-mers.

        Returns:
            Settings that fit the encoder, labels and lengths.

        Raises:
            ArgumentError: The training set has no labels, or its encoder is not one-hot.

        Examples:
            >>> import seqloom as sl
            >>> encoder, labels = sl.encode.OneHot("dna"), {"a": "yes", "b": "no"}
            >>> data = sl.data.SequenceDataset(
            ...     {"a": "ACGT", "b": "AC"}, labels=labels, encoder=encoder
            ... )
            >>> SequenceLinearConfig.for_data(data).k
            4
        """
        check_examples("train", train)
        reading = find_input_settings(train.encoder)
        if reading["inputs"] != "channels":
            raise ArgumentError(
                f"SequenceLinear reads one-hot sequences, not the output of {train.encoder}"
            )
        channels, outputs = reading["channels"], count_outputs(train)
        lengths = count_positions(train)
        if k is None and len(lengths) and (lengths == lengths[0]).all():
            return cls(channels, outputs, length=int(lengths[0]))
        return cls(channels, outputs, k=choose_k(channels) if k is None else k)

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder is not one-hot.

        Examples:
            >>> import seqloom as sl
            >>> config = SequenceLinearConfig(channels=4, outputs=3, k=2)
            >>> config.check_encoder(sl.encode.OneHot("dna"))
        """
        check_input_settings(encoder, "channels", None)

    def build(self) -> "SequenceLinear":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = SequenceLinearConfig(channels=4, outputs=3, k=2)
            >>> config.build().config == config
            True
        """
        return SequenceLinear(self)


class SequenceLinear(Module):
    """Linear model of one-hot residues or of k-mer frequencies, initialised to zero.

    With k-mers, the features are the frequencies of all k-mers and the logarithm of the
    number of residues plus 1. Each frequency is multiplied by the number of different
    k-mers. If the encoder encodes ambiguous residues as fractions, the k-mers have
    fractional counts. ``fit("auto")`` fits such models directly instead of by steps.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = SequenceLinearConfig(channels=4, outputs=3, k=2).init("numpy")
        >>> model.logits(model.backend.tensor(np.zeros((2, 4, 30), np.float32))).shape
        (2, 3)
    """

    config: SequenceLinearConfig
    weight: Param
    bias: Param

    def __init__(self, config: SequenceLinearConfig) -> None:
        self.config = config
        self.weight = Param((config.outputs, config.features), Fill(0.0))
        self.bias = Param((config.outputs,), Fill(0.0))

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute the outputs before softmax or sigmoid.

        Args:
            x: One-hot sequences ``(batch, channel, position)``, zero after their ends.
            mask: Not used, because positions after the end of a sequence are zero.
            key: Not used, because the model has no dropout.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: The number of channels or the length differs from the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = SequenceLinearConfig(channels=4, outputs=3, length=30).init("numpy")
            >>> model.logits(model.backend.tensor(np.zeros((2, 4, 30), np.float32))).shape
            (2, 3)
        """
        del mask, key
        config = self.config
        length = config.length if config.length is not None else x.shape[-1]
        if x.shape[1:] != (config.channels, length):
            wanted = "any length" if config.length is None else f"length {config.length}"
            raise ShapeError(
                f"this model reads one-hot sequences of {wanted}, as arrays (batch, "
                f"{config.channels}, position), got {x.shape}; encode with the encoder of "
                "its training set"
            )
        if config.k is None:
            features = x.reshape(x.shape[0], -1)
        else:
            features = _measure_kmers(x, config.k)
        return F.linear(features, self.weight.value, self.bias.value)


def choose_k(letters: int) -> int:
    """Return the largest k with at most 512 different k-mers of an alphabet, or 1."""
    k = 1
    while letters ** (k + 1) <= _MAX_KMERS:
        k += 1
    return k


def _measure_kmers(x: Tensor, k: int) -> Tensor:
    """Return scaled k-mer frequencies and the log length, ``(batch, feature)``."""
    records, channels, _ = x.shape
    counts = _count_kmers(x, k)
    total = apply("maximum", counts.sum(axis=1, keepdims=True), 1.0)
    length = apply("log", x.reshape(records, -1).sum(axis=1, keepdims=True) + 1.0)
    return apply("concat", [counts / total * float(channels**k), length], axis=1)


def _count_kmers(x: Tensor, k: int) -> Tensor:
    """Count k-mers in the order of their residues, ``(batch, k-mer)``."""
    records, channels, length = x.shape
    if k == 1:
        return x.sum(axis=2)
    # The count of the k-mer uv is the sum over all positions of the product of two
    # indicators: u starts at the position, and v starts where u ends. For all u and v
    # together, the sums are one matrix product. Zeros after the end allow sequences that
    # are shorter than k.
    half = k // 2
    x = F.pad(x, (0, k - 1))
    first = _find_kmers(x, half)[:, :, :length]
    second = _find_kmers(x, k - half)[:, :, half : half + length]
    return (first @ second.permute_dims((0, 2, 1))).reshape(records, channels**k)


def _find_kmers(x: Tensor, k: int) -> Tensor:
    """Return indicators of the k-mer at each position, ``(batch, k-mer, position)``."""
    records, channels, length = x.shape
    found = x
    for size in range(2, k + 1):
        starts = length - size + 1
        shape = (records, channels**size, starts)
        before = apply("expand_dims", found[:, :, :starts], axis=2)
        found = (before * apply("expand_dims", x[:, :, size - 1 :], axis=1)).reshape(shape)
    return found
