"""BPNet: a network that predicts the signal at each base of a region."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import Examples, check_one_hot, require_sizes
from seqloom.models._tracks import (
    TrackOutputs,
    check_bin_size,
    read_track_sizes,
    require_one_width,
)
from seqloom.nn import Config, Conv1d, FanIn, Module, Param, functional as F
from seqloom.tensor import Tensor, apply

_BASE_CHANNELS = 4
_FIRST_KERNEL, PROFILE_KERNEL = 21, 75
# The profile head reads this number of positions on each side of a position.
_PROFILE_MARGIN = PROFILE_KERNEL // 2
# The count head multiplies its parameters, so that the optimiser changes the log count
# in larger steps. Means over positions differ little between regions, so the weights
# must become large. On 1,600 simulated regions, 8 epochs reduce the error of the log
# count (RMSE, at first 0.75) to 0.41 with the factor, and to 0.70 without.
COUNT_SCALE = 10.0
# Number of regions that `match_counts` computes at a time.
_MATCHED_REGIONS = 64


@dataclass(frozen=True)
class BPNetConfig(Config):
    """Settings of a `BPNet`.

    Args:
        tracks: Number of predicted tracks, such as 2 for two strands.
        channels: Number of features of each convolution.
        layers: Number of dilated residual layers; layer i has the dilation ``2 ** i``,
            for i = 1 to `layers`.
        controls: Number of control tracks that the network reads.
        trimming: Number of positions that are removed from each end of a sequence; by
            default, all positions that depend on bases beyond the ends.
        profile_bias: If True, the profile head adds a bias.
        count_bias: If True, the count head adds a bias.

    Raises:
        ArgumentError: A number is out of range.

    Examples:
        >>> config = BPNetConfig(tracks=2)
        >>> config.margin, config.init("numpy").number_of_parameters
        (557, 113923)
    """

    tracks: int
    channels: int = 64
    layers: int = 8
    controls: int = 0
    trimming: int | None = None
    profile_bias: bool = True
    count_bias: bool = True

    def __post_init__(self) -> None:
        convert_fields(self)
        require_sizes(self, {"tracks": self.tracks, "channels": self.channels})
        least = {"layers": self.layers, "controls": self.controls, "trimming": self.margin}
        for name, size in least.items():
            if size < 0:
                raise ArgumentError(f"{name} must be 0 or more, got {size}")

    @property
    def margin(self) -> int:
        """Number of positions that are removed from each end of a sequence."""
        if self.trimming is not None:
            return self.trimming
        dilations = sum(2**number for number in range(1, self.layers + 1))
        return _FIRST_KERNEL // 2 + dilations + _PROFILE_MARGIN

    @classmethod
    def for_data(cls, train: Examples) -> Self:
        """Choose the number of tracks and the trimming for a training set.

        Args:
            train: Encoded regions with tracks.

        Returns:
            Settings that fit the tracks, the control tracks and the widths.

        Raises:
            ArgumentError: The training set has no tracks, or is not one-hot DNA.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> from types import SimpleNamespace
            >>> arrays = {
            ...     "inputs": np.zeros((1, 4, 2114)),
            ...     "tracks": np.zeros((1, 2, 1000)),
            ... }
            >>> train = SimpleNamespace(
            ...     batch=lambda rows: arrays,
            ...     lengths=[2114],
            ...     encoder=sl.encode.OneHot("dna"),
            ... )
            >>> config = sl.models.BPNetConfig.for_data(train)
            >>> config.tracks, config.trimming
            (2, 557)
        """
        check_bin_size(1, train)
        sizes = read_track_sizes(train)
        return cls(sizes.tracks, controls=sizes.controls, trimming=sizes.trim())

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder does not return one-hot DNA.

        Examples:
            >>> import seqloom as sl
            >>> BPNetConfig(tracks=1).check_encoder(sl.encode.OneHot("dna"))
        """
        check_one_hot("BPNet", encoder)

    def build(self) -> "BPNet":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = BPNetConfig(tracks=1)
            >>> config.build().config == config
            True
        """
        return BPNet(self)


class BPNet(Module):
    """Dilated convolutions with a profile head and a count head (Avsec et al., 2021).

    The architecture is that of bpnet-lite and chrombpnet. A convolution of 21 bases
    is followed by residual layers of 3 positions. The profile head is a convolution of
    75 positions, and the count head a linear function of the mean over positions.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = BPNetConfig(tracks=2).init("numpy")
        >>> outputs = model(model.backend.tensor(np.zeros((1, 4, 2114), np.float32)))
        >>> outputs.profile.shape, outputs.counts.shape
        ((1, 2, 1000), (1, 1))
    """

    config: BPNetConfig
    first: Conv1d
    layers: list[Conv1d]
    profile: Conv1d
    counts: "CountHead"

    def __init__(self, config: BPNetConfig) -> None:
        self.config, channels = config, config.channels
        self.first = Conv1d(_BASE_CHANNELS, channels, _FIRST_KERNEL, padding="same")
        self.layers = [
            Conv1d(channels, channels, 3, padding="same", dilation=2**number)
            for number in range(1, config.layers + 1)
        ]
        self.profile = Conv1d(
            channels + config.controls,
            config.tracks,
            PROFILE_KERNEL,
            padding="same",
            bias=config.profile_bias,
        )
        inputs = channels + (config.controls > 0)
        self.counts = CountHead(inputs, has_bias=config.count_bias)

    def __call__(self, x: Tensor, *, controls: Tensor | None = None) -> TrackOutputs:
        """Compute the logits of the profile, and the log counts.

        Args:
            x: One-hot sequences ``(n, 4, length)``.
            controls: Control tracks ``(n, controls, length)``; zeros by default in
                evaluation mode.

        Returns:
            Logits ``(n, tracks, length - 2 * margin)``, and log counts ``(n, 1)``.

        Raises:
            ShapeError: The shape of an input does not fit the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = BPNetConfig(tracks=1, layers=2).init("numpy")
            >>> model(model.backend.tensor(np.zeros((1, 4, 200), np.float32))).counts.shape
            (1, 1)
        """
        start = self.config.margin
        self._check_inputs(x, controls)
        if self.config.controls and controls is None:
            controls = apply("concat", [x[:, :1] * 0.0] * self.config.controls, axis=1)
        positions = x.shape[2] - 2 * start
        # The heads read no positions beyond the margin of the profile head.
        first = max(start - _PROFILE_MARGIN, 0)
        last = x.shape[2] - first
        x = F.relu(self.first(x))
        for layer in self.layers:
            x = x + F.relu(layer(x))
        x = x[:, :, first:last]
        means = x.mean(axis=2)
        if controls is not None:
            controls = controls[:, :, first:last]
            total = apply("log1p", controls.sum(axis=(1, 2)))
            means = apply("concat", [means, apply("expand_dims", total, axis=1)], axis=1)
            x = apply("concat", [x, controls], axis=1)
        profile = self.profile(x)[:, :, start - first : start - first + positions]
        return TrackOutputs(profile, self.counts(means))

    def logits(
        self,
        x: Tensor,
        *,
        controls: Tensor | None = None,
        mask: Tensor | None = None,
        key: Key | None = None,
    ) -> Tensor:
        """Compute both outputs as one array: log-probabilities plus log counts.

        Args:
            x: One-hot sequences ``(n, 4, length)``.
            controls: Control tracks, as in ``__call__``.
            mask: Must be None or 1 everywhere, because regions have one width.
            key: Not used, because the network has no dropout.

        Returns:
            A tensor ``(n, tracks, positions)``; see `TrackOutputs.join`.

        Raises:
            ShapeError: The shape of an input does not fit the settings.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = BPNetConfig(tracks=2, layers=2).init("numpy")
            >>> model.logits(model.backend.tensor(np.zeros((1, 4, 200), np.float32))).shape
            (1, 2, 94)
        """
        del key
        require_one_width(self, mask)
        return self(x, controls=controls).join()

    def match_counts(
        self,
        x: NDArray[Any],
        tracks: NDArray[Any],
        *,
        controls: NDArray[Any] | None = None,
    ) -> Self:
        """Change the bias so that the mean prediction is the mean of log(1 + count).

        ChromBPNet needs a bias network with the sequencing depth of the experiment.

        Args:
            x: One-hot sequences ``(n, 4, length)``, such as regions without peaks.
            tracks: Observed counts ``(n, tracks, positions)``.
            controls: Control tracks, as in ``__call__``.

        Returns:
            This network, in which only the bias of the count head has changed.

        Raises:
            ArgumentError: The count head has no bias.
            ShapeError: There are no sequences, or the shape of an array does not fit.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = BPNetConfig(tracks=1, layers=1).init("numpy")
            >>> x = np.zeros((2, 4, 150), np.float32)
            >>> _ = model.match_counts(x, np.ones((2, 1, 52), np.float32))
            >>> round(float(model(model.backend.tensor(x)).counts.mean().item()), 3)
            3.97
        """
        bias = self.counts.bias
        if bias is None:
            raise ArgumentError("the count head has no bias: set count_bias=True")
        self._check_inputs(x, controls)
        shape = (len(x), self.config.tracks, x.shape[2] - 2 * self.config.margin)
        if not len(x):
            raise ShapeError(f"x must have at least one sequence, got the shape {x.shape}")
        if tracks.shape != shape:
            raise ShapeError(f"tracks must have the shape {shape}, got {tracks.shape}")
        tensor, found = self.backend.tensor, list[Any]()
        for at in range(0, len(x), _MATCHED_REGIONS):
            rows = slice(at, at + _MATCHED_REGIONS)
            others = None if controls is None else tensor(controls[rows])
            found.append(self(tensor(x[rows]), controls=others).counts.numpy())
        expected = np.log1p(tracks.sum(axis=(1, 2), dtype=np.float64))
        shift = (expected.mean() - np.concatenate(found).mean()) / COUNT_SCALE
        bias.assign(bias.numpy() + np.float32(shift))
        return self

    def _check_inputs(
        self, x: Tensor | NDArray[Any], controls: Tensor | NDArray[Any] | None
    ) -> None:
        """Raise if the shape of an input does not fit the settings."""
        config = self.config
        shortest = 2 * config.margin + 1
        if x.ndim != 3 or x.shape[1] != _BASE_CHANNELS or x.shape[2] < shortest:  # noqa: PLR2004
            raise ShapeError(
                f"BPNet reads one-hot DNA (n, 4, length) of at least {shortest:,} bases, "
                f"because it removes {config.margin:,} on each side, got {x.shape}"
            )
        expected = (x.shape[0], config.controls, x.shape[2])
        if controls is None:
            if config.controls and self.training:
                raise ShapeError(f"controls is missing; expected an array {expected}")
        elif controls.shape != expected:
            raise ShapeError(
                f"controls must have the shape {expected}, got {controls.shape}"
            )


class CountHead(Module):
    """Linear layer with one output, whose parameters are divided by `COUNT_SCALE`."""

    weight: Param
    bias: Param | None

    def __init__(self, inputs: int, *, has_bias: bool) -> None:
        # The initial function is that of Linear.
        first = FanIn(round(inputs * COUNT_SCALE**2))
        self.weight = Param((1, inputs), first)
        self.bias = Param((1,), first) if has_bias else None

    def __call__(self, x: Tensor) -> Tensor:
        """Map ``(batch, feature)`` to ``(batch, 1)``."""
        bias = None if self.bias is None else self.bias.value
        return F.linear(x, self.weight.value, bias) * COUNT_SCALE
