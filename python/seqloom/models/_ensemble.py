"""Ensemble: a network that averages the outputs of several networks."""

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.nn import Config, Module
from seqloom.tensor import Tensor


@dataclass(frozen=True)
class EnsembleConfig(Config):
    """Settings of an `Ensemble`: networks that are trained on the same batches.

    The members may have different settings, but must read the same inputs and have the
    same outputs. Members with equal settings differ in their initial weights and their
    dropout. In training, the loss is the mean of the losses of the members. The
    validation loss, which determines the best epoch, is the loss of the mean outputs.

    Args:
        members: Settings of the networks, at least two.

    Raises:
        ArgumentError: There are fewer than two members, or their outputs or lengths differ.

    Examples:
        >>> import seqloom as sl
        >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
        >>> EnsembleConfig.of(config, 3).outputs
        3
    """

    members: tuple[Config, ...]

    def __post_init__(self) -> None:
        convert_fields(self)
        outputs = {getattr(member, "outputs", None) for member in self.members}
        if len(self.members) <= 1 or len(outputs) > 1:
            raise ArgumentError(
                "members must be the settings of at least two networks with the same "
                f"number of outputs, got {len(self.members)} with outputs {outputs}"
            )
        given: list[int | None] = [getattr(it, "length", None) for it in self.members]
        lengths = {length for length in given if length is not None}
        if len(lengths) > 1:
            raise ArgumentError(
                "members must read sequences of the same length, got the lengths "
                f"{', '.join(map(str, sorted(lengths)))}"
            )

    @classmethod
    def of(cls, config: Config, members: int) -> "EnsembleConfig":
        """Return the settings of an ensemble of networks with equal settings.

        Args:
            config: Settings of one network.
            members: Number of networks, at least 2.

        Returns:
            Settings of the ensemble.

        Raises:
            ArgumentError: `members` is below 2.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
            >>> len(EnsembleConfig.of(config, 3).members)
            3
        """
        return cls((config,) * members)

    @property
    def outputs(self) -> int | None:
        """Number of outputs of each member."""
        return getattr(self.members[0], "outputs", None)

    @property
    def length(self) -> int | None:
        """Length that at least one member requires; None if all members read any length."""
        lengths = (getattr(member, "length", None) for member in self.members)
        return next((length for length in lengths if length is not None), None)

    def check_encoder(self, encoder: Any) -> None:
        """Raise if a member would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder does not suit a member.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
            >>> EnsembleConfig.of(config, 2).check_encoder(sl.encode.OneHot("dna"))
        """
        for member in self.members:
            check: Any = getattr(member, "check_encoder", None)
            if check is not None:
                check(encoder)

    def build(self) -> "Ensemble":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
            >>> len(EnsembleConfig.of(config, 2).build().members)
            2
        """
        return Ensemble(self)


class Ensemble(Module):
    """Network whose outputs are the means of the outputs of its members.

    For classes, the mean of logits corresponds to the geometric mean of probabilities.

    Args:
        config: Settings of the ensemble.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
        >>> model = EnsembleConfig.of(config, 2).init("numpy").eval()
        >>> model.logits(model.backend.tensor(np.zeros((2, 4, 30), np.float32))).shape
        (2, 3)
    """

    config: EnsembleConfig
    members: list[Module]

    def __init__(self, config: EnsembleConfig) -> None:
        self.config = config
        self.members = [member.build() for member in config.members]

    @property
    def epochs(self) -> int | None:
        """Number of epochs that `fit` uses by default; None for the general default."""
        return getattr(self.members[0], "epochs", None)

    @property
    def likelihood(self) -> str:
        """Likelihood of tracks, as in `seqloom.models.Profile`."""
        return getattr(self.members[0], "likelihood", "multinomial")

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute the mean of the outputs of all members.

        Args:
            x: Input of each member.
            mask: Mask ``(batch, position)``, 1 on the sequence and 0 after its end;
                None without padding.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(batch, output)``.

        Raises:
            ShapeError: A member cannot read the input.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> config = sl.models.GenotypeMLPConfig(variants=5, outputs=1)
            >>> model = EnsembleConfig.of(config, 2).init("numpy").eval()
            >>> model.logits(model.backend.tensor(np.ones((2, 5), np.float32))).shape
            (2, 1)
        """
        members: Any = self.members  # members have a method `logits`
        pairs = zip(members, self.split_key(key), strict=True)
        return mean_of([member.logits(x, mask=mask, key=own) for member, own in pairs])

    def split_key(self, key: Key | None) -> list[Key | None]:
        """Return a random key for each member; None for each if `key` is None.

        Args:
            key: Random key of the ensemble.

        Returns:
            A list with an entry for each member.

        Examples:
            >>> import seqloom as sl
            >>> config = sl.models.SequenceCNNConfig(channels=4, outputs=3)
            >>> model = EnsembleConfig.of(config, 2).build()
            >>> model.split_key(sl.Key(0)) == [sl.Key(0).fold(0), sl.Key(0).fold(1)]
            True
        """
        count = len(self.members)
        return [None if key is None else key.fold(number) for number in range(count)]


def list_members(model: Module) -> list[Module]:
    """Return the members of an ensemble, or a list with the network itself."""
    return list(model.members) if isinstance(model, Ensemble) else [model]


def is_trainable(model: Module) -> bool:
    """Return whether a network has a parameter that is not frozen."""
    return any(param.trainable for _, param in model.parameters())


def mean_of(values: list[Any]) -> Any:
    """Return the mean of tensors of one shape; a single tensor is returned unchanged."""
    return values[0] if len(values) == 1 else sum(values[1:], values[0]) / len(values)


def describe_network(model: Module) -> str:
    """Return the name of a network; of an ensemble, the names of the members."""
    if not isinstance(model, Ensemble):
        return type(getattr(model, "module", model)).__name__
    counts = [
        (name, len(list(group)))
        for name, group in groupby(describe_network(it) for it in model.members)
    ]
    names = [f"{count} {name}" if count > 1 else name for name, count in counts]
    return f"ensemble of {' and '.join(names)}"
