"""Iterate over the batches of an epoch, for each type of dataset and collator.

Batches of a map-style dataset and of a `SequenceStream` are requested from an executor.
This process reads the stream, so workers need no copy of it. Custom iterables and packing
collators make batches in sequence, so a resumed epoch repeats the earlier batches.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom._system import count_cores
from seqloom.data.loader._executor import Executor, call_or_catch, seed_each
from seqloom.data.loader._makers import MapBatchMaker, StreamBatchMaker
from seqloom.data.loader._order import EpochProgress, Request, flag_last, mark_last, unwrap
from seqloom.data.loader._settings import WorkerOptions, is_iterable
from seqloom.data.packed._stream import PackedStream
from seqloom.data.stream._stream import SequenceStream
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from seqloom.data.loader._order import EpochOrder
    from seqloom.data.loader._settings import LoaderSettings

    # Each request with its batch, or with a `FailedBatch`; a failed batch does not end
    # the epoch.
    Batches = Generator[tuple[Request, Any]]
    Items = Callable[[int, EpochOrder], Iterator[Any]]  # (epoch, order) -> items

_MIN_PACKED_ITEMS = 256  # minimum number of items per request, for a packing collator
_MAX_FEW_CORES = 2
_END_OF_BATCHES: Any = object()  # marks the end of an iterator


@dataclass(frozen=True, slots=True)
class BatchSource:
    """The batches of a loader."""

    epoch: Callable[[EpochProgress, EpochOrder], Batches]  # Batches after a position.
    count: Callable[[EpochOrder], int]  # Number of batches of an epoch.
    identity: Callable[[EpochOrder], dict[str, Any]]  # Settings in saved states.
    executor: Executor | None = None  # Stopped by `DataLoader.close`.
    is_ordered: bool = False  # If True, the loader determines the order.


class CustomBatches(ABC):
    """A dataset that provides its batches itself."""

    @abstractmethod
    def batch_source(self, settings: LoaderSettings) -> BatchSource:
        """Return the batches of this dataset, for a loader with some settings."""


def choose_batch_source(settings: LoaderSettings) -> BatchSource:
    """Return the batches of a loader, as its dataset and collator require."""
    dataset = settings.dataset
    if isinstance(dataset, CustomBatches):
        return dataset.batch_source(settings)
    if not is_iterable(dataset):
        return _pack_map(settings) if settings.is_packed else _make_map_source(settings)
    # A subclass that overrides __iter__ is a custom iterable.
    is_stream = isinstance(dataset, SequenceStream)
    if is_stream and type(dataset).__iter__ is SequenceStream.__iter__:
        return _pack_stream(settings) if settings.is_packed else _stream_source(settings)
    if isinstance(dataset, PackedStream):  # a PackedStream has its own threads
        settings = replace(settings, workers=WorkerOptions())
    return _iterable_source(settings)


def _make_map_source(settings: LoaderSettings) -> BatchSource:
    make = MapBatchMaker(settings)
    executor = Executor(make, settings)
    return BatchSource(
        partial(map_batches, settings=settings, executor=executor),
        len,
        lambda order: {
            "size": order.size,
            "seed": settings.seed,
            "shuffle": settings.batching.shuffle,
            **read_fingerprint(settings.dataset),
        },
        executor,
        is_ordered=True,
    )


def map_batches(
    start: EpochProgress, order: EpochOrder, *, settings: LoaderSettings, executor: Executor
) -> Batches:
    """Yield the batches of a map-style dataset."""

    def finish(request: Request, batch: Any) -> Any:
        """Mark padding items, and convert the batch."""
        unwrap(batch)  # raises the exception of a failed batch
        if request.padding is not None and isinstance(batch, dict):
            batch["is_padding"] = request.padding
        return settings.convert(batch)

    requests = mark_last(order.requests(start.epoch, start.position))
    with closing(executor.run(requests)) as answers:
        for request, batch in answers:
            yield request, call_or_catch(finish, request, batch)


def _stream_source(settings: LoaderSettings) -> BatchSource:
    make = StreamBatchMaker(settings)
    executor = Executor(make, settings)
    return BatchSource(
        partial(stream_batches, settings=settings, executor=executor),
        lambda _: count_batches(settings),
        lambda _: {"seed": settings.seed} | read_fingerprint(settings.dataset),
        executor,
    )


def stream_batches(
    start: EpochProgress, order: EpochOrder, *, settings: LoaderSettings, executor: Executor
) -> Batches:
    """Yield the batches of a `SequenceStream`; an exception ends the epoch."""
    part, rank = settings.dataset, order.rank
    if rank.world > 1:
        part = part.shard(rank.number, rank.world)
    part.set_epoch(start.epoch)
    if start.stream_state is not None:
        part.load_state_dict(start.stream_state)
    size, drop_last = settings.batching.batch_size or 1, settings.batching.drop_last
    # With more than two cores, a thread reads ahead.
    ahead = settings.workers.num_workers > 0 and count_cores() > _MAX_FEW_CORES

    def requests() -> Iterator[Request]:
        pieces = part.pieces(size, ahead=ahead)
        whole = (piece for piece in pieces if not drop_last or len(piece) == size)
        for position, piece in enumerate(whole, start.position + 1):
            content = piece.chunk.copy_detached() if executor.uses_processes else piece
            request = Request(content, start.epoch, position=position)
            request.place = rank.number + rank.world * (position - 1)
            request.stream_state = partial(getattr, piece, "state")
            yield request

    with closing(executor.run(mark_last(requests()))) as answers:
        for request, batch in answers:
            yield request, settings.convert(unwrap(batch))


def _iterable_source(settings: LoaderSettings) -> BatchSource:
    batching, is_packed = settings.batching, settings.is_packed
    options: dict[str, Any] = {"size": None, "drop_last": batching.drop_last}
    if not is_packed:
        options |= {"size": batching.batch_size, "collate": settings.collate}
    read = partial(_read_batches, dataset=settings.dataset, seed=settings.seed, **options)
    executor = Executor(NumberedBatches(read), settings, is_stateful=True)
    workers = settings.workers.num_workers

    def batches(epoch: int, _: EpochOrder) -> Iterator[Any]:
        """Yield batches, or the items for a packing collator."""
        return _take_in_rotation(executor, epoch, workers) if workers else read(epoch, 0)

    epoch = packed_batches if is_packed else iterate_batches
    return BatchSource(
        partial(epoch, settings=settings, items=batches, looks_ahead=workers > 0),
        lambda _: count_batches(settings),
        lambda _: replay_identity(settings),
        executor,
    )


def iterate_batches(
    start: EpochProgress,
    order: EpochOrder,
    *,
    settings: LoaderSettings,
    items: Items,
    looks_ahead: bool = True,
) -> Batches:
    """Yield the batches after the start position; make and drop earlier batches."""
    rest = _skip_batches(items(start.epoch, order), start.position)
    return number_batches(settings, rest, start, looks_ahead=looks_ahead)


def number_batches(
    settings: LoaderSettings,
    rest: Iterator[Any],
    start: EpochProgress,
    *,
    looks_ahead: bool = True,
) -> Batches:
    """Yield the remaining batches of an epoch, converted and with their positions."""
    # To mark the last batch, the next batch must be made before a batch is yielded.
    # Without workers, batches are not made ahead, because custom code may reuse the
    # memory of a batch.
    marked = flag_last(rest) if looks_ahead else ((batch, False) for batch in rest)
    for position, (batch, is_last) in enumerate(marked, start.position + 1):
        request = Request(None, start.epoch, position=position, is_last=is_last)
        yield request, settings.convert(batch)


def _skip_batches(batches: Iterator[Any], count: int) -> Iterator[Any]:
    """Skip the batches before the position of a saved state."""
    for number in range(count):
        if next(batches, _END_OF_BATCHES) is _END_OF_BATCHES:
            raise ArgumentError(
                f"the saved state is after batch {count:,} of the epoch, but the dataset "
                f"now has {number:,} batches; resume with the same data, or call "
                "set_epoch to begin an epoch"
            )
    yield from batches


def packed_batches(
    start: EpochProgress,
    order: EpochOrder,
    *,
    settings: LoaderSettings,
    items: Items,
    looks_ahead: bool = True,
) -> Batches:
    """Yield the batches of a packing collator."""
    # Workers fetch the items. The collator runs in this process, because it combines
    # items of different workers.
    collate: Any = settings.collate
    batches = collate.stream(items(start.epoch, order))
    rest = _skip_batches(batches, start.position)
    return number_batches(settings, rest, start, looks_ahead=looks_ahead)


def _pack_map(settings: LoaderSettings) -> BatchSource:
    size = max(_MIN_PACKED_ITEMS, settings.batching.batch_size or 1)
    batching = replace(settings.batching, batch_size=size, drop_last=False)
    fetching = replace(settings, batching=batching, collate=None)
    executor = Executor(MapBatchMaker(fetching), fetching)

    def items(epoch: int, order: EpochOrder) -> Iterator[Any]:
        """Yield the items of this rank, each exactly once."""
        rank = replace(order.rank, even="uneven")
        requests = replace(order, batching=batching, rank=rank).requests(epoch)
        with closing(executor.run(requests)) as answers:
            for _, rows in answers:
                yield from unwrap(rows)

    def count(order: EpochOrder) -> int:
        raise TypeError(
            f"the number of batches of a packing collator is not known before all "
            f"{order.size:,} items have been packed"
        )

    return BatchSource(
        partial(packed_batches, settings=settings, items=items),
        count,
        lambda order: {
            "items": order.size,
            "seed": settings.seed,
            "shuffle": settings.batching.shuffle,
            "rank": order.rank.number,
            "world_size": order.rank.world,
            **read_fingerprint(settings.dataset),
        },
        executor,
    )


def _pack_stream(settings: LoaderSettings) -> BatchSource:
    # The random numbers depend on the number of items in a request, so that number is
    # fixed.
    batching = replace(settings.batching, batch_size=_MIN_PACKED_ITEMS, drop_last=False)
    single = _stream_source(
        replace(settings, batching=batching, collate=None, convert=list)
    )

    def items(epoch: int, order: EpochOrder) -> Iterator[Any]:
        """Yield the items of this rank."""
        with closing(single.epoch(EpochProgress(epoch), order)) as batches:
            for _, rows in batches:
                yield from rows

    return BatchSource(
        partial(packed_batches, settings=settings, items=items),
        lambda _: count_batches(settings),
        lambda order: {
            "seed": settings.seed,
            "rank": order.rank.number,
            "world_size": order.rank.world,
            "stream": settings.dataset.state_at(0, 0),
        },
        single.executor,
    )


def _read_batches(
    epoch: int, worker: int | None, *, dataset: Any, seed: int, **options: Any
) -> Iterator[Any]:
    """Yield the batches of an epoch of an iterable dataset, or of this worker's copy."""
    if callable(getattr(dataset, "set_epoch", None)):
        dataset.set_epoch(epoch)
    return seed_each(batch_items(_take_items(dataset), **options), seed, epoch, worker or 0)


