"""Batches of what has an order of its own: streams, generators, torch's IterableDataset."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._failure import checked
from seqloom.data.loader._serve import Work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Ended:
    """What a worker answers when its part of the items has come to an end.

    Examples:
        >>> isinstance(Ended(), Ended)
        True
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """How a row of items becomes batches.

    Args:
        size: Items in a batch; None leaves items alone.
        drop_last: Leaves out a last batch that is not full.
        collate: Puts items together; None leaves them as they are.

    Examples:
        >>> list(Cut(size=2).batches(iter("abc")))
        [['a', 'b'], ['c']]
    """

    size: int | None
    drop_last: bool = False
    collate: Callable[[Any], Any] | None = None

    def batches(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yields batches."""
        collate = self.collate
        return (part if collate is None else collate(part) for part in self.parts(items))

    def parts(self, items: Iterator[Any]) -> Iterator[Any]:
        """Yields the items of each batch."""
        if self.size is None:
            yield from items
            return
        while part := list(islice(items, self.size)):
            if self.drop_last and len(part) < self.size:
                return
            yield part


@dataclass(frozen=True, slots=True)
class Turn:
    """Asks a worker for its k-th batch of an epoch.

    Args:
        epoch: Which epoch.
        count: Which batch of this worker, from 0.
        worker: Which worker.

    Examples:
        >>> Turn(0, 2).count
        2
    """

    epoch: int
    count: int
    worker: int = 0

    def __str__(self) -> str:
        return f"batch {self.count} of worker {self.worker}, epoch {self.epoch}"


@dataclass(slots=True)
class Follow:
    """Goes through an iterable dataset in a worker, which has a copy of it.

    A worker that was started again passes over what the one before it has handed out.

    Args:
        dataset: The items.
        cut: How they become batches.

    Examples:
        >>> follow = Follow([1, 2, 3], Cut(size=2))
        >>> follow(Turn(0, 1)), type(follow(Turn(0, 2))).__name__
        ([3], 'Ended')
    """

    dataset: Any
    cut: Cut
    _epoch: int | None = field(init=False, default=None)
    _had: int = field(init=False, default=0)
    _batches: Any = field(init=False, default=None)

    def __call__(self, turn: Turn) -> Any:
        """Makes one batch, or says that there are no more."""
        if self._epoch != turn.epoch or turn.count < self._had:
            self._begin(turn.epoch)
        batch: Any = Ended()
        while self._had <= turn.count:
            batch = next(self._batches, Ended())
            self._had += 1
        return batch

    def whole(self, epoch: int) -> Iterator[Any]:
        """Yields all batches of an epoch."""
        self._begin(epoch)
        yield from self._batches

    def _begin(self, epoch: int) -> None:
        """Starts from the first item."""
        if callable(getattr(self.dataset, "set_epoch", None)):
            self.dataset.set_epoch(epoch)
        self._batches = self.cut.batches(iter(self.dataset))
        self._epoch, self._had = epoch, 0


@dataclass(slots=True)
class Turns:
    """Asks several workers in turn, until each has said that it has no more.

    Args:
        epoch: Which epoch.
        workers: How many workers.

    Examples:
        >>> turns = Turns(0, 2)
        >>> [(work.worker, work.content.count) for work in islice(turns.works(), 3)]
        [(0, 0), (1, 0), (0, 1)]
    """

    epoch: int
    workers: int
    _ended: set[int] = field(init=False, default_factory=set[int])

    def works(self) -> Iterator[Work]:
        """Lists what to ask, without end where nobody says so."""
        count = 0
        while len(self._ended) < self.workers:
            for worker in range(self.workers):
                if worker not in self._ended:
                    yield Work(Turn(self.epoch, count, worker), worker=worker)
            count += 1

    def taken(self, answers: Iterator[tuple[Work, Any]]) -> Iterator[Any]:
        """Yields batches, and notes who has no more."""
        for work, answer in answers:
            if not isinstance(answer, Ended):
                yield checked(answer)
            elif work.worker is not None:
                self._ended.add(work.worker)
