"""A perceptron over standardised genotypes, with a linear skip connection."""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar, Self

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import (
    Examples,
    check_examples,
    check_genotypes,
    count_outputs,
    require_probability,
    require_sizes,
)
from seqloom.nn import (
    Config,
    Dropout,
    FanIn,
    Fill,
    Linear,
    Module,
    Param,
    Sequential,
    functional as F,
)
from seqloom.tensor import Tensor

# With this number of variants, weights are trained without rescaling.
_REFERENCE_VARIANTS = 1000


@dataclass(frozen=True)
class GenotypeMLPConfig(Config):
    """Settings of a `GenotypeMLP`.

    Args:
        variants: Number of genotypes of each sample.
        outputs: Number of outputs for each sample: the number of classes or labels.
        covariates: Number of covariates of each sample; in the input, covariates follow
            the genotypes.
        hidden: Number of features of each hidden layer; empty for a linear model.
        dropout: Dropout probability of each hidden feature in training.

    Raises:
        ArgumentError: A number is out of range.

    Examples:
        >>> config = GenotypeMLPConfig(variants=1000, outputs=1, covariates=3)
        >>> config.init("numpy").number_of_parameters
        33164
    """

    variants: int
    outputs: int
    covariates: int = 0
    hidden: tuple[int, ...] = (32,)
    dropout: float = 0.5

    def __post_init__(self) -> None:
        convert_fields(self)
        sizes = {"variants": self.variants, "outputs": self.outputs}
        sizes["hidden"] = min(self.hidden, default=1)
        require_sizes(self, sizes)
        if self.covariates < 0:
            raise ArgumentError(f"covariates must be 0 or more, got {self.covariates}")
        require_probability(self.dropout)

    @classmethod
    def for_data(cls, train: Examples) -> Self:
        """Choose settings for a training set.

        Args:
            train: Genotypes with labels.

        Returns:
            Settings that fit the variants, covariates and labels.

        Raises:
            ArgumentError: The training set has no encoder or no labels.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1, 2], [2, 1, 0]], np.int8))
            >>> height = {"iid1": 1.81, "iid2": 1.75}
            >>> age = {"iid1": 30, "iid2": 50}
            >>> config = GenotypeMLPConfig.for_data(
            ...     sl.data.GenotypeDataset("a.bed", height, age)
            ... )
            >>> config.variants, config.outputs, config.covariates
            (3, 1, 1)
        """
        check_examples("train", train)
        if train.encoder is None:
            raise ArgumentError(
                "the items are variants, but the model reads samples; open the dataset "
                'with by="sample"'
            )
        check_genotypes(train.encoder)
        outputs = count_outputs(train)
        return cls(
            variants=int(train.lengths[0]),
            outputs=outputs,
            covariates=len(getattr(train, "covariate_names", ())),
        )

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder encodes sequences, not genotypes.

        Examples:
            >>> import seqloom as sl
            >>> config = GenotypeMLPConfig(variants=1000, outputs=1)
            >>> config.check_encoder(sl.data.GenotypeEncoder())
        """
        check_genotypes(encoder)

    def build(self) -> "GenotypeMLP":
        """Create the network without binding it to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = GenotypeMLPConfig(variants=1000, outputs=1)
            >>> config.build().config == config
            True
        """
        return GenotypeMLP(self)


class GenotypeMLP(Module):
    """Linear model of all inputs, plus hidden layers for non-linear effects.

    The outputs are initialised to zero, so training starts from the mean of the labels.
    With many variants, each weight remains small, so early stopping acts like ridge
    regression. To keep weights small, the optimiser uses one average of the squared
    gradient for all genotype weights.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = GenotypeMLPConfig(variants=5, outputs=1).init("numpy").eval()
        >>> model.logits(model.backend.tensor(np.ones((2, 5), np.float32))).numpy().tolist()
        [[0.0], [0.0]]
    """

    one_scale: ClassVar[tuple[str, ...]] = ("*.genotypes",)
    config: GenotypeMLPConfig
    linear: "GenotypeLinear"
    hidden: Sequential | None

    def __init__(self, config: GenotypeMLPConfig) -> None:
        self.config = config
        self.linear = GenotypeLinear(config, config.outputs, is_zero=True)
        self.hidden = None
        if config.hidden:
            first = GenotypeLinear(config, config.hidden[0])
            layers: list[GenotypeLinear | Linear] = [first]
            layers += [Linear(*sizes) for sizes in pairwise(config.hidden)]
            blocks = [Sequential(it, F.gelu, Dropout(config.dropout)) for it in layers]
            self.hidden = Sequential(*blocks, ZeroLinear(config.hidden[-1], config.outputs))

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute the outputs before softmax or sigmoid.

        Args:
            x: Standardised genotypes ``(batch, variant)``, followed by covariates.
            mask: Must be None, because every sample has all variants.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: The number of variants or covariates differs from the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = GenotypeMLPConfig(variants=5, outputs=3).init("numpy").eval()
            >>> model.logits(model.backend.tensor(np.zeros((2, 5), np.float32))).shape
            (2, 3)
        """
        config = self.config
        wanted = config.variants + config.covariates
        if x.ndim != 2 or x.shape[1] != wanted:  # noqa: PLR2004 - rows and columns
            raise ShapeError(
                f"this model reads {config.variants:,} variants and {config.covariates:,} "
                f"covariates of each sample, got an array {x.shape}. Open the genotypes "
                "with the encoder that the model was trained with"
            )
        if mask is not None:
            raise ShapeError(
                "GenotypeMLP accepts no mask: all rows of genotypes have the same length"
            )
        out = self.linear(x)  # shape (batch, output)
        return out if self.hidden is None else out + self.hidden(x, key=key)


