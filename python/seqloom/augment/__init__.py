"""Augmentations, which change sequences at random but reproducibly for a given key."""

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
