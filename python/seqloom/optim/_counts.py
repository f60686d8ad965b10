"""How many steps each parameter has made: late ones begin to count when they first move."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import RecordError
from seqloom.tensor._leaves import Counter, new_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf


class Counts:
    """The steps of an optimiser, and those of parameters that have made fewer.

    Parameters that always moved together share one counter, so that a step of a whole model
    raises one number.

    Attributes:
        total: How many steps were made.

    Examples:
        >>> Counts().total.number
        0
    """

    def __init__(self) -> None:
        self.total = Counter()
        self._fewer: dict[str, Counter] = {}  # by path; all others have made every step
        self._last: list[str] = []
        self._flat: tuple[Any, list[Leaf]] = ((), [self.total])

    def begin(self, known: Iterable[str], moved: list[str], backend: Backend) -> None:
        """Sees to it that all parameters of one counter move in this step, or none.

        Args:
            known: The paths that moved before.
            moved: Those that move now.
            backend: The backend of the step.
        """
        if moved == self._last:
            return
        now, before = set(moved), set(known)
        self._begin_late(now - before, before, backend)
        for counter, paths in self._by_counter(before).items():
            # Who moves keeps counting the whole; else whoever stays keeps the counter.
            parted = paths - now if counter is self.total else paths & now
            if parted and (parted != paths or counter is self.total):
                self._part(parted, counter.settled(), backend)
        self._last = list(moved)
        self._flatten()

    def raised(self, moved: list[str], backend: Backend) -> dict[Counter, Array]:
        """The next number of each counter that this step raises; nothing is changed yet.

        Args:
            moved: The paths that move.
            backend: The backend of the step.

        Returns:
            Arrays, or Python's numbers, by counter.
        """
        counters = dict.fromkeys([self.total, *map(self.of, moved)])
        return {counter: counter.next(backend) for counter in counters}

    def of(self, path: str) -> Counter:
        """The counter of a parameter."""
        return self._fewer.get(path, self.total)

    def facts(self) -> dict[str, Any]:
        """What a record says of the steps."""
        fewer = {path: counter.number for path, counter in self._fewer.items()}
        facts: dict[str, Any] = {"step_count": self.total.number}
        return {**facts, "step_counts": fewer} if fewer else facts

    def take(self, facts: Mapping[str, Any]) -> None:
        """Takes the steps up from a record's facts."""
        if "step_count" not in facts:
            raise RecordError(
                "this is not the record of an optimiser: step_count is missing"
            )
        total: Any = facts["step_count"]
        fewer = cast("dict[str, Any]", facts.get("step_counts", {}))
        mapped = isinstance(cast("Any", fewer), dict)
        numbers: list[Any] = [total, *fewer.values()] if mapped else [None]
        if not all(type(each) is int and each >= 0 for each in numbers):
            raise RecordError(
                f"the optimiser's steps are whole numbers from 0 up, by path where they "
                f"differ; the record has {str(total)[:60]} and {str(fewer)[:60]}"
            )
        self.total.number = total
        made: dict[int, Counter] = {}
        self._fewer, self._last = {}, []
        for path, number in fewer.items():
            counter = self._fewer[path] = made.setdefault(number, Counter())
            counter.number = number
        self._flatten()

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Which parameters share a counter, and the counters."""
        return self._flat

    def _begin_late(self, new: set[str], before: set[str], backend: Backend) -> None:
        """Parameters that move for the first time; at the first step they are all."""
        if new and (before or self.total.settled()):
            self._part(new, 0, backend)

    def _part(self, paths: set[str], number: int, backend: Backend) -> None:
        """Gives some parameters a counter of their own."""
        counter = new_counter(backend, number)
        self._fewer |= dict.fromkeys(sorted(paths), counter)

    def _by_counter(self, paths: set[str]) -> dict[Counter, set[str]]:
        """The paths of each counter."""
        found: dict[Counter, set[str]] = {}
        for path in paths:
            found.setdefault(self.of(path), set()).add(path)
        return found

    def _flatten(self) -> None:
        """Lays the counters out in a row: a step asks for that each time."""
        row = list(dict.fromkeys([self.total, *self._fewer.values()]))
        places = tuple((path, row.index(each)) for path, each in self._fewer.items())
        self._flat = places, list(row)