def _take_items(dataset: Any) -> Iterator[Any]:
    # Call iter() once per pass, as PyTorch does, because a dataset that is its own
    # iterator restarts at every call. Functions such as islice() call iter() too.
    items = iter(dataset)
    while (item := next(items, _END_OF_BATCHES)) is not _END_OF_BATCHES:
        yield item


def batch_items(
    items: Iterable[Any],
    size: int | None,
    *,
    drop_last: bool = False,
    collate: Callable[[Any], Any] | None = None,
) -> Iterator[Any]:
    """Yield batches of ``size`` items; None yields single items."""
    rest = iter(items)
    while part := list(islice(rest, size or 1)):
        if drop_last and len(part) < (size or 1):
            return
        batch = part[0] if size is None else part
        yield batch if collate is None else collate(batch)


@dataclass(slots=True)
class NumberedBatches:
    """Returns the k-th batch of a worker; a restarted worker skips earlier batches."""

    begin: Callable[[int, int | None], Iterator[Any]]  # (epoch, worker) -> batches
    _begun: tuple[int, int | None] | None = field(init=False, default=None)
    _count: int = field(init=False, default=0)
    _rest: Iterator[Any] = field(init=False, default=iter(()))

    def __call__(self, request: Request) -> tuple[Any, ...]:
        """Return a tuple with the batch; after the last batch, an empty tuple."""
        wanted = request.epoch, request.worker
        if self._begun != wanted or request.content < self._count:
            self._rest, self._count = self.begin(*wanted), 0
            self._begun = wanted
        found: tuple[Any, ...] = ()
        while self._count <= request.content:
            found = tuple(islice(self._rest, 1))
            self._count += 1
        return found


def _take_in_rotation(executor: Executor, epoch: int, workers: int) -> Generator[Any]:
    """Yield one batch of each worker in turn, until all workers are done."""
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


def count_batches(settings: LoaderSettings) -> int:
    """Return the number of batches of an iterable dataset with a length."""
    items, batching = len(settings.dataset), settings.batching
    if settings.is_packed:
        raise TypeError(
            "the number of batches of a packing collator is not known before all items "
            "have been packed"
        )
    size = batching.batch_size or 1
    return items // size if batching.drop_last else -(-items // size)


def replay_identity(settings: LoaderSettings) -> dict[str, Any]:
    """Return the settings that determine the batches, to compare with a saved state."""
    identity = {"seed": settings.seed} | read_fingerprint(settings.dataset)
    identity["batch_size"] = settings.batching.batch_size
    identity["num_workers"] = settings.workers.num_workers
    return identity


def read_fingerprint(dataset: Any) -> dict[str, Any]:
    """Return the fingerprint of a dataset, if it has one."""
    if callable(getattr(dataset, "fingerprint", None)):
        return {"fingerprint": dataset.fingerprint()}
    return {}
