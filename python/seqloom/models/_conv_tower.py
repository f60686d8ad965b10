"""ConvTower: convolutions and pooling that predict binned tracks, as in Basenji."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from seqloom._config import convert_fields
from seqloom._key import Key
from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import (
    Examples,
    check_one_hot,
    require_positive,
    require_probability,
)
from seqloom.models._sequence_layers import Block, apply_batch_norm
from seqloom.models._tracks import (
    check_bin_size,
    find_bin_size,
    read_track_sizes,
    require_one_width,
)
from seqloom.nn import BatchNorm1d, Config, Conv1d, Dropout, Module, functional as F
from seqloom.tensor import Tensor

_BASE_CHANNELS = 4
_STEM_KERNEL, _TOWER_KERNEL = 15, 5


@dataclass(frozen=True)
class ConvTowerConfig(Config):
    """Settings of a `ConvTower`.

    Args:
        tracks: Number of predicted tracks.
        bin_size: Number of bases of an output, a power of 2; each block of the tower
            halves the number of positions.
        channels: Number of features of the first convolution.
        top_channels: Number of features of the last block; features grow by a constant
            factor between the first and the last block.
        layers: Number of dilated residual layers after the tower; layer i has the
            dilation ``2 ** i``.
        trimming: Number of bins that are removed from each end.
        dropout: Dropout probability of the residual layers in training.

    Raises:
        ArgumentError: A number is out of range.

    Examples:
        >>> config = ConvTowerConfig(tracks=3, bin_size=32)
        >>> config.widths
        (64, 76, 91, 108, 128)
    """

    tracks: int
    bin_size: int = 128
    channels: int = 64
    top_channels: int = 128
    layers: int = 6
    trimming: int = 0
    dropout: float = 0.3

    def __post_init__(self) -> None:
        convert_fields(self)
        sizes = {"tracks": self.tracks, "bin_size": self.bin_size}
        sizes |= {"channels": self.channels, "top_channels": self.top_channels}
        sizes |= {"layers + 1": self.layers + 1, "trimming + 1": self.trimming + 1}
        require_positive(sizes)
        require_probability(self.dropout)
        if self.bin_size & (self.bin_size - 1):
            raise ArgumentError(f"bin_size must be a power of 2, got {self.bin_size}")

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of features of each block of the tower."""
        count = max(self.bin_size.bit_length() - 1, 1)
        sizes = np.geomspace(self.channels, self.top_channels, count)
        return tuple(round(size) for size in sizes.tolist())

    @classmethod
    def for_data(cls, train: Examples, *, bin_size: int | None = None) -> Self:
        """Choose the number of tracks and the trimming for a training set.

        Args:
            train: Encoded regions with binned tracks.
            bin_size: Number of bases of a bin of the tracks; by default, that of the
                dataset.

        Returns:
            Settings that fit the tracks and the widths.

        Raises:
            ArgumentError: The training set has no tracks, is not one-hot DNA, or its
                widths do not fit bins of `bin_size`.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> from types import SimpleNamespace
            >>> arrays = {"inputs": np.zeros((1, 4, 2048)), "tracks": np.zeros((1, 3, 8))}
            >>> train = SimpleNamespace(
            ...     batch=lambda rows: arrays,
            ...     lengths=[2048],
            ...     encoder=sl.encode.OneHot("dna"),
            ... )
            >>> sl.models.ConvTowerConfig.for_data(train, bin_size=128).trimming
            4
        """
        size = bin_size or find_bin_size(train) or cls.bin_size
        check_bin_size(size, train)
        sizes = read_track_sizes(train)
        trimming, rest = divmod(sizes.trim(size), size)
        if rest:
            raise ArgumentError(
                f"the sequences exceed the tracks by {trimming * size + rest:,} bases "
                f"on each side; expected a multiple of bin_size={size}"
            )
        return cls(sizes.tracks, size, trimming=trimming)

    def check_encoder(self, encoder: Any) -> None:
        """Raise if the network would misinterpret the records of an encoder.

        Args:
            encoder: Encoder of the records.

        Raises:
            ArgumentError: The encoder does not return one-hot DNA.

        Examples:
            >>> import seqloom as sl
            >>> ConvTowerConfig(tracks=1).check_encoder(sl.encode.OneHot("dna"))
        """
        check_one_hot("ConvTower", encoder)

    def build(self) -> "ConvTower":
        """Create the network, not yet bound to a backend.

        Returns:
            A network in training mode.

        Examples:
            >>> config = ConvTowerConfig(tracks=1)
            >>> config.build().config == config
            True
        """
        return ConvTower(self)


