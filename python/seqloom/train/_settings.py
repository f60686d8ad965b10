"""The numbers that decide a training run, checked before any work."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from seqloom._arguments import as_integer, as_number, as_seed
from seqloom.errors import ArgumentError

# The weight decay of a network that has no wish of its own.
_DECAY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `fit` was asked for, as plain values."""

    epochs: int | None
    batch_size: int
    lr: float
    weight_decay: float | None
    early_stop: int | None
    seed: int
    backend: str
    loss: str | None
    optimizer: dict[str, Any] | None = None
    schedule: dict[str, Any] | str | None = None
    step: str | None = None
    precision: str = "float32"

    def __post_init__(self) -> None:
        # NumPy's numbers become Python's, because a checkpoint holds them as JSON.
        for name in ("epochs", "batch_size", "early_stop"):
            if name == "batch_size" or getattr(self, name) is not None:
                self._set(name, as_integer(_spell(name), getattr(self, name), least=1))
        self._set("seed", as_seed(self.seed, _spell("seed")))
        above = "a number above 0"
        self._set("lr", as_number(_spell("lr"), self.lr, expected=above))
        if not self.lr > 0:
            raise ArgumentError(f"{_spell('lr')} must be {above}, got {self.lr}")
        if self.weight_decay is not None:
            self._set("weight_decay", self._shrinks())

    def _shrinks(self) -> float:
        """Checks the weight decay."""
        expected = "a number from 0"
        return as_number(
            _spell("weight_decay"), self.weight_decay, expected=expected, least=0
        )

    def for_network(self, network: Any) -> Self:
        """Gives the settings with what the network chooses where nothing was asked for."""
        chosen = self
        if self.epochs is None:
            chosen = replace(chosen, epochs=getattr(network, "epochs", None))
        if self.weight_decay is None:
            own: float | None = getattr(network, "weight_decay", None)
            chosen = replace(chosen, weight_decay=_DECAY if own is None else own)
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """Gives the fields by name."""
        return asdict(self)

    def _set(self, name: str, value: float) -> None:
        """Replaces a field while the settings are made."""
        object.__setattr__(self, name, value)


def _spell(name: str) -> str:
    """Names an argument as Python and the command line know it."""
    return f"{name} (--{name.replace('_', '-')})"
