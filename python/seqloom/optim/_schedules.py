"""Schedules: the learning rate as a function of the step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from seqloom.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant learning rate.

    Attributes:
        lr: The learning rate.

    Examples:
        >>> Constant(1e-3)(17)
        0.001
    """

    lr: float

    def __call__(self, step: int) -> float:  # noqa: ARG002
        """Returns the learning rate."""
        return self.lr


@dataclass(frozen=True, slots=True)
class WarmupCosine:
    """A learning rate with linear warmup and cosine decay (Loshchilov and Hutter 2017).

    Attributes:
        peak: Highest learning rate, reached at step ``warmup``.
        warmup: Number of warmup steps, 0 or more.
        total: Number of all steps; after them the learning rate is ``floor``.
        floor: Lowest learning rate.

    Examples:
        >>> schedule = WarmupCosine(peak=1.0, warmup=2, total=10)
        >>> [round(schedule(step), 3) for step in (0, 1, 2, 6, 10)]
        [0.333, 0.667, 1.0, 0.5, 0.0]
    """

    peak: float
    warmup: int
    total: int
    floor: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup <= self.total:
            raise ArgumentError(
                f"warmup must be from 0 to total={self.total}, got {self.warmup}"
            )

    def __call__(self, step: int) -> float:
        """Returns the learning rate of a step, counted from 0."""
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        done = min((step - self.warmup) / max(self.total - self.warmup, 1), 1.0)
        return self.floor + (self.peak - self.floor) * 0.5 * (1 + math.cos(math.pi * done))
