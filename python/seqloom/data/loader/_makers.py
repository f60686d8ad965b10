"""Make batches from the indices of a dataset or from the records of a stream.

If possible, Rust code makes a batch without the interpreter. If Rust code cannot make the
batch, the dataset's ``batch`` returns columns. If the dataset or the collator is custom,
items are fetched one by one and collated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom._threads import count_threads, supports_threads
from seqloom.data._dataset import Dataset
from seqloom.data._position import as_indices, stored_epoch
from seqloom.data.collate._collate import default_collate, unequal_length_error
from seqloom.data.collate._pad import PadCollator
from seqloom.data.loader._executor import BatchFunction
from seqloom.data.stream._piece import StreamBatch
from seqloom.data.stream._resumable import Resumable
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from seqloom._rust import _native
    from seqloom.data._batch import NativeBatchMaker
    from seqloom.data.loader._executor import FinishBatch
    from seqloom.data.loader._order import Request
    from seqloom.data.loader._settings import LoaderSettings
    from seqloom.data.stream._chunk import ChunkSource

_Array: Any = np.ndarray


class ColumnMaker(Protocol):
    """Converts columns of a dataset to the batch of a collator."""

    @property
    def options(self) -> Mapping[str, Any]:
        """The options of the dataset's ``batch``."""
        ...

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Return the batch that the collator would return for the items."""
        ...


class _UnpaddedColumns:
    """Columns of sequences of equal length, for ``default_collate``."""

    options: Mapping[str, Any] = MappingProxyType({})

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Raise if the batch has padding; remove the lengths."""
        del encoder
        lengths = batch.pop("lengths", None)  # batches of genotypes have no lengths
        if "mask" in batch:
            raise unequal_length_error(lengths.min(), lengths.max())
        return batch


class _BatchFormat:
    """Converts items, or the columns of a dataset with an encoder, to a batch."""

    def __init__(self, settings: LoaderSettings, encoder: Any) -> None:
        collate: Any = settings.collate
        if isinstance(collate, PadCollator) and collate.encoder is None:
            # The encoder determines the padding value.
            collate = replace(collate, encoder=encoder)
        self.collate, self.encoder = collate, encoder
        self.is_batched = settings.batching.is_batched
        self.columns: ColumnMaker | None = None
        # Without workers, several threads make one batch; each worker uses one thread.
        self.num_threads = 1 if settings.workers.num_workers else count_threads()
        dataset = settings.dataset
        has_columns = isinstance(dataset, (Dataset, Resumable)) and self.is_batched
        if encoder is None or not has_columns or not supports_threads(dataset):
            return
        if collate is default_collate:
            self.columns = _UnpaddedColumns()
        # Encoder and collator must have the same axis of positions.
        elif type(collate) is PadCollator and collate.takes_columns(encoder):
            self.columns = collate

    def finish_columns(self, columns: dict[str, Any]) -> dict[str, Any]:
        """Return the batch that the collator makes from a dataset's columns."""
        maker = self.columns
        return columns if maker is None else maker.finish(columns, self.encoder)

    def collate_items(self, items: Any) -> Any:
        """Collate items; without a collator, return the items unchanged."""
        return items if self.collate is None else self.collate(items)


class MapBatchMaker(BatchFunction):
    """Makes batches of a map-style dataset, in this process or in a worker."""

    def __init__(self, settings: LoaderSettings) -> None:
        self.dataset = settings.dataset
        self._collating = _BatchFormat(settings, getattr(self.dataset, "encoder", None))

    @property
    def supports_native_batches(self) -> bool:
        """True if threads can make batches without the interpreter."""
        if self._collating.columns is None or not isinstance(self.dataset, Dataset):
            return False
        return self.dataset.supports_native_batches

    def __call__(self, request: Request) -> Any:
        """Return the batch of a request."""
        collating, dataset = self._collating, self.dataset
        if collating.columns is not None:
            batch = self._make_columns(request, collating.columns.options)
            return collating.finish_columns(batch)
        indices = request.positions()
        if not collating.is_batched:
            return collating.collate_items(dataset[indices])
        if callable(getattr(dataset, "__getitems__", None)):
            return collating.collate_items(dataset.__getitems__(indices))
        return collating.collate_items([dataset[index] for index in indices])

    def _make_columns(self, request: Request, options: Mapping[str, Any]) -> Any:
        dataset, rows = self.dataset, request.content
        num_threads = self._collating.num_threads
        # Indices that the loader has computed are valid, so they are not checked again.
        if request.is_checked and dataset.supports_native_batches:
            return dataset.native_batches(**options).make(rows, num_threads)
        epoch = stored_epoch(rows)
        epoch = request.epoch if epoch is None else epoch
        rows = _as_array(rows)
        return dataset.batch(rows, epoch=epoch, num_threads=num_threads, **options)

    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], FinishBatch]:
        """Return a function that starts a batch in the threads of ``maker``."""
        # The returned function starts a batch and returns a function that waits for it.
        dataset, size = self.dataset, len(self.dataset)
        finish, columns = self._collating.finish_columns, self._collating.columns
        if columns is None:
            raise ArgumentError("Rust cannot make the batches of this dataset")
        begin = dataset.native_batches(**columns.options).begin

        def start(request: Request) -> FinishBatch:
            rows = request.content
            if not request.is_checked:
                rows = as_indices(_as_array(rows), size)
            wait = begin(maker, rows)
            return lambda: finish(wait())

        return start


def _as_array(rows: Any) -> Any:
    array = rows if isinstance(rows, _Array) else np.array(rows, ndmin=1)
    if array.size and array.dtype.kind not in "iu":
        raise ArgumentError(f"sampler must yield integers, got {rows!r}")
    return array.astype(np.int64, copy=False)


class StreamBatchMaker(BatchFunction):
    """Makes batches of the records of a stream; worker processes receive chunks."""

    def __init__(self, settings: LoaderSettings) -> None:
        self._stream = settings.dataset
        self._collating = _BatchFormat(settings, self._stream.encoder)

    @property
    def supports_native_batches(self) -> bool:
        """True if threads can make batches without the interpreter."""
        return self._collating.columns is not None and self._stream.supports_native_batches

    def __call__(self, request: Request) -> Any:
        """Return the batch of a request."""
        piece, collating = request.content, self._collating
        if not isinstance(piece, StreamBatch):  # worker processes receive a chunk
            piece = StreamBatch(self._stream, piece, request.epoch)
        if collating.columns is not None:
            options = collating.columns.options
            batch = piece.batch(num_threads=collating.num_threads, **options)
            return collating.finish_columns(batch)
        items = piece.items()
        return collating.collate_items(items if collating.is_batched else items[0])

    def starter(self, maker: _native.BatchMaker) -> Callable[[Request], FinishBatch]:
        """Return a function that starts a batch in the threads of ``maker``."""
        finish, columns = self._collating.finish_columns, self._collating.columns
        source: ChunkSource | None = None
        native: NativeBatchMaker | None = None

        def start(request: Request) -> FinishBatch:
            nonlocal source, native
            piece: StreamBatch = request.content
            if columns is None or not piece.stream.supports_native_batches:
                return partial(self, request)  # the user has set `augment`
            piece.check()
            # The batch maker of a chunk is cached, because a chunk has records of
            # several batches.
            if native is None or piece.chunk.source is not source:
                source, native = piece.chunk.source, piece.native_batches(**columns.options)
            wait = native.begin(maker, piece.chunk.rows)
            return lambda: finish(wait())

        return start
