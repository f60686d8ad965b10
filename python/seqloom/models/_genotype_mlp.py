"""A perceptron over standardised genotypes, with a straight way past it."""

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
    require_share,
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

# For so many variants a weight as it stands moves as fast as suits it.
_USUAL = 1000


@dataclass(frozen=True)
class GenotypeMLPConfig(Config):
    """Settings of a `GenotypeMLP`.

    Args:
        variants: Genotypes a sample.
        outputs: Numbers a sample: the classes, or the labels.
        covariates: Covariates a sample, which stand behind its genotypes.
        hidden: The features of each hidden layer; none of them: a linear model.
        dropout: The share of each hidden layer's features that is left out in training.

    Raises:
        ArgumentError: A number makes no sense.

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
        require_share(self.dropout)

    @classmethod
    def for_data(cls, train: Examples) -> Self:
        """Choose settings for a training part.

        Args:
            train: Genotypes with labels.

        Returns:
            Settings that fit its variants, covariates and labels.

        Raises:
            ArgumentError: The training part has no encoder or no labels.

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
                "the items are variants, but the model reads samples; make the dataset "
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
        """Refuse an encoder whose records the network would read as something else.

        Args:
            encoder: What made the records.

        Raises:
            ArgumentError: It encodes sequences.

        Examples:
            >>> import seqloom as sl
            >>> config = GenotypeMLPConfig(variants=1000, outputs=1)
            >>> config.check_encoder(sl.data.GenotypeEncoder())
        """
        check_genotypes(encoder)

    def build(self) -> "GenotypeMLP":
        """Make the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = GenotypeMLPConfig(variants=1000, outputs=1)
            >>> config.build().config == config
            True
        """
        return GenotypeMLP(self)


class GenotypeMLP(Module):
    """A linear model of all inputs, and hidden layers that add what is not linear.

    Both begin at zero, so that training starts from the mean and an early stop leaves what
    ridge regression would: a small weight for many variants. For the same end all weights
    of genotypes share one scale in the optimiser, as they share one penalty there.

    Args:
        config: Its settings.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = GenotypeMLPConfig(variants=5, outputs=1).init("numpy").eval()
        >>> model.logits(model.backend.tensor(np.ones((2, 5), np.float32))).numpy().tolist()
        [[0.0], [0.0]]
    """

    one_scale: ClassVar[tuple[str, ...]] = ("*.genotypes",)
    config: GenotypeMLPConfig
    linear: "Mix"
    hidden: Sequential | None

    def __init__(self, config: GenotypeMLPConfig) -> None:
        self.config = config
        self.linear = Mix(config, config.outputs, is_zero=True)
        self.hidden = None
        if config.hidden:
            layers: list[Mix | Linear] = [Mix(config, config.hidden[0])]
            layers += [Linear(*sizes) for sizes in pairwise(config.hidden)]
            blocks = [Sequential(it, F.gelu, Dropout(config.dropout)) for it in layers]
            self.hidden = Sequential(*blocks, Last(config.hidden[-1], config.outputs))

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Return the outputs before any softmax or sigmoid.

        Args:
            x: Standardised genotypes ``(batch, variant)``, covariates behind them.
            mask: Must be None: all samples have all variants.
            key: What dropout draws from; needed in training mode only.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: The variants or the covariates are not those of the settings.

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
                f"covariates of each sample, got an array {x.shape}; open the genotypes "
                "with the encoder that it was trained with"
            )
        if mask is not None:
            raise ShapeError(
                "GenotypeMLP takes no mask: all rows of genotypes have one length"
            )
        out = self.linear(x)  # (batch, output)
        return out if self.hidden is None else out + self.hidden(x, key=key)


class Mix(Module):
    """A linear layer of genotypes, which are many and each worth little, and covariates."""

    genotypes: Param
    covariates: Param | None
    bias: Param

    def __init__(
        self, config: GenotypeMLPConfig, features: int, *, is_zero: bool = False
    ) -> None:
        self.genotypes = _weight(features, config.variants, is_zero=is_zero)
        self.covariates = None
        if config.covariates:
            self.covariates = _weight(features, config.covariates, is_zero=is_zero)
        self.bias = Param((features,), Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Bring ``(batch, variant + covariate)`` to ``(batch, feature)``."""
        variants = self.genotypes.shape[1]
        out = _sum(x[:, :variants], self.genotypes) + self.bias.value
        if self.covariates is None:
            return out
        return out + _sum(x[:, variants:], self.covariates)


class Last(Module):
    """The hidden features' part of the outputs: nothing, until it has learned."""

    weight: Param

    def __init__(self, features: int, outputs: int) -> None:
        self.weight = Param((outputs, features), Fill(0.0))

    def __call__(self, x: Tensor) -> Tensor:
        """Bring ``(batch, feature)`` to ``(batch, output)``."""
        return F.linear(x, self.weight.value)


def _weight(features: int, inputs: int, *, is_zero: bool) -> Param:
    """Declare weights whose sums begin at zero, or have a spread that suits a GELU."""
    first = Fill(0.0) if is_zero else FanIn(inputs * _step(inputs) ** 2)
    return Param((features, inputs), first)


def _sum(x: Tensor, weight: Param) -> Tensor:
    """Bring ``(batch, input)`` to ``(batch, feature)``."""
    return F.linear(x, weight.value) * _step(weight.shape[1])


def _step(inputs: int) -> float:
    """Say what a unit of weight counts, and with it how far an optimiser's step goes."""
    # An output sums over all inputs, so each may move the less the more there are (Yang et
    # al. 2021); of few, each may move more, but not so far that it swings.
    share = _USUAL / inputs
    return min(share, share**0.5)