class ConvTower(Module):
    """Convolutions with pooling, and dilated residual layers, as in Basenji.

    The architecture is similar to that of Kelley et al. (2018). The outputs are
    logarithms of the expected counts, for `poisson_nll_loss`.

    Args:
        config: Settings of the network.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = ConvTowerConfig(tracks=3, bin_size=32).init("numpy").eval()
        >>> model.logits(model.backend.tensor(np.zeros((2, 4, 256), np.float32))).shape
        (2, 3, 8)
    """

    likelihood: ClassVar[str] = "poisson"
    config: ConvTowerConfig
    tower: list[Block]
    layers: list["DilatedLayer"]
    head: Conv1d

    def __init__(self, config: ConvTowerConfig) -> None:
        self.config, widths = config, config.widths
        pool = 2 if config.bin_size > 1 else 1
        self.tower = [
            Block(before, after, kernel_size=kernel, pool=pool)
            for before, after, kernel in zip(
                (_BASE_CHANNELS, *widths[:-1]),
                widths,
                (_STEM_KERNEL, *(_TOWER_KERNEL for _ in widths[1:])),
                strict=True,
            )
        ]
        self.layers = [
            DilatedLayer(widths[-1], 2**number, config.dropout)
            for number in range(1, config.layers + 1)
        ]
        self.head = Conv1d(widths[-1], config.tracks, 1)

    def logits(
        self, x: Tensor, *, mask: Tensor | None = None, key: Key | None = None
    ) -> Tensor:
        """Compute the logarithms of the expected counts.

        Args:
            x: One-hot sequences ``(n, 4, length)``; `length` is a multiple of `bin_size`.
            mask: Must be None or 1 everywhere, because regions have one width.
            key: Random key for dropout; required in training mode.

        Returns:
            A tensor ``(n, tracks, length / bin_size - 2 * trimming)``.

        Raises:
            ShapeError: The length does not fit the settings, or the sequences are not
                one-hot DNA.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> model = ConvTowerConfig(tracks=1, bin_size=32, trimming=2).init("numpy")
            >>> x = model.backend.tensor(np.zeros((2, 4, 256), np.float32))
            >>> model.eval().logits(x).shape
            (2, 1, 4)
        """
        require_one_width(self, mask)
        config = self.config
        shortest = config.bin_size * (2 * config.trimming + 1)
        if x.ndim != 3 or x.shape[1] != _BASE_CHANNELS:  # noqa: PLR2004 - (n, 4, length)
            raise ShapeError(f"ConvTower reads one-hot DNA (n, 4, length), got {x.shape}")
        if x.shape[2] % config.bin_size or x.shape[2] < shortest:
            raise ShapeError(
                f"the length must be a multiple of {config.bin_size} and at least "
                f"{shortest:,}, got {x.shape[2]:,}; open the regions with another width="
            )
        for block in self.tower:
            x = block(x, None)
        for number, layer in enumerate(self.layers):
            x = layer(x, key=None if key is None else key.fold(number))
        return self.head(x[:, :, config.trimming : x.shape[2] - config.trimming])


class DilatedLayer(Module):
    """Residual layer of a dilated convolution and a convolution of one position."""

    dilated: Conv1d
    norm: BatchNorm1d
    pointwise: Conv1d
    last_norm: BatchNorm1d
    dropout: Dropout

    def __init__(self, channels: int, dilation: int, dropout: float) -> None:
        half = max(channels // 2, 1)
        self.dilated = Conv1d(
            channels, half, 3, padding="same", dilation=dilation, bias=False
        )
        self.norm = BatchNorm1d(half)
        self.pointwise = Conv1d(half, channels, 1, bias=False)
        self.last_norm = BatchNorm1d(channels)
        self.dropout = Dropout(dropout)

    def __call__(self, x: Tensor, *, key: Key | None) -> Tensor:
        """Map ``(batch, channel, position)`` to an array of the same shape."""
        y = F.gelu(apply_batch_norm(self.norm, self.dilated(F.gelu(x)), None))
        y = apply_batch_norm(self.last_norm, self.pointwise(y), None)
        return x + self.dropout(y, key=key)
