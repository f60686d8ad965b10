"""Random changes of sequences, each a pure function of a sequence and a key."""

from seqloom.augment._augmentation import Augmentation, Compose
from seqloom.augment._changes import (
    Crop,
    Mask,
    Mutate,
    QualityNoise,
    ReverseComplement,
    Shift,
    ShuffleKmers,
)

__all__ = [
    "Augmentation",
    "Compose",
    "Crop",
    "Mask",
    "Mutate",
    "QualityNoise",
    "ReverseComplement",
    "Shift",
    "ShuffleKmers",
]
