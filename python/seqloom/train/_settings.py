"""The numbers that decide a training run, checked before any work."""

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

from seqloom._arguments import as_flag, as_integer, as_number, as_seed, quote
from seqloom.errors import ArgumentError
from seqloom.train._update import EQUAL

_NEEDED = {"batch_size", "lr", "accumulate"}
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
    clip_norm: float | None = None
    accumulate: int = 1
    weight_average: float | str | None = None
    drop_last: bool = False

    def __post_init__(self) -> None:
        # NumPy's numbers become Python's, because a checkpoint holds them as JSON.
        for name in ("epochs", "batch_size", "early_stop", "accumulate"):
            if name in _NEEDED or getattr(self, name) is not None:
                self._set(name, as_integer(_spell(name), getattr(self, name), least=1))
        self._set("seed", as_seed(self.seed, _spell("seed")))
        self._set("drop_last", as_flag("drop_last", self.drop_last))
        for name in ("lr", "clip_norm"):
            if name in _NEEDED or getattr(self, name) is not None:
                self._set(name, self._above_0(name))
        if self.weight_average is not None:
            self._set("weight_average", self._average())
        if self.weight_decay is not None:
            self._set("weight_decay", self._shrinks())

    def _above_0(self, name: str) -> float:
        """Checks a number that must be positive."""
        above = "a number above 0"
        value = as_number(_spell(name), getattr(self, name), expected=above)
        if not value > 0:
            raise ArgumentError(f"{_spell(name)} must be {above}, got {value}")
        return value

    def _average(self) -> float | str:
        """Checks the decay of the weight average."""
        value, expected = self.weight_average, f"a number from 0 to below 1, or {EQUAL!r}"
        if value == EQUAL:
            return EQUAL
        if isinstance(value, str):
            raise ArgumentError(
                f"{_spell('weight_average')} must be {expected}, got {quote(value)}"
            )
        decay = as_number(_spell("weight_average"), value, expected=expected, least=0)
        if decay >= 1:
            raise ArgumentError(
                f"{_spell('weight_average')} must be {expected}, got {decay}"
            )
        return decay

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

    def _set(self, name: str, value: float | str) -> None:
        """Replaces a field while the settings are made."""
        object.__setattr__(self, name, value)


def _spell(name: str) -> str:
    """Names an argument as Python and the command line know it."""
    return f"{name} (--{name.replace('_', '-')})"
