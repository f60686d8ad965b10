"""ChromBPNet: a bias network and an accessibility network."""

from dataclasses import dataclass, replace
from typing import Any, Self

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError
from seqloom.models._bpnet import BPNet, BPNetConfig
from seqloom.models._examples import Examples, check_one_hot
from seqloom.models._tracks import TrackOutputs, require_one_width
from seqloom.nn import Config, Module
from seqloom.tensor import Tensor, apply


@dataclass(frozen=True)
class ChromBPNetConfig(Config):
    """Settings of a `ChromBPNet`.

    Args:
        bias: Settings of the network that predicts the bias of the enzyme.
        accessibility: Settings of the network that predicts the accessibility.

    Raises:
        ArgumentError: The networks differ in their tracks, have controls, or the outputs
            of the bias network are shorter.

    Examples:
        >>> bias, accessibility = BPNetConfig(1, 128, 4), BPNetConfig(1, 512, 8)
        >>> ChromBPNetConfig(bias, accessibility).tracks
        1
    """

    bias: BPNetConfig
    accessibility: BPNetConfig

    def __post_init__(self) -> None:
        convert_fields(self)
        parts = (self.bias, self.accessibility)
        tracks, controls = [it.tracks for it in parts], [it.controls for it in parts]
        if tracks[0] != tracks[1] or any(controls):
            raise ArgumentError(
                "bias and accessibility must have equal tracks and no controls, got "
                f"tracks {tracks[0]} and {tracks[1]}, controls {controls[0]} and "
                f"{controls[1]}"
            )
        if self.bias.margin > self.accessibility.margin:
            raise ArgumentError(
                f"bias trims {self.bias.margin} positions, more than the "
                f"{self.accessibility.margin} of accessibility; set its trimming"
            )

    @property
    def tracks(self) -> int:
        """Number of predicted tracks."""
        return self.accessibility.tracks

    @classmethod
    def for_data(cls, train: Examples) -> Self:
        """Choose the number of tracks and the trimming for a training set.

        The sizes are those of chrombpnet: 4 layers of 128 channels for the bias, 8
        layers of 512 channels for the accessibility.

        Args:
            train: Encoded regions with tracks.

        Returns:
            Settings that fit the tracks and the widths.

        Raises:
            ArgumentError: The training set has no tracks, has control tracks, or is not
                one-hot DNA.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> from types import SimpleNamespace
            >>> arrays = {
            ...     "inputs": np.zeros((1, 4, 2114)),
            ...     "tracks": np.zeros((1, 1, 1000)),
            ... }
            >>> train = SimpleNamespace(
            ...     batch=lambda rows: arrays,
            ...     lengths=[2114],
            ...     encoder=sl.encode.OneHot("dna"),
            ... )
            >>> sl.models.ChromBPNetConfig.for_data(train).accessibility.channels
            512
        """
        config = BPNetConfig.for_data(train)
        if config.controls:
            raise ArgumentError(
                "ChromBPNet reads no control tracks, but the dataset has "
                f"{config.controls}; open it without controls"
            )
        bias = replace(config, channels=128, layers=4)
        return cls(bias, replace(config, channels=512))

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder does not return one-hot DNA.

        Examples:
            >>> import seqloom as sl
            >>> config = ChromBPNetConfig(BPNetConfig(1), BPNetConfig(1))
            >>> config.check_encoder(sl.encode.OneHot("dna"))
        """
        check_one_hot("ChromBPNet", encoder)

    def build(self) -> "ChromBPNet":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode, in which the bias network is frozen.

        Examples:
            >>> model = ChromBPNetConfig(BPNetConfig(1), BPNetConfig(1)).build()
            >>> model.bias.first.weight.trainable
            False
        """
        return ChromBPNet(self)


class ChromBPNet(Module):
    """A frozen bias network and an accessibility network (Pampari et al., 2024).

    The logits of the profiles are added, and the values 1 + count are added.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> config = ChromBPNetConfig(BPNetConfig(1, layers=1), BPNetConfig(1, layers=2))
        >>> model = config.init("numpy")
        >>> model(model.backend.tensor(np.zeros((1, 4, 200), np.float32))).profile.shape
        (1, 1, 94)
    """

    config: ChromBPNetConfig
    bias: BPNet
    accessibility: BPNet

    def __init__(self, config: ChromBPNetConfig) -> None:
        self.config = config
        self.bias = config.bias.build().freeze()
        self.accessibility = config.accessibility.build()

    @classmethod
    def of(cls, bias: BPNet, accessibility: BPNet) -> Self:
        """Return a network of copies of a bias network and an accessibility network.

        Args:
            bias: Network that was trained on regions without peaks.
            accessibility: New or trained network.

        Returns:
            A network on the backend of the accessibility network.

        Raises:
            ArgumentError: The two networks do not fit together.

        Examples:
            >>> parts = [BPNetConfig(1).init("numpy") for _ in range(2)]
            >>> ChromBPNet.of(*parts).accessibility.config == parts[1].config
            True
        """
        config = ChromBPNetConfig(bias.config, accessibility.config)
        arrays: dict[str, Any] = {}
        for name, part in (("bias", bias), ("accessibility", accessibility)):
            arrays |= {f"{name}.{path}": it for path, it in part.to_record().items()}
        return config.init(accessibility.backend).load_record(arrays)

    def __call__(self, x: Tensor) -> TrackOutputs:
        """Compute the logits of the profile, and the log counts.

        Args:
            x: One-hot sequences ``(n, 4, length)``.

        Returns:
            Logits ``(n, tracks, positions)``, and log counts ``(n, 1)``.

        Raises:
            ShapeError: The sequences are too short, or are not one-hot DNA.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = ChromBPNetConfig(BPNetConfig(1), BPNetConfig(1)).init("numpy")
            >>> x = model.backend.tensor(np.zeros((1, 4, 2114), np.float32))
            >>> model(x).counts.shape
            (1, 1)
        """
        outputs, bias = self.accessibility(x), self.bias(x)
        positions = outputs.profile.shape[2]
        start = (bias.profile.shape[2] - positions) // 2
        return TrackOutputs(
            outputs.profile + bias.profile[:, :, start : start + positions],
            apply("logaddexp", outputs.counts, bias.counts),
        )

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute both outputs as one array: log-probabilities plus log counts.

        Args:
            x: One-hot sequences ``(n, 4, length)``.
            mask: Must be None or 1 everywhere, because regions have one width.
            key: Not used, because the network has no dropout.

        Returns:
            A tensor ``(n, tracks, positions)``; see `TrackOutputs.join`.

        Raises:
            ShapeError: The sequences are too short, or are not one-hot DNA.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = ChromBPNetConfig(BPNetConfig(1), BPNetConfig(1)).init("numpy")
            >>> x = model.backend.tensor(np.zeros((1, 4, 2114), np.float32))
            >>> model.logits(x).shape
            (1, 1, 1000)
        """
        del key
        require_one_width(self, mask)
        return self(x).join()
