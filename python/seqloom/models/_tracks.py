"""Outputs of networks of tracks, and the sizes of training sets with tracks."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seqloom.errors import ArgumentError, ShapeError
from seqloom.models._examples import Examples, check_examples, check_one_hot
from seqloom.nn import Module
from seqloom.tensor import Tensor, apply

# Number of regions that are read at a time.
_READ_REGIONS = 64


class TrackOutputs(NamedTuple):
    """The two outputs of a network of tracks.

    Args:
        profile: Logits ``(n, tracks, positions)``; the softmax over tracks and positions
            together is the distribution of the reads.
        counts: Predictions ``(n, 1)`` of log(1 + count) of all tracks.

    Examples:
        >>> import numpy as np, seqloom as sl
        >>> model = sl.models.BPNetConfig(tracks=2, layers=1, trimming=50).init("numpy")
        >>> outputs = model(model.backend.tensor(np.zeros((3, 4, 150), np.float32)))
        >>> outputs.profile.shape, outputs.counts.shape
        ((3, 2, 50), (3, 1))
    """

    profile: Tensor
    counts: Tensor

    def join(self) -> Tensor:
        """Return log-probabilities plus log counts, ``(n, tracks, positions)``.

        The softmax of the array is the distribution of the reads, and its logsumexp is
        log(1 + count), so that one array has both outputs.

        Examples:
            >>> import numpy as np, seqloom as sl
            >>> B = sl.tensor.backend("numpy")
            >>> outputs = TrackOutputs(B.tensor([[[1.0, 1.0]]]), B.tensor([[0.0]]))
            >>> np.exp(outputs.join().numpy()).tolist()
            [[[0.5, 0.5]]]
        """
        total = apply("logsumexp", self.profile, axis=(1, 2), keepdims=True)
        return self.profile - total + apply("expand_dims", self.counts, axis=2)


class TrackSizes(NamedTuple):
    """Sizes of a training set with tracks."""

    length: int
    tracks: int
    positions: int
    controls: int

    def trim(self, bases: int = 1) -> int:
        """Return the number of bases to remove on each side."""
        rest = self.length - self.positions * bases
        if rest < 0 or rest % 2:
            raise ArgumentError(
                f"the sequences have {self.length:,} bases, the tracks {self.positions:,} "
                f"values of {bases} bases; the difference must be even and 0 or more; "
                "pass target_width"
            )
        return rest // 2


def read_track_sizes(train: Examples) -> TrackSizes:
    """Read the sizes of the first record of a training set with tracks."""
    check_examples("train", train)
    if train.encoder is None:
        raise ArgumentError(
            'the dataset has no encoder; open it with encoder=OneHot("dna")'
        )
    check_one_hot("a network of tracks", train.encoder)
    batch = train.batch(np.arange(1))
    if "tracks" not in batch:
        raise ArgumentError("the dataset has no tracks; open it with tracks=")
    _, tracks, positions = np.shape(batch["tracks"])
    controls = np.shape(batch["controls"])[1] if "controls" in batch else 0
    return TrackSizes(np.shape(batch["inputs"])[2], tracks, positions, controls)


def find_bin_size(train: Any) -> int | None:
    """Return the number of bases of each value of the tracks; None if it is unknown."""
    return getattr(getattr(train, "source", None), "bin_size", None)


def check_bin_size(expected: int, train: Any) -> None:
    """Raise if the tracks of a training set have other bins than a network predicts."""
    found = find_bin_size(train)
    if found is not None and found != expected:
        raise ArgumentError(
            f"the network predicts bins of {expected} bases, but the tracks have bins of "
            f"{found}; open the dataset with bin={expected}, or use "
            f"ConvTowerConfig(..., bin_size={found})"
        )


def read_labels(examples: Examples) -> NDArray[Any]:
    """Return the labels of all records; read tracks in batches."""
    if examples.labels is not None:
        return np.asarray(examples.labels)
    rows = np.arange(len(examples))
    blocks = [rows[at : at + _READ_REGIONS] for at in range(0, len(rows), _READ_REGIONS)]
    return np.concatenate([examples.batch(block)["tracks"] for block in blocks])


def require_one_width(model: Module, mask: Tensor | None) -> None:
    """Raise if a batch has padding."""
    if mask is not None and not mask.numpy().all():
        raise ShapeError(
            f"{type(model).__name__} reads regions of one width, but a batch has "
            "several widths; open the regions with width="
        )
