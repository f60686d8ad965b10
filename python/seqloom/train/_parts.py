"""The parts of the data that a run uses."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from seqloom.data import Dataset
from seqloom.models._learned import LearnedEncoder, seen_by


@dataclass(frozen=True, slots=True)
class Parts:
    """The training, validation and test part; the last two may be None."""

    train: Any  # Examples, or LoaderBatches
    valid: Any | None
    test: Any | None

    def list_named(self) -> Iterator[tuple[str, Any]]:
        """Yields the parts that are not None, with their names."""
        pairs = {"training": self.train, "validation": self.valid, "test": self.test}
        yield from ((name, part) for name, part in pairs.items() if part is not None)

    def fit_encoder(self) -> "Parts":
        """Fits an encoder that learns to the training part, and uses it for all parts."""
        encoder: Any = self.train.encoder
        if not isinstance(encoder, LearnedEncoder) or encoder.is_fitted:
            return self
        learned, wholes = encoder.fit(self.train), dict[int, Any]()
        parts: Any = (self.train, self.valid, self.test)
        return Parts(*(part and _seen(learned, part, wholes) for part in parts))


def _seen(encoder: Any, part: Any, wholes: dict[int, Any]) -> Any:
    """Returns a part with another encoder; parts of one dataset stay parts of one."""
    whole = part.whole if isinstance(part, Dataset) else part
    if id(whole) not in wholes:
        wholes[id(whole)] = seen_by(encoder, whole)
    seen = wholes[id(whole)]
    return seen if whole is part else seen.select(part.indices)
