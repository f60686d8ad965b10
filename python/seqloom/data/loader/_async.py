"""A loader that keeps an accelerator fed: raw records from CPU-only processes."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

from seqloom.data._path import expand
from seqloom.data.loader._iterable import Cut, Turns
from seqloom.data.loader._loader import DataLoader
from seqloom.data.loader._mark import Mark, with_last
from seqloom.data.loader._raw import ReadParts, count_files, deal
from seqloom.errors import ArgumentError, MissingExtraError, WorkerError
from seqloom.io._origin import check_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom.data.loader._plan import Plan
    from seqloom.data.loader._recipe import Recipe
    from seqloom.data.loader._serve import Crew

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

    Workers are spawned without sight of a GPU; they read, and do nothing else: they never
    tokenise and never load a model. Files are shared out by size, the largest first, and a
    long one is split by record. The collator runs in this process, so that no record waits
    unseen in a worker: each comes exactly once, whatever the number of workers.

    Args:
        files: A file, a pattern, or several of them.
        collate_fn: Makes a batch of items ``{id, sequence, file, ordinal}``; one that has
            ``stream``, such as ``VarlenCollator``, decides itself how many.
        num_workers: How many processes read; 0 reads here.
        prefetch_factor: Blocks of records ahead for each of them.
        batch_size: Items in a batch, where ``collate_fn`` has no ``stream``.
        pin_memory: Puts tensors into memory that a GPU copies faster from; None does so
            where torch finds CUDA.
        timeout: Seconds to wait for a worker.
        worker_memory: Bytes beyond which a worker is replaced.
        output: ``"torch"`` or ``"numpy"``; None takes torch where it is installed.

    Returns:
        A loader whose workers persist; ``close`` ends them.

    Raises:
        ArgumentError: An argument makes no sense.
        MissingExtraError: Memory is to be pinned, and torch is not installed.

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
    """Decides whether memory is pinned: where asked for, or where there is CUDA."""
    if find_spec("torch") is None:
        if pin_memory:
            raise MissingExtraError(
                "pin_memory=True needs torch, which pins memory: pip install seqloom[torch]"
            )
        return False
    if pin_memory is not None or output != "torch":
        return bool(pin_memory)
    import torch

    return torch.cuda.is_available()


@dataclass(frozen=True, slots=True)
class RawFiles:
    """Files whose raw records are read in worker processes.

    Args:
        paths: The files.
        most_bytes: What memory a worker may have.

    Examples:
        >>> RawFiles(("a.fa",)).paths
        ('a.fa',)
    """

    paths: tuple[str, ...]
    most_bytes: int = MEMORY

    def __iter__(self) -> Iterator[Any]:
        """Reads all records here, in order."""
        parts = ReadParts(deal(count_files(self.paths), 1))
        for chunk in parts.chunks(0):
            yield from chunk.items()


class AsyncLoader(DataLoader):
    """The loader that ``create_async_dataloader`` makes.

    Examples:
        >>> AsyncLoader(RawFiles(("a.fa",)), collate_fn=list).batch_size
        1
    """

    def _choose(self, recipe: Recipe) -> RawBatches:
        return RawBatches(recipe)


def check_cpu_only() -> None:
    """Refuses a worker process that could touch a GPU."""
    name = f"{multiprocessing.current_process().name} (pid {os.getpid()})"
    seen = os.environ.get("CUDA_VISIBLE_DEVICES")
    if seen != "":
        raise WorkerError(
            f"{name}: CUDA_VISIBLE_DEVICES is {seen!r}, expected '': what this worker "
            "imports must not change it"
        )
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        raise WorkerError(f"{name}: torch sees CUDA in a worker that must not")


@dataclass(slots=True)
class RawBatches:
    """Batches of raw records.

    Args:
        recipe: What the loader was asked for; the dataset is ``RawFiles``.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice, Service
        >>> from seqloom.data.loader._recipe import Recipe
        >>> recipe = Recipe(dataset=RawFiles(()), choice=Choice(), service=Service())
        >>> RawBatches(recipe).close()
    """

    recipe: Recipe
    _crew: Crew | None = field(init=False, default=None)
    _warned: bool = field(init=False, default=False)

    def epoch(self, epoch: int, mark: Mark, plan: Plan) -> Iterator[tuple[Any, Mark, bool]]:
        """Yields batches, where the epoch is then, and whether it was the last."""
        del plan
        batches = islice(self._collated(self._items(epoch)), mark.position, None)
        for done, (batch, is_last) in enumerate(with_last(batches), mark.position + 1):
            yield self._converted(batch), Mark(done), is_last

    def _items(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Takes records from the workers in turn, or reads them here."""
        workers = self.recipe.service.num_workers
        if not workers:
            yield from self.recipe.dataset
            return
        if self._crew is None:
            self._crew = self._hire(workers)
        turns = Turns(epoch, workers)
        for chunk in turns.taken(self._crew.serve(turns.works())):
            yield from chunk.items()

    def _hire(self, workers: int) -> Crew:
        """Counts the files, deals them out, and starts processes."""
        files = self.recipe.dataset
        for path in files.paths:
            check_regular(path)
        read = ReadParts(deal(count_files(files.paths), workers))
        start = {
            "check": check_cpu_only,
            "environment": HIDDEN,
            "most_bytes": files.most_bytes,
        }
        return replace(self.recipe, start=start).crew(read)

    def _collated(self, items: Iterator[dict[str, Any]]) -> Iterator[Any]:
        """Makes batches here."""
        collate: Any = self.recipe.collate
        if callable(getattr(collate, "stream", None)):
            return collate.stream(items)
        return Cut(size=self.recipe.choice.batch_size, collate=collate).batches(items)

    def _converted(self, batch: Any) -> Any:
        """Makes tensors, and looks at what they take the first time."""
        converted = self.recipe.convert(batch)
        if not self._warned:
            self._warned = True
            warn_of_pinned(converted, self.recipe.service.ahead)
        return converted

    def count(self, plan: Plan) -> int:
        """Refuses to guess how many batches there will be."""
        del plan
        raise TypeError("how many batches there are is known when the files have been read")

    def identity(self, plan: Plan) -> dict[str, Any]:
        """Names what a state belongs to: batches are made again, all must be the same."""
        del plan
        recipe = self.recipe
        workers, size = recipe.service.num_workers, recipe.choice.batch_size
        return {
            "files": [*recipe.dataset.paths],
            "num_workers": workers,
            "batch_size": size,
        }

    def close(self) -> None:
        """Ends processes."""
        if self._crew is not None:
            self._crew.close()


def warn_of_pinned(batch: Any, ahead: int, *, memory: int | None = None) -> None:
    """Warns where pinned batches could take more than half of the machine's memory."""
    if memory is None:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    pinned = _pinned(batch) * max(1, ahead)
    if pinned > memory / 2:
        warnings.warn(
            f"{ahead} batches ahead would pin {pinned / 2**30:.1f} GiB, more than half of "
            f"this machine's {memory / 2**30:.1f} GiB: pass a smaller prefetch_factor or "
            "num_workers, or pin_memory=False",
            ResourceWarning,
            stacklevel=2,
        )


def _pinned(batch: Any) -> int:
    """Counts the bytes of pinned tensors."""
    if isinstance(batch, dict):
        values: list[Any] = list(batch.values())  # pyright: ignore[reportUnknownArgumentType]
        return sum(map(_pinned, values))
    is_pinned = getattr(batch, "is_pinned", None)
    return batch.nbytes if is_pinned is not None and is_pinned() else 0
