"""The numbers that decide a training run, checked before any work."""

from dataclasses import asdict, dataclass
from typing import Any

from seqloom._arguments import as_number, as_whole
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
        # NumPy's numbers become Python's, because a checkpoint holds them as JSON.
        for name in ("epochs", "batch_size", "early_stop"):
            if name != "early_stop" or self.early_stop is not None:
                self._set(name, as_whole(_spell(name), getattr(self, name), least=1))
        self._set("seed", as_whole(_spell("seed"), self.seed))
        above = "a number above 0"
        self._set("lr", as_number(_spell("lr"), self.lr, expected=above))
        if not self.lr > 0:
            raise ArgumentError(f"{_spell('lr')} must be {above}, got {self.lr}")
        shrinks = as_number(
            _spell("weight_decay"), self.weight_decay, expected="a number from 0", least=0
        )
        self._set("weight_decay", shrinks)

    def to_dict(self) -> dict[str, Any]:
        """Gives the fields by name."""
        return asdict(self)

    def _set(self, name: str, value: float) -> None:
        """Replaces a field while the settings are made."""
        object.__setattr__(self, name, value)


def _spell(name: str) -> str:
    """Names an argument as Python and the command line know it."""
    return f"{name} (--{name.replace('_', '-')})"
