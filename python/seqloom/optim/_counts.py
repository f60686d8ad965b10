"""Counts the steps of each parameter, from its first update on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from seqloom.errors import RecordError
from seqloom.tensor._leaves import Counter, new_counter

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from seqloom.tensor._backend import Array, Backend
    from seqloom.tensor._leaves import Leaf


class Counts:
    """The number of steps of an optimiser, and of less often updated parameters."""

    # Parameters that were always updated together share one counter, so that a step of a
    # whole model increments one number.

    def __init__(self) -> None:
        self.total = Counter()
        self._fewer: dict[str, Counter] = {}  # by path; all others were always updated
        self._last: list[str] = []
        self._flat: tuple[Any, list[Leaf]] = ((), [self.total])

    def begin(self, known: Iterable[str], updated: list[str], backend: Backend) -> None:
        """Splits the counters so that this step updates all parameters of one, or none."""
        if updated == self._last:
            return
        now, before = set(updated), set(known)
        self._start_new(now - before, before, backend)
        for counter, paths in self._group_by_counter(before).items():
            # The updated paths keep the total; of another counter the others keep it.
            split = paths - now if counter is self.total else paths & now
            if split and (split != paths or counter is self.total):
                self._split_off(split, counter.read_committed(), backend)
        self._last = list(updated)
        self._flatten()

    def find_next(self, updated: list[str], backend: Backend) -> dict[Counter, Array]:
        """Returns the next number of each counter of this step, without a change."""
        counters = dict.fromkeys([self.total, *map(self.of, updated)])
        return {counter: counter.next(backend) for counter in counters}

    def rename(self, moved: Mapping[str, str]) -> None:
        """Lets the counters follow parameters whose path has changed."""
        self._fewer = {moved.get(path, path): it for path, it in self._fewer.items()}
        self._last = []
        self._flatten()

    def of(self, path: str) -> Counter:
        """Returns the counter of a parameter."""
        return self._fewer.get(path, self.total)

    def to_facts(self) -> dict[str, Any]:
        """Returns the numbers of steps as the metadata of a record."""
        fewer = {path: counter.number for path, counter in self._fewer.items()}
        facts: dict[str, Any] = {"step_count": self.total.number}
        return {**facts, "step_counts": fewer} if fewer else facts

    def load(self, facts: Mapping[str, Any]) -> None:
        """Sets the numbers of steps from the metadata of a record."""
        if "step_count" not in facts:
            raise RecordError(
                "the record is not an optimiser's: its metadata lacks step_count"
            )
        total: Any = facts["step_count"]
        fewer = cast("dict[str, Any]", facts.get("step_counts", {}))
        is_dict = isinstance(cast("Any", fewer), dict)
        numbers: list[Any] = [total, *fewer.values()] if is_dict else [None]
        if not all(type(number) is int and number >= 0 for number in numbers):
            raise RecordError(
                "an optimiser's record needs integers from 0 up for step_count, and by "
                f"path for step_counts; got {str(total)[:60]} and {str(fewer)[:60]}"
            )
        self.total.number = total
        counters: dict[int, Counter] = {}
        self._fewer, self._last = {}, []
        for path, number in fewer.items():
            counter = self._fewer[path] = counters.setdefault(number, Counter())
            counter.number = number
        self._flatten()

    def leaves(self) -> tuple[Any, list[Leaf]]:
        """Returns which parameters share a counter, and the counters."""
        return self._flat

    def _start_new(self, new: set[str], before: set[str], backend: Backend) -> None:
        """Starts the count of parameters that are updated for the first time."""
        if new and (before or self.total.read_committed()):
            self._split_off(new, 0, backend)

    def _split_off(self, paths: set[str], number: int, backend: Backend) -> None:
        """Gives some parameters a new counter."""
        counter = new_counter(backend, number)
        self._fewer |= dict.fromkeys(sorted(paths), counter)

    def _group_by_counter(self, paths: set[str]) -> dict[Counter, set[str]]:
        """Groups paths by their counter."""
        groups: dict[Counter, set[str]] = {}
        for path in paths:
            groups.setdefault(self.of(path), set()).add(path)
        return groups

    def _flatten(self) -> None:
        """Lists the counters once, because every compiled step needs the list."""
        counters = list(dict.fromkeys([self.total, *self._fewer.values()]))
        indices = tuple((path, counters.index(c)) for path, c in self._fewer.items())
        self._flat = indices, [*counters]
