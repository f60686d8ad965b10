"""The numbers that decide a training run, checked before any work."""

import math
from dataclasses import asdict, dataclass
from typing import Any

from seqloom.errors import ArgumentError


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `fit` was asked for, as plain values.

    Raises:
        ArgumentError: A number makes no sense.
    """

    epochs: int
    batch_size: int
    lr: float
    weight_decay: float
    early_stop: int | None
    seed: int
    backend: str
    loss: str | None

    def __post_init__(self) -> None:
        counts = {"epochs": self.epochs, "batch_size": self.batch_size}
        if self.early_stop is not None:
            counts["early_stop"] = self.early_stop
        for name, count in counts.items():
            _check_whole(name, count, least=1)
        _check_whole("seed", self.seed, least=0)
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise ArgumentError(f"lr (--lr) must be a number above 0, got {self.lr}")
        if not (math.isfinite(self.weight_decay) and self.weight_decay >= 0):
            raise ArgumentError(
                f"weight_decay must be a number from 0, got {self.weight_decay}"
            )

    def to_dict(self) -> dict[str, Any]:
        """Gives the fields by name."""
        return asdict(self)


def _check_whole(name: str, value: object, *, least: int) -> None:
    """Refuses what is no whole number, or too small."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        option = name.replace("_", "-")
        raise ArgumentError(
            f"{name} (--{option}) must be a whole number and at least {least}, "
            f"got {value!r}"
        )
