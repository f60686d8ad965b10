"""Head: a small network that predicts labels from features such as embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from seqloom._config import convert_fields
from seqloom.data import EmbeddingEncoder
from seqloom.data._encoder import encoder_input_type
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import (
    Examples,
    check_examples,
    count_outputs,
    require_positive,
    require_probability,
)
from seqloom.nn import (
    BatchNorm1d,
    Config,
    Dropout,
    Linear,
    Module,
    Sequential,
    functional as F,
)

if TYPE_CHECKING:
    from seqloom._key import Key
    from seqloom.tensor import Tensor


@dataclass(frozen=True)
class HeadConfig(Config):
    """Settings of a `Head`.

    Args:
        inputs: Number of features of each record.
        outputs: Number of outputs for each record: the number of classes or labels.
        hidden: Number of features of each hidden layer; empty for a linear model.
        dropout: Dropout probability of each feature before each layer in training.

    Raises:
        ArgumentError: A setting is out of range.

    Examples:
        >>> import seqloom as sl
        >>> sl.models.HeadConfig(inputs=320, outputs=2).init("numpy").number_of_parameters
        20674
    """

    inputs: int
    outputs: int
    hidden: tuple[int, ...] = (64,)
    dropout: float = 0.1

    def __post_init__(self) -> None:
        convert_fields(self)
        require_positive({"inputs": self.inputs, "outputs": self.outputs})
        if min(self.hidden, default=1) < 1:
            raise ArgumentError(f"numbers in hidden must be 1 or more, got {self.hidden}")
        require_probability(self.dropout)

    @classmethod
    def for_data(cls, train: Examples) -> Self:
        """Choose settings for a training set.

        Args:
            train: Embeddings with labels.

        Returns:
            Settings that fit the width of the embeddings and the labels.

        Raises:
            ArgumentError: The training set has no labels or no embeddings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> rows = np.zeros((2, 8), np.float32)
            >>> data = sl.data.EmbeddingDataset({"x": rows[0], "y": rows[1]}, ["a", "b"])
            >>> config = sl.models.HeadConfig.for_data(data)
            >>> config.inputs, config.outputs
            (8, 2)
        """
        check_examples("train", train)
        _check_encoder(train.encoder)
        return cls(inputs=train.encoder.width, outputs=count_outputs(train))

    def check_encoder(self, encoder: Any) -> None:
        """Raise if an encoder's records are not embeddings, or their width differs.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The records are not embeddings.
            ShapeError: The number of features of the records differs from the settings.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.HeadConfig(inputs=320, outputs=2)
            >>> config.check_encoder(sl.data.EmbeddingEncoder(width=320))
        """
        _check_encoder(encoder)
        if encoder.width != self.inputs:
            raise ShapeError(
                f"this head reads {self.inputs:,} features, but the embeddings have "
                f"{encoder.width:,}; HeadConfig.for_data(train) creates one that fits"
            )

    def build(self) -> Head:
        """Create the head without binding it to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.HeadConfig(inputs=320, outputs=2)
            >>> config.build().config == config
            True
        """
        return Head(self)


class Head(Module):
    """Small network on features that are normalised to mean 0 and standard deviation 1.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> head = sl.models.HeadConfig(inputs=4, outputs=3).init("numpy").eval()
        >>> head.logits(head.backend.tensor(np.ones((2, 4), np.float32))).shape
        (2, 3)
    """

    config: HeadConfig
    norm: BatchNorm1d
    layers: Sequential

    def __init__(self, config: HeadConfig) -> None:
        self.config = config
        # The features of a language model differ in scale by orders of magnitude.
        self.norm = BatchNorm1d(config.inputs, affine=False)
        *inner, last = zip(
            (config.inputs, *config.hidden), (*config.hidden, config.outputs), strict=True
        )
        layers: list[Any] = []
        for sizes in inner:
            layers += [Dropout(config.dropout), Linear(*sizes), F.gelu]
        self.layers = Sequential(*layers, Dropout(config.dropout), Linear(*last))

    def logits(self, x: Tensor, *, key: Key | None = None) -> Tensor:
        """Compute the outputs before softmax or sigmoid.

        Args:
            x: Features ``(batch, feature)``.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: The number of features differs from the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> head = sl.models.HeadConfig(inputs=4, outputs=3).init("numpy").eval()
            >>> head.logits(head.backend.tensor(np.ones((2, 4), np.float32))).shape
            (2, 3)
        """
        if x.ndim != 2 or x.shape[1] != self.config.inputs:  # noqa: PLR2004 - rows and columns
            raise ShapeError(
                f"this head reads {self.config.inputs:,} features of each record, got an "
                f"array {x.shape}"
            )
        # The features of a batch with one record have no standard deviation.
        is_one = x.shape[0] == 1
        x = self.norm.by_averages(x) if is_one else self.norm(x)
        return self.layers(x, key=key)


def _check_encoder(encoder: Any) -> None:
    """Raise if the records are not embeddings."""
    if encoder_input_type(encoder) != EmbeddingEncoder.encodes:
        raise ArgumentError(
            f"a head reads embeddings, not the output of {encoder}; pass a "
            "sl.data.EmbeddingDataset, or use SequenceCNNConfig for sequences"
        )
