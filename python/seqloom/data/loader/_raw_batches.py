"""Batches of raw records: processes read them, this one numbers and collates them."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom.data.loader._executor import Executor
from seqloom.data.loader._iterable_batches import ReplayedBatches, cut
from seqloom.data.loader._raw import RawReader, RawStep, divide, read_file
from seqloom.data.loader._request import FailedBatch, Request, unwrap
from seqloom.errors import FormatError, WorkerError
from seqloom.io._settings import check_regular

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder
    from seqloom.data.loader._raw import RawChunk, RawPart
    from seqloom.data.loader._request import EpochProgress

MEMORY = 2 << 30
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Files of which raw records are read, in order."""

    paths: tuple[str, ...]
    most_bytes: int = MEMORY  # of memory that a worker may use
    max_length: int | None = None  # residues of each sequence that are kept

    def __iter__(self) -> Iterator[Any]:
        """Reads all records here."""
        return self.items(chunk for path in self.paths for chunk in read_file(path))

    def items(self, chunks: Iterator[RawChunk]) -> Iterator[dict[str, Any]]:
        """Yields the records of chunks as items, numbered over all files."""
        first = 0
        for chunk in chunks:
            for item in chunk.items(first):
                item["sequence"] = item["sequence"][: self.max_length]
                yield item
            first += len(chunk)


class RawBatches(ReplayedBatches):
    """Batches of the records of files, in the order of the files for any workers."""

    def __init__(self, settings: LoaderSettings) -> None:
        super().__init__(settings)
        self._executor: Executor | None = None
        self._parts: list[RawPart] | None = None

    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        del order
        return self._collate(self._items(epoch))

    def _batches_from(self, start: EpochProgress, order: EpochOrder) -> Iterator[Any]:
        collate, size = self._settings.collate, self._settings.batching.batch_size
        if size is None or callable(getattr(collate, "stream", None)):
            return super()._batches_from(start, order)
        # Records that were in a batch are read again, but not collated.
        items = islice(self._items(start.epoch), start.position * size, None)
        return self._collate(items)

    def _collate(self, items: Iterator[Any]) -> Iterator[Any]:
        """Makes batches of items."""
        collate = self._settings.collate
        if callable(getattr(collate, "stream", None)):
            return self._pack(items)
        return cut(items, self._settings.batching.batch_size, collate=collate)

    def _items(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Reads records, here or in workers."""
        if not self._settings.workers.num_workers:
            return iter(self._settings.dataset)
        if self._executor is None:
            self._executor = self._start()
        return self._settings.dataset.items(self._chunks(self._executor, epoch))

    def _start(self) -> Executor:
        """Makes the workers, which see no GPU."""
        files = self._settings.dataset
        for path in files.paths:
            check_regular(path)
        self._parts = divide(files.paths)
        settings = replace(
            self._settings,
            check_worker=check_cpu_only,
            environment=HIDDEN,
            most_bytes=files.most_bytes,
        )
        return Executor(RawReader(), settings, in_processes=True)

    def _chunks(self, executor: Executor, epoch: int) -> Iterator[RawChunk]:
        """Takes the chunks of all parts in order."""
        ended: set[RawPart] = set()
        done: Counter[int] = Counter()  # records of each file that are out
        faulty: set[int] = set()
        with closing(executor.run(self._requests(epoch, ended))) as answers:
            for request, answer in answers:
                part: RawPart = request.content.part
                if part.file in faulty:
                    continue
                if _is_fault(part, answer):
                    # Only from its start can a file be read up to its fault.
                    faulty.add(part.file)
                    yield from read_file(part.path, done[part.file])
                    continue
                chunks: list[RawChunk] = unwrap(answer)
                if not chunks:
                    ended.add(part)
                done[part.file] += sum(map(len, chunks))
                yield from chunks

    def _requests(self, epoch: int, ended: set[RawPart]) -> Iterator[Request]:
        """Asks for all parts in order; for a long one until its worker has no more."""
        workers, is_long = self._settings.workers.num_workers, 0
        for part in self._parts or []:
            if not part.is_long:
                yield Request(RawStep(part), epoch)
                continue
            step = 0
            while part not in ended:
                yield Request(RawStep(part, step), epoch, worker=is_long % workers)
                step += 1
            is_long += 1

    def count(self, order: EpochOrder) -> int:
        """Refuses to guess the number of batches."""
        del order
        raise TypeError("the number of batches is not known before the files are read")

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with, as batches are made again."""
        del order
        return {
            "files": [*self._settings.dataset.paths],
            "max_length": self._settings.dataset.max_length,
            "batch_size": self._settings.batching.batch_size,
        }

    def close(self) -> None:
        """Ends processes."""
        if self._executor is not None:
            self._executor.close()


def _is_fault(part: RawPart, answer: Any) -> bool:
    """Tells a part that could not be read for a fault in the file."""
    is_failed = isinstance(answer, FailedBatch) and isinstance(answer.error, FormatError)
    return is_failed and not part.is_long


def check_cpu_only() -> None:
    """Refuses a worker process that could touch a GPU."""
    name = f"{multiprocessing.current_process().name} (pid {os.getpid()})"
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if seen != "":
        raise WorkerError(
            f"{name}: CUDA_VISIBLE_DEVICES is {seen!r}, expected '': a module that "
            "this worker imports has changed it"
        )
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        raise WorkerError(f"{name}: torch sees CUDA, but this worker must not use a GPU")
