"""Batches of an iterable dataset, which a resumed epoch makes again from its start."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._draws import draw_each
from seqloom.data.loader._executor import Executor
from seqloom.data.loader._request import Request, unwrap, with_last
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder
    from seqloom.data.loader._request import EpochProgress


_END: Any = object()  # what follows the last item


class ReplayedBatches(ABC):
    """Batches that can only be made one after the other, from the first one on."""

    def __init__(self, settings: LoaderSettings) -> None:
        self._settings = settings

    @abstractmethod
    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        """Yields all batches of an epoch."""

    @abstractmethod
    def count(self, order: EpochOrder) -> int:
        """Counts the batches of an epoch."""

    @abstractmethod
    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with."""

    @abstractmethod
    def close(self) -> None:
        """Ends processes."""

    def epoch(
        self, start: EpochProgress, order: EpochOrder
    ) -> Generator[tuple[Request, Any]]:
        """Yields batches; those before the start are made again and dropped."""
        batches = self._batches_from(start, order)
        numbered = enumerate(self._with_last(batches), start.position + 1)
        for position, (batch, is_last) in numbered:
            request = Request(None, start.epoch, position=position, is_last=is_last)
            yield request, self._convert(batch)

    def _batches_from(self, start: EpochProgress, order: EpochOrder) -> Iterator[Any]:
        """Yields what is left of an epoch."""
        batches = self._batches(start.epoch, order)
        for number in range(start.position):
            if next(batches, _END) is _END:
                raise ArgumentError(
                    f"the saved state is after batch {start.position:,} of the epoch, but "
                    f"the dataset now has {number:,} batches; resume with the same data, "
                    "or call set_epoch to begin an epoch"
                )
        yield from batches

    def _with_last(self, batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
        """Says of each batch whether it is the last."""
        return with_last(batches)

    def _convert(self, batch: Any) -> Any:
        """Converts a batch to the loader's output."""
        return self._settings.convert(batch)

    def _pack(self, items: Iterable[Any]) -> Iterator[Any]:
        """Lets the packing collator make batches of single items."""
        collate: Any = self._settings.collate
        return collate.stream(items)


class IterableBatches(ReplayedBatches):
    """Batches of a user's iterable dataset: each worker process has a copy of it."""

    def __init__(self, settings: LoaderSettings, *, is_packed: bool) -> None:
        super().__init__(settings)
        self._is_packed = is_packed
        batching = settings.batching
        self._read = partial(
            _read_batches,
            settings.dataset,
            size=None if is_packed else batching.batch_size,
            drop_last=batching.drop_last,
            collate=None if is_packed else settings.collate,
            seed=settings.seed,
        )
        self._executor = Executor(NumberedBatches(self._read), settings, in_processes=True)

    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        del order
        workers = self._settings.workers.num_workers
        if workers:
            items = take_in_rotation(self._executor, epoch, workers)
        else:
            items = self._read(epoch, 0)
        return self._pack(items) if self._is_packed else items

    def _with_last(self, batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
        # To know the last one, a batch is taken ahead; a user's code that runs here may
        # then write over the batch before it.
        if not self._settings.workers.num_workers:
            return ((batch, False) for batch in batches)
        return super()._with_last(batches)

    def count(self, order: EpochOrder) -> int:
        """Counts the batches of an epoch, where the dataset has a length."""
        del order
        return count_batches(self._settings, is_packed=self._is_packed)

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with, as batches are made again."""
        del order
        return replay_identity(self._settings)

    def close(self) -> None:
        """Ends processes."""
        self._executor.close()


def _read_batches(
    dataset: Any,
    epoch: int,
    worker: int | None,
    *,
    size: int | None,
    drop_last: bool,
    collate: Callable[[Any], Any] | None,
    seed: int,
) -> Iterator[Any]:
    """Begins an epoch of an iterable dataset, whose copy knows what is its part."""
    if callable(getattr(dataset, "set_epoch", None)):
        dataset.set_epoch(epoch)
    batches = _begin(dataset, size, drop_last=drop_last, collate=collate)
    return draw_each(batches, seed, epoch, worker or 0)


def _begin(dataset: Any, size: int | None, **options: Any) -> Iterator[Any]:
    """Iterates over a dataset from its first batch on, not before."""
    yield from cut(_take_items(dataset), size, **options)


def _take_items(dataset: Any) -> Iterator[Any]:
    """Yields the items of one pass."""
    # PyTorch calls iter() once for each pass. A dataset that is its own iterator begins
    # again at every call, and islice() and for loops call it too.
    items = iter(dataset)
    while (item := next(items, _END)) is not _END:
        yield item


def cut(
    items: Iterator[Any],
    size: int | None,
    *,
    drop_last: bool = False,
    collate: Callable[[Any], Any] | None = None,
) -> Iterator[Any]:
    """Makes batches of ``size`` items; None leaves the items alone."""
    parts = items if size is None else _parts(items, size, drop_last=drop_last)
    return (part if collate is None else collate(part) for part in parts)


def _parts(items: Iterator[Any], size: int, *, drop_last: bool) -> Iterator[list[Any]]:
    """Yields the items of each batch."""
    while part := list(islice(items, size)):
        if drop_last and len(part) < size:
            return
        yield part


@dataclass(slots=True)
class NumberedBatches:
    """Makes the k-th batch of a worker; a restarted worker skips those before it."""

    begin: Callable[[int, int | None], Iterator[Any]]  # of an epoch and a worker
    _begun: tuple[int, int | None] | None = field(init=False, default=None)
    _count: int = field(init=False, default=0)
    _rest: Iterator[Any] = field(init=False, default=iter(()))

    def __call__(self, request: Request) -> tuple[Any, ...]:
        """Returns the one batch, or an empty tuple if there are no more."""
        wanted = request.epoch, request.worker
        if self._begun != wanted or request.content < self._count:
            self._rest, self._count = self.begin(*wanted), 0
            self._begun = wanted
        found: tuple[Any, ...] = ()
        while self._count <= request.content:
            found = tuple(islice(self._rest, 1))
            self._count += 1
        return found


def take_in_rotation(executor: Executor, epoch: int, workers: int) -> Generator[Any]:
    """Takes one batch of each worker after the other, until none has any more."""
    ended: set[int | None] = set()

    def requests() -> Iterator[Request]:
        number = 0
        while len(ended) < workers:
            for worker in range(workers):
                if worker not in ended:
                    yield Request(number, epoch, worker=worker)
            number += 1

    with closing(executor.run(requests())) as answers:
        for request, answer in answers:
            batch = unwrap(answer)
            if not batch:
                ended.add(request.worker)
            yield from batch


def count_batches(settings: LoaderSettings, *, is_packed: bool) -> int:
    """Counts the batches of an iterable dataset that has a length."""
    items, batching = len(settings.dataset), settings.batching
    if is_packed:
        raise TypeError(
            "the number of batches of a packing collator is not known before all items "
            "have been packed"
        )
    size = batching.batch_size or 1
    return items // size if batching.drop_last else -(-items // size)


def replay_identity(settings: LoaderSettings) -> dict[str, Any]:
    """Returns what must be the same for batches to be made again."""
    identity = {"seed": settings.seed} | fingerprint_of(settings.dataset)
    identity["batch_size"] = settings.batching.batch_size
    identity["num_workers"] = settings.workers.num_workers
    return identity


def fingerprint_of(dataset: Any) -> dict[str, Any]:
    """Returns the fingerprint of a dataset's content, where it has one."""
    if callable(getattr(dataset, "fingerprint", None)):
        return {"fingerprint": dataset.fingerprint()}
    return {}
