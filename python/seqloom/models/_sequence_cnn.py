"""A convolutional network over encoded sequences of fixed or variable length."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np

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
    for_counts,
    for_windows,
    require_probability,
    require_sizes,
)
from seqloom.models._sequence_layers import Aligned, Block, NumberInput, TokenInput
from seqloom.nn import Config, Dropout, Linear, Module, functional as F
from seqloom.tensor import Tensor, apply

# Epochs of a network with an aligned branch. With a small weight decay, the validation
# loss still falls after 60 epochs.
_ALIGNED_EPOCHS = 100
# Number of channels of one-hot DNA.
_BASES = 4


@dataclass(frozen=True)
class SequenceCNNConfig(Config):
    """Settings of a `SequenceCNN`.

    Args:
        channels: Number of channels of each position: the encoder's width; for tokens,
            the width of the embedding; for counts, the number of k-mers.
        outputs: Number of outputs for each record: the number of classes or labels.
        length: Fixed length of all sequences; the head has weights for each position.
            If None, sequences may have any length, and the head reads the mean and
            maximum of each feature.
        widths: Number of features of each convolution.
        kernel_size: Kernel size, an odd number: one for all convolutions, or one for
            each.
        pools: Pooling factor after each convolution; 1 for no pooling. Pooling requires
            `length`; default: no pooling.
        dropout: Dropout probability of each feature before the head in training.
        inputs: Form of a record: ``"channels"`` (channel, position), one-hot residues;
            ``"tokens"`` (position), integers below ``vocabulary``; ``"numbers"``
            (position), such as qualities; or ``"counts"`` (k-mer). The network learns an
            embedding of tokens. Counts have no positions, so each layer reads all counts.
        vocabulary: Number of different tokens.
        aligned: Number of hidden features of the aligned branch; 0 for no branch. The
            branch has weights for each residue at each position, and includes a linear
            model. The aligned branch suits variants of one sequence, requires `length`,
            and allows empty ``widths``.
        both_strands: If True, the outputs are the means over both strands of DNA: over
            each sequence and its reverse complement. In training, the network reads a
            random strand of each sequence. The four channels must be in the order A, C,
            G, T or T, G, C, A.
        weight_decay: Weight decay that `fit` uses if the user sets none; None for the
            default of `fit`.

    Raises:
        ArgumentError: A setting is out of range, or settings are inconsistent.

    Examples:
        >>> import seqloom as sl
        >>> config = SequenceCNNConfig(channels=4, outputs=3, widths=(8,))
        >>> config.init("numpy").number_of_parameters
        355
    """

    channels: int
    outputs: int
    length: int | None = None
    widths: tuple[int, ...] = (32, 32, 32)
    kernel_size: int | tuple[int, ...] = 9
    pools: tuple[int, ...] = ()
    dropout: float = 0.1
    inputs: Literal["channels", "tokens", "numbers", "counts"] = "channels"
    vocabulary: int | None = None
    aligned: int = 0
    both_strands: bool = False
    weight_decay: float | None = None
    version: ClassVar[int] = 2

    def __post_init__(self) -> None:
        convert_fields(self)
        sizes = {"channels": self.channels, "outputs": self.outputs}
        sizes["widths"] = min(self.widths, default=self.aligned)
        sizes["pools"] = min(self.pools, default=1)
        sizes["length"] = 1 if self.length is None else self.places
        require_sizes(self, sizes)
        if any(size < 1 or size % 2 != 1 for size in self.kernel_sizes):
            raise ArgumentError(f"kernel_size must be odd, got {self.kernel_size}")
        require_probability(self.dropout)
        if self.pools and self.length is None:
            raise ArgumentError(
                "pools needs length=: without a length the whole sequence is pooled at once"
            )
        if {len(self.kernel_sizes), len(self.pools or self.widths)} != {len(self.widths)}:
            raise ArgumentError(
                "kernel_size and pools must have one number for each of widths"
            )
        self._check_inputs()
        if self.weight_decay is not None and not self.weight_decay >= 0:
            raise ArgumentError(f"weight_decay must be 0 or more, got {self.weight_decay}")

    def _check_inputs(self) -> None:
        """Raise if the settings of inputs are inconsistent."""
        if (self.inputs == "tokens") != (self.vocabulary is not None):
            raise ArgumentError(
                "inputs='tokens' needs vocabulary, the number of different tokens; for "
                f"other inputs omit vocabulary; got {self.inputs!r} and {self.vocabulary}"
            )
        if self.vocabulary is not None and self.vocabulary < 1:
            raise ArgumentError(f"vocabulary must be 1 or more, got {self.vocabulary}")
        if self.inputs == "numbers" and self.channels != 1:
            raise ArgumentError(f"inputs='numbers' needs channels=1, got {self.channels}")
        if self.inputs == "counts" and self.length != 1:
            raise ArgumentError(f"inputs='counts' needs length=1, got {self.length}")
        if self.aligned < 0 or (self.aligned and self.length is None):
            raise ArgumentError(
                "aligned must be 0 or more, and needs length=, because the branch has "
                f"weights for each position; got {self.aligned} and {self.length}"
            )
        if self.both_strands and self.aligned:
            raise ArgumentError(
                "both_strands and aligned exclude each other, because the reverse "
                "complement of an aligned sequence is not aligned"
            )
        if self.both_strands and (self.inputs, self.channels) != ("channels", _BASES):
            raise ArgumentError(
                "both_strands needs one-hot DNA (inputs='channels', channels=4), got "
                f"{self.inputs!r} and {self.channels}"
            )

    def spell_any_length(self) -> str:
        """Return the settings of a network for the same records, but of any length.

        Returns:
            A string of Python code that creates the settings.

        Examples:
            >>> SequenceCNNConfig(channels=4, outputs=3, length=30).spell_any_length()
            'SequenceCNNConfig(channels=4, outputs=3)'
        """
        given = {"channels": self.channels, "outputs": self.outputs}
        if self.inputs != "channels":
            given |= {"inputs": self.inputs}
        if self.vocabulary is not None:
            given |= {"vocabulary": self.vocabulary}
        words = (f"{name}={value!r}" for name, value in given.items())
        return f"{type(self).__name__}({', '.join(words)})"

    @property
    def kernel_sizes(self) -> tuple[int, ...]:
        """Kernel size of each convolution."""
        if isinstance(self.kernel_size, int):
            return (self.kernel_size,) * len(self.widths)
        return self.kernel_size

    @property
    def places(self) -> int:
        """Number of positions after the last convolution, for a fixed length."""
        left = self.length or 0
        for pool in self.pools:
            left //= max(pool, 1)
        return left

    @classmethod
    def for_data(cls, train: Examples, *others: Examples | None) -> Self:
        """Choose settings for a training set.

        For sequences of equal length, the head has weights for each position; the
        settings were chosen by cross-validation on splice junctions. If most residues agree
        between sequences, as in a mutational scan, the network has weights for each
        residue at each position instead (``aligned``). The network learns an embedding
        of tokens. The function reads some records to choose the settings.

        Args:
            train: Encoded sequences with labels.
            others: Other datasets that the network should read, such as the validation
                and test set: if their lengths differ, the network accepts any length.

        Returns:
            Settings that fit the encoder, labels and lengths.

        Raises:
            ArgumentError: The training set has no encoder or no labels.

        Examples:
            >>> from pathlib import Path
            >>> import seqloom as sl
            >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nACGA\\n")
            >>> _ = Path("a.tsv").write_text("id\\tlabel\\na\\tyes\\nb\\tno\\n")
            >>> data = sl.data.SequenceDataset(
            ...     "a.fa", labels="a.tsv", encoder=sl.encode.OneHot("dna")
            ... )
            >>> config = SequenceCNNConfig.for_data(data)
            >>> config.channels, config.outputs, config.length
            (4, 2, 4)
        """
        # Callers often pass None in for_data(train, None) if there is no other dataset.
        parts = [part for part in (train, *others) if part is not None]
        for part in parts or [train]:
            check_examples("train" if part is train else "others", part)
        if train.encoder is None:
            raise ArgumentError(
                'the dataset has no encoder; open it with encoder=OneHot("dna")'
            )
        reading = find_input_settings(train.encoder)
        outputs = count_outputs(train)
        if reading["inputs"] == "counts":
            return cls(outputs=outputs, **reading, **for_counts())
        lengths = np.unique(np.concatenate([count_positions(part) for part in parts]))
        config = cls(outputs=outputs, **reading)
        if len(lengths) != 1:
            return config
        return replace(config, **for_windows(int(lengths[0]), train, inputs=config.inputs))

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder's records do not have the form or the vocabulary
                of the settings.

        Examples:
            >>> import seqloom as sl
            >>> config = SequenceCNNConfig(channels=4, outputs=3)
            >>> config.check_encoder(sl.encode.OneHot("dna"))
        """
        check_input_settings(encoder, self.inputs, self.vocabulary)
        letters = getattr(encoder, "alphabet", "dna")
        if self.both_strands and letters not in {"dna", "rna", "ACGT", "TGCA"}:
            raise ArgumentError(
                "both_strands needs an encoder of DNA with the channels A, C, G, T, got "
                f"{encoder}"
            )

    def build(self) -> "SequenceCNN":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = SequenceCNNConfig(channels=4, outputs=3)
            >>> config.build().config == config
            True
        """
        return SequenceCNN(self)


class SequenceCNN(Module):
    """Convolutional network with batch norm and a linear head.

    Positions after the end of a sequence are zero in every layer, and excluded from means
    and maxima. The score of a record therefore does not depend on the other records of
    its batch.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = SequenceCNNConfig(channels=4, outputs=3).init("numpy").eval()
        >>> x = model.backend.tensor(np.zeros((2, 4, 30), np.float32))
        >>> model.logits(x).shape
        (2, 3)
    """

    config: SequenceCNNConfig
    reader: TokenInput | NumberInput | None
    aligned: Aligned | None
    blocks: list["Block"]
    dropout: Dropout
    head: Linear | None

    def __init__(self, config: SequenceCNNConfig) -> None:
        self.config, self.reader, self.aligned = config, None, None
        if config.vocabulary is not None:
            self.reader = TokenInput(config.vocabulary, config.channels)
        elif config.inputs != "channels":
            self.reader = NumberInput(config.channels)
        if config.aligned and config.length is not None:
            sizes = {"hidden": config.aligned, "outputs": config.outputs}
            self.aligned = Aligned(config.channels, config.length, **sizes)
        befores = (config.channels, *config.widths)[: len(config.widths)]
        pools = config.pools or (1,) * len(config.widths)
        layers = zip(befores, config.widths, config.kernel_sizes, pools, strict=True)
        self.blocks = [
            Block(before, after, kernel_size=size, pool=pool)
            for before, after, size, pool in layers
        ]
        self.dropout = Dropout(config.dropout)
        places = 2 if config.length is None else config.places
        self.head = (
            Linear(places * config.widths[-1], config.outputs) if config.widths else None
        )

    @property
    def one_scale(self) -> tuple[str, ...]:
        """Path patterns of parameters that share one average of the squared gradient."""
        return () if self.aligned is None else self.aligned.one_scale

    @property
    def epochs(self) -> int | None:
        """Number of epochs that `fit` uses by default; None for the general default."""
        return None if self.aligned is None else _ALIGNED_EPOCHS

    @property
    def weight_decay(self) -> float | None:
        """Weight decay that `fit` uses by default; None for the general default."""
        return self.config.weight_decay

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute the outputs before softmax or sigmoid.

        Args:
            x: Encoded sequences ``(batch, channel, position)``, zero after their ends;
                ``(batch, position)`` for tokens and numbers, ``(batch, k-mer)`` for
                counts.
            mask: Mask ``(batch, position)``, 1 at real positions and 0 at padding; all
                1 by default.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: The number of channels or the length differs from the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = SequenceCNNConfig(channels=4, outputs=3, length=30).init("numpy")
            >>> model.eval().logits(
            ...     model.backend.tensor(np.zeros((2, 4, 30), np.float32))
            ... ).shape
            (2, 3)
        """
        mask = _check(self.config, x, mask)
        if not self.config.both_strands:
            return self._read(x, mask, key=key)
        # In the order A, C, G, T, the complement of each base has the opposite number.
        other = apply("flip", x, axis=(1, 2))
        other_mask = None if mask is None else apply("flip", mask, axis=1)
        if not self.training:
            return (self._read(x, mask) + self._read(other, other_mask)) / 2
        is_first = F.dropout(x[:, :1, :1] * 0.0 + 1.0, 0.5, key) / 2
        x = x * is_first + other * (1.0 - is_first)
        if mask is not None and other_mask is not None:
            mask = mask * is_first[:, 0] + other_mask * (1.0 - is_first[:, 0])
        return self._read(x, mask, key=None if key is None else key.fold("strand"))

    def _read(self, x: Tensor, mask: Tensor | None, *, key: Key | None = None) -> Tensor:
        """Return the outputs for one strand of each sequence."""
        if self.reader is not None:
            x = self.reader(x, mask)
        if self.aligned is None:
            return self._convolve(x, mask, key=key)
        out = self.aligned(x, key=key)
        return out if self.head is None else out + self._convolve(x, mask, key=key)

    def _convolve(self, x: Tensor, mask: Tensor | None, *, key: Key | None) -> Tensor:
        """Return the outputs of the convolutions and the head."""
        for block in self.blocks:
            x = block(x, mask)  # shape (batch, channel, position)
        if self.config.length is not None:
            features = x.reshape(x.shape[0], -1)  # shape (batch, channel * position)
        else:
            summary = [F.masked_mean(x, mask), F.masked_max(x, mask)]
            features = apply("concat", summary, axis=1)
        return cast("Linear", self.head)(self.dropout(features, key=key))


