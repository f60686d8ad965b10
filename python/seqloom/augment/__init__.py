"""Augmentations: random changes of sequences, reproducible by a key."""

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