class GenotypeLinear(Module):
    """Linear layer with separate weight scales for genotypes and covariates."""

    genotypes: Param
    covariates: Param | None
    bias: Param

    def __init__(
        self, config: GenotypeMLPConfig, features: int, *, is_zero: bool = False
    ) -> None:
        self.genotypes = _make_weight(features, config.variants, is_zero=is_zero)
        self.covariates = None
        if config.covariates:
            self.covariates = _make_weight(features, config.covariates, is_zero=is_zero)
        self.bias = Param((features,), Fill(0.0))

    def assign(self, weights: Any, bias: Any) -> None:
        """Set the weights ``(feature, variant + covariate)`` of unscaled inputs."""
        variants = self.genotypes.shape[1]
        for param, columns in (
            (self.genotypes, weights[:, :variants]),
            (self.covariates, weights[:, variants:]),
        ):
            if param is not None:
                param.assign(columns / _find_weight_scale(columns.shape[1]))
        self.bias.assign(bias)

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(batch, variant + covariate)`` to ``(batch, feature)``."""
        variants = self.genotypes.shape[1]
        out = _multiply(x[:, :variants], self.genotypes) + self.bias.value
        if self.covariates is None:
            return out
        return out + _multiply(x[:, variants:], self.covariates)


class ZeroLinear(Module):
    """Output layer of the hidden features, initialised to zero."""

    weight: Param

    def __init__(self, features: int, outputs: int) -> None:
        self.weight = Param((outputs, features), Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(batch, feature)`` to ``(batch, output)``."""
        return F.linear(x, self.weight.value)


def _make_weight(features: int, inputs: int, *, is_zero: bool) -> Param:
    """Create weights: zeros, or random numbers with the scale for a layer before a GELU."""
    first = Fill(0.0) if is_zero else FanIn(inputs * _find_weight_scale(inputs) ** 2)
    return Param((features, inputs), first)


def _multiply(x: Tensor, weight: Param) -> Tensor:
    """Map ``(batch, input)`` to ``(batch, feature)``."""
    return F.linear(x, weight.value) * _find_weight_scale(weight.shape[1])


def _find_weight_scale(inputs: int) -> float:
    """Return the factor by which a layer multiplies its weights and optimiser steps."""
    # An output sums over all inputs, so with more inputs each weight must change less
    # in a step (Yang et al. 2021). With few inputs a weight may change more, but must
    # not oscillate.
    share = _REFERENCE_VARIANTS / inputs
    return min(share, share**0.5)