def _check(config: SequenceCNNConfig, x: Tensor, mask: Tensor | None) -> Tensor | None:
    """Raise if inputs do not fit the settings; return the mask if it is needed."""
    channels, length = _read_shape(config, x)
    if channels != config.channels:
        raise ShapeError(
            f"this model reads {config.channels} channels, got {channels}; "
            "encode with the encoder of its training set"
        )
    if config.length is None:
        return mask
    is_padded = mask is not None and not mask.numpy().all()
    if length != config.length or is_padded:
        found = "shorter ones" if is_padded else str(length)
        raise ShapeError(
            f"this model reads sequences of {config.length} residues, got {found}; "
            f"for any length, train a model with {config.spell_any_length()}"
        )
    return None


def _read_shape(config: SequenceCNNConfig, x: Tensor) -> tuple[int, int]:
    """Return the numbers of channels and positions of inputs."""
    axes = 3 if config.inputs == "channels" else 2
    if x.ndim != axes:
        raise ShapeError(
            f"this model reads {config.inputs}, arrays of {axes} axes, got {x.shape}; "
            "encode with the encoder of its training set"
        )
    if config.inputs == "channels":
        return x.shape[1], x.shape[2]
    if config.inputs == "counts":
        return x.shape[1], 1
    return config.channels, x.shape[1]
