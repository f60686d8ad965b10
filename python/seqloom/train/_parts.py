"""The parts of the data that a run uses."""

from collections.abc import Iterator
from dataclasses import dataclass

from seqloom.models import Examples


@dataclass(frozen=True, slots=True)
class Parts:
    """What to learn from, what to choose the epoch by, what to be judged on."""

    train: Examples
    valid: Examples | None
    test: Examples | None

    def named(self) -> Iterator[tuple[str, Examples]]:
        """Gives the parts that are there."""
        pairs = {"training": self.train, "validation": self.valid, "test": self.test}
        yield from ((name, part) for name, part in pairs.items() if part is not None)
