"""A loader for accelerators: CPU-only processes read raw records, this one collates."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from seqloom.data._path import expand
from seqloom.data.loader._executor import Executor
from seqloom.data.loader._iterable_batches import (
    NumberedBatches,
    ReplayedBatches,
    cut,
    take_in_rotation,
)
from seqloom.data.loader._loader import DataLoader
from seqloom.data.loader._raw import count_files, divide, read_parts
from seqloom.errors import ArgumentError, MissingExtraError, WorkerError
from seqloom.io._origin import check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom.data.loader._arguments import LoaderSettings
    from seqloom.data.loader._epoch_order import EpochOrder

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

TIMEOUT = 300.0
MEMORY = 2 << 30
HIDDEN = {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}


def create_async_dataloader(
    files: Paths,
    collate_fn: Callable[[list[Any]], Any],
    num_workers: int = 4,
    *,
    prefetch_factor: int = 4,
    batch_size: int = 32,
    pin_memory: bool | None = None,
    timeout: float = TIMEOUT,
    worker_memory: int = MEMORY,
    output: str | None = None,
) -> DataLoader:
    """Makes a loader that reads sequence files in processes and collates here.

    The workers are spawned with all GPUs hidden. They only read: they do not tokenise, and
    they do not load a model. Files are divided among them by size, and a long file is split
    by record. The collator runs in this process, so that no record is left behind in a
    worker: each record is delivered exactly once, with any number of workers.

    Args:
        files: A file, a pattern, or several of them.
        collate_fn: Makes a batch of a list of items ``{id, sequence, file, ordinal}``. One
            with a method ``stream``, such as ``VarlenCollator``, decides itself how many
            items a batch has.
        num_workers: Number of processes that read; 0 reads in this process.
        prefetch_factor: Blocks of records that each worker reads ahead.
        batch_size: Items in a batch, if ``collate_fn`` has no ``stream``.
        pin_memory: Whether tensors are put into pinned memory, from which a GPU copies
            faster; None does so if torch finds CUDA.
        timeout: Seconds to wait for a worker.
        worker_memory: Bytes of memory above which a worker is replaced.
        output: ``"torch"`` or ``"numpy"``; None takes torch if it is installed.

    Returns:
        A loader with persistent workers; ``close`` ends them.

    Raises:
        ArgumentError: An argument has a wrong type or value.
        MissingExtraError: ``pin_memory=True``, but torch is not installed.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> loader = create_async_dataloader("a.fa", list, num_workers=0)
        >>> [item["sequence"] for batch in loader for item in batch]
        [b'ACGT', b'GG']
    """
    if not callable(collate_fn):
        raise ArgumentError(f"collate_fn must be a function, got {collate_fn!r}")
    if output is None:
        output = "torch" if find_spec("torch") else "numpy"
    pins = _decide_pin(output, pin_memory)
    return AsyncLoader(
        RawFiles(expand(files), worker_memory),
        batch_size,
        num_workers=num_workers,
        collate_fn=collate_fn,
        pin_memory=pins,
        timeout=timeout if num_workers else 0,
        multiprocessing_context="spawn" if num_workers else None,
        prefetch_factor=prefetch_factor if num_workers else None,
        persistent_workers=num_workers > 0,
        output=output,
    )


def _decide_pin(output: str, pin_memory: bool | None) -> bool:  # noqa: FBT001 - private
    """Decides whether memory is pinned: if requested, or if there is CUDA."""
    if find_spec("torch") is None:
        if pin_memory:
            raise MissingExtraError(
                "pin_memory=True needs torch: pip install seqloom[torch]"
            )
        return False
    if pin_memory is not None or output != "torch":
        return bool(pin_memory)
    import torch

    return torch.cuda.is_available()


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Files, of which worker processes read raw records."""

    paths: tuple[str, ...]
    most_bytes: int = MEMORY  # of memory that a worker may use

    def __iter__(self) -> Iterator[Any]:
        """Reads all records here, in order."""
        for chunk in read_parts(divide(count_files(self.paths), 1), 0, 0):
            yield from chunk.items()


class AsyncLoader(DataLoader):
    """The loader that ``create_async_dataloader`` makes."""

    def _choose(self, settings: LoaderSettings) -> RawBatches:
        return RawBatches(settings)


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


class RawBatches(ReplayedBatches):
    """Batches of raw records, which workers read and this process collates."""

    def __init__(self, settings: LoaderSettings) -> None:
        super().__init__(settings)
        self._executor: Executor | None = None
        self._is_checked = False

    def _batches(self, epoch: int, order: EpochOrder) -> Iterator[Any]:
        del order
        items, collate = self._items(epoch), self._settings.collate
        if callable(getattr(collate, "stream", None)):
            return self._pack(items)
        return cut(items, self._settings.batching.batch_size, collate=collate)

    def _items(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Takes records from one worker after the other, or reads them here."""
        workers = self._settings.workers.num_workers
        if not workers:
            yield from self._settings.dataset
            return
        if self._executor is None:
            self._executor = self._start(workers)
        for chunk in take_in_rotation(self._executor, epoch, workers):
            yield from chunk.items()

    def _start(self, workers: int) -> Executor:
        """Counts the files and divides them among worker processes."""
        files = self._settings.dataset
        for path in files.paths:
            check_regular(path)
        parts = divide(count_files(files.paths), workers)
        settings = replace(
            self._settings,
            check_worker=check_cpu_only,
            environment=HIDDEN,
            most_bytes=files.most_bytes,
        )
        reader = NumberedBatches(partial(read_parts, parts))
        return Executor(reader, settings, in_processes=True)

    def _convert(self, batch: Any) -> Any:
        converted = super()._convert(batch)
        if not self._is_checked:
            self._is_checked = True
            warn_of_pinned(converted, self._settings.workers.ahead)
        return converted

    def count(self, order: EpochOrder) -> int:
        """Refuses to guess the number of batches."""
        del order
        raise TypeError("the number of batches is not known before the files are read")

    def identity(self, order: EpochOrder) -> dict[str, Any]:
        """Returns what a saved state must agree with, as batches are made again."""
        del order
        return {
            "files": [*self._settings.dataset.paths],
            "num_workers": self._settings.workers.num_workers,
            "batch_size": self._settings.batching.batch_size,
        }

    def close(self) -> None:
        """Ends processes."""
        if self._executor is not None:
            self._executor.close()


def warn_of_pinned(batch: Any, ahead: int, *, memory: int | None = None) -> None:
    """Warns where pinned batches could take more than half of the machine's memory."""
    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    pinned = _pinned_bytes(batch) * max(1, ahead)
    if pinned > memory / 2:
        warnings.warn(
            f"{ahead} batches ahead would pin {pinned / 2**30:.1f} GiB, more than half of "
            f"this machine's {memory / 2**30:.1f} GiB: pass a smaller prefetch_factor or "
            "num_workers, or pin_memory=False",
            ResourceWarning,
            stacklevel=2,
        )


def _pinned_bytes(batch: Any) -> int:
    """Counts the bytes of pinned tensors."""
    if isinstance(batch, dict):
        values: list[Any] = list(batch.values())  # pyright: ignore[reportUnknownArgumentType]
        return sum(map(_pinned_bytes, values))
    is_pinned = getattr(batch, "is_pinned", None)
    return batch.nbytes if is_pinned is not None and is_pinned() else 0
