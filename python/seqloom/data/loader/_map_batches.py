"""Batches of a map-style dataset: from the positions in a request to a batch.

There are three ways, the fastest first: Rust makes the batch without the interpreter
(`data/_batch.py`); the dataset's ``batch`` makes it as columns, one array for each
name; or items are fetched one by one and collated.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._threads import count_threads
from seqloom.data._position import epoch_of, positions
from seqloom.data.loader._draws import with_draws
from seqloom.data.loader._executor import Executor, attempt
from seqloom.data.loader._iterable_batches import ReplayedBatches, fingerprint_of
from seqloom.data.loader._own_code import ColumnMaker, column_maker, is_ours, with_encoder
from seqloom.data.loader._request import mark_last, unwrap
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from seqloom._rust import _native
    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder
    from seqloom.data.loader._request import EpochProgress, Request

_Array: Any = np.ndarray  # Any: a checker would not know the element type
_AT_ONCE = 256  # the fewest items that one request fetches for a packing collator


class MapBatches:
    """Batches of a map-style dataset."""

    def __init__(self, settings: LoaderSettings) -> None:
        self._settings = settings
        # Workers make several batches at once; without them several threads make one batch.
        threads = 1 if settings.workers.num_workers else count_threads()
        is_batched = settings.batching.is_batched
        make = MapBatchMaker(settings.dataset, settings.collate, is_batched, threads)
        self._executor = Executor(with_draws(make, settings), settings)

    def epoch(
        self, start: EpochProgress, order: EpochOrder
    ) -> Generator[tuple[Request, Any]]:
        """Yields requests with their batches, or with what they raised."""
        requests = mark_last(order.requests(start.epoch, start.position))
        with closing(self._executor.run(requests)) as answers:
            for request, batch in answers:
                yield request, attempt(self._finish, request, batch)

    def _finish(self, request: Request, batch: Any) -> Any:
        """Marks padding, and converts the batch to the loader's output."""
        unwrap(batch)  # raises the exception of a batch that could not be made
        if request.padding is not None and isinstance(batch, dict):
            batch["is_padding"] = request.padding
        return self._settings.convert(batch)

    def count(self, order: EpochOrder) -> int:
        """Counts the batches of an epoch."""
        return len(order)

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must share with this loader."""
        settings = self._settings
        identity = {"size": order.size, "seed": settings.seed}
        identity["shuffle"] = settings.batching.shuffle
        return identity | fingerprint_of(settings.dataset)

    def close(self) -> None:
        """Ends processes."""
        self._executor.close()


class PackedMapBatches(ReplayedBatches):
    """Batches that a packing collator makes of single items.

    Workers fetch the items. The collator runs in this process, because an item may have to
    wait in it for the items of another worker.
    """

    def __init__(self, settings: LoaderSettings) -> None:
        super().__init__(settings)
        make = MapBatchMaker(settings.dataset, None)
        fetching = replace(settings, collate=None)
        self._executor = Executor(with_draws(make, fetching), fetching)

    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        return self._pack(self._items(epoch, order))

    def _items(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        """Yields the items of this rank, each of them once."""
        size = max(_AT_ONCE, order.batching.batch_size or 1)
        batching = replace(order.batching, batch_size=size, drop_last=False)
        rank = replace(order.rank, even="uneven")
        requests = replace(order, batching=batching, rank=rank).requests(epoch)
        with closing(self._executor.run(requests)) as answers:
            for _, items in answers:
                yield from unwrap(items)

    def count(self, order: EpochOrder) -> int:
        """Refuses to guess the number of batches."""
        raise TypeError(
            f"the number of batches of a packing collator is not known before all "
            f"{order.size:,} items have been packed"
        )

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must share with this loader, the ranks too."""
        settings, rank = self._settings, order.rank
        identity = {"items": order.size, "seed": settings.seed}
        identity["shuffle"] = settings.batching.shuffle
        identity |= {"rank": rank.number, "world_size": rank.world}
        return identity | fingerprint_of(settings.dataset)

    def close(self) -> None:
        """Ends processes."""
        self._executor.close()


@dataclass(frozen=True, slots=True)
class MapBatchMaker:
    """Makes one batch of a map-style dataset, in this process or in a worker."""

    dataset: Any
    collate: Callable[[Any], Any] | None
    is_batched: bool = True
    num_threads: int = 1  # that one batch may use
    _columns: ColumnMaker | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        encoder = getattr(self.dataset, "encoder", None)
        object.__setattr__(self, "collate", with_encoder(self.collate, encoder))
        is_columnar = callable(getattr(self.dataset, "batch", None))
        if self.is_batched and is_columnar and is_ours(self.dataset):
            object.__setattr__(self, "_columns", column_maker(encoder, self.collate))

    def __call__(self, request: Request) -> Any:
        """Makes one batch."""
        if self._columns is not None:
            return self._make_columns(self._columns, request)
        indices = request.positions()
        if not self.is_batched:
            item = self.dataset[indices]
            return item if self.collate is None else self.collate(item)
        items = _fetch_items(self.dataset, indices)
        return items if self.collate is None else self.collate(items)

    def _make_columns(self, columns: ColumnMaker, request: Request) -> Any:
        """Makes one batch as columns, in Rust where it can be."""
        dataset, rows = self.dataset, request.content
        if request.is_checked and getattr(dataset, "supports_native_batches", False):
            native = dataset.native_batches(**columns.options)
            return columns.finish(native.make(rows, self.num_threads), dataset.encoder)
        epoch = epoch_of(rows)
        batch = dataset.batch(
            _as_array(rows),
            epoch=request.epoch if epoch is None else epoch,
            num_threads=self.num_threads,
            **columns.options,
        )
        return columns.finish(batch, dataset.encoder)

    @property
    def supports_native_batches(self) -> bool:
        """Whether threads can make batches without the interpreter."""
        return self._columns is not None and getattr(
            self.dataset, "supports_native_batches", False
        )

    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], Callable[[], Any]]:
        """Returns a function that starts a batch in the threads of ``maker``."""
        # That function returns another one, which waits for the batch.
        dataset, columns, size = self.dataset, self._columns, len(self.dataset)
        if columns is None:
            raise ArgumentError("this dataset's batches need Python")
        begin = dataset.native_batches(**columns.options).begin

        def start(request: Request) -> Callable[[], Any]:
            rows = request.content
            if not request.is_checked:
                rows = positions(_as_array(rows), size)
            wait = begin(maker, rows)
            return lambda: columns.finish(wait(), dataset.encoder)

        return start


def _as_array(rows: Any) -> Any:
    """Converts positions of a sampler to an array."""
    array = rows if isinstance(rows, _Array) else np.array(rows, ndmin=1)
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"sampler must give integers, got {rows!r}")
    return array.astype(np.int64, copy=False)


def _fetch_items(dataset: Any, indices: Iterable[Any]) -> list[Any]:
    """Fetches items, all at once where the dataset can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(indices)
    return [dataset[index] for index in indices]
