"""`create_async_dataloader`, which creates a loader whose worker processes use no GPU."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._system import count_cores, total_memory
from seqloom._warning import warn_user
from seqloom.data._paths import expand_paths
from seqloom.data._position import check_integer
from seqloom.data.collate._output import choose_converter
from seqloom.data.collate._varlen import VarlenCollator
from seqloom.data.loader._batches import (
    BatchSource,
    CustomBatches,
    batch_items,
    number_batches,
    packed_batches,
)
from seqloom.data.loader._executor import Executor
from seqloom.data.loader._loader import DataLoader
from seqloom.data.loader._order import FailedBatch, Request, unwrap
from seqloom.data.loader._raw import RawReader, RawStep, read_chunks, split_files
from seqloom.data.packed._stream import PackedStream
from seqloom.encode import Tokens
from seqloom.errors import ArgumentError, FormatError, MissingExtraError, WorkerError
from seqloom.io._settings import check_not_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from seqloom.data.loader._batches import Batches
    from seqloom.data.loader._order import EpochOrder, EpochProgress
    from seqloom.data.loader._raw import RawChunk, RawPart
    from seqloom.data.loader._settings import LoaderSettings, WorkerOptions

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

WORKER_MEMORY_BYTES = 2 << 30
WORKER_SECONDS = 300.0
# Keys of a packed batch that are returned, and keys that are converted to int64.
_PACKED_KEYS = (
    *("input_ids", "position_ids", "cu_seqlens", "max_seqlen"),
    *("sequence_ids", "ordinals", "num_sequences"),
)
_INT64_KEYS = frozenset(("input_ids", "position_ids"))


def create_async_dataloader(
    files: Paths,
    collate_fn: Callable[[list[Any]], Any],
    num_workers: int = 4,
    *,
    prefetch_factor: int = 4,
    batch_size: int = 32,
    pin_memory: bool | None = None,
    timeout: float = WORKER_SECONDS,
    worker_memory: int = WORKER_MEMORY_BYTES,
    output: str | None = None,
    worker_init_fn: Callable[[int], Any] | None = None,
    max_length: int | None = None,
) -> DataLoader:
    """Return a loader that reads files in worker processes and collates in this process.

    Workers are spawned without access to GPUs. Workers only read records; they do not
    tokenise or load a model. Plain FASTA is read in ranges of 2 MiB by different workers.
    Any other file is read by a single worker: a small file at once, a large file in chunks.
    Each record is delivered exactly once, in file order, with any number of workers. A
    saved state resumes with any number of workers.

    With ``VarlenCollator(tokens=Tokens(...))``, ``PackedStream`` makes the same batches in
    Rust threads instead of processes, and resumes without repeating earlier batches.

    Args:
        files: One or more files or patterns.
        collate_fn: A function from a list of items ``{id, sequence, file, ordinal}`` to a
            batch. A collator with a method ``stream``, such as ``VarlenCollator``, chooses
            the items of each batch.
        num_workers: The number of processes; 0 reads in this process.
        prefetch_factor: The number of chunks that each worker reads ahead.
        batch_size: The number of items in a batch, if ``collate_fn`` has no ``stream``.
        pin_memory: If True, tensors are in pinned memory, from which copies to a GPU are
            faster; None pins memory if PyTorch finds a CUDA device.
        timeout: The maximum time to wait for a worker, in seconds.
        worker_memory: The maximum memory of a worker in bytes; a worker that uses more is
            replaced.
        output: ``"torch"`` or ``"numpy"``; None means ``"torch"`` if PyTorch is installed.
        worker_init_fn: A function that is called with the worker's number in each new
            process; if it is given, ``VarlenCollator`` also uses processes instead of
            threads.
        max_length: Sequences are truncated to this number of residues; None does not
            truncate.

    Returns:
        A loader with persistent workers; ``close`` stops them.

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
    if max_length is not None:
        check_integer("max_length", max_length, least=1)
    pins = _decide_pinning(output, pin_memory)
    return DataLoader(
        RawFiles(expand_paths(files), worker_memory, max_length),
        batch_size,
        num_workers=num_workers,
        collate_fn=collate_fn,
        pin_memory=pins,
        timeout=timeout if num_workers else 0,
        worker_init_fn=worker_init_fn,
        multiprocessing_context="spawn" if num_workers else None,
        prefetch_factor=prefetch_factor if num_workers else None,
        persistent_workers=num_workers > 0,
        output=output,
    )


def _decide_pinning(output: str, pin_memory: bool | None) -> bool:  # noqa: FBT001 - private
    if find_spec("torch") is None:
        if pin_memory:
            raise MissingExtraError("pin_memory=True needs torch: pip install torch")
        return False
    if pin_memory is not None or output != "torch":
        return bool(pin_memory)
    import torch

    return torch.cuda.is_available()


@dataclass(frozen=True, slots=True)
class RawFiles(CustomBatches):
    """Files whose raw records are read in file order, with any number of workers."""

    paths: tuple[str, ...]
    max_bytes: int = WORKER_MEMORY_BYTES  # Maximum memory of a worker.
    max_length: int | None = None  # Maximum residues of a sequence.

    def __iter__(self) -> Iterator[Any]:
        """Read all records in this process."""
        return self.items(chunk for path in self.paths for chunk in read_chunks(path))

    def items(self, chunks: Iterator[RawChunk]) -> Iterator[dict[str, Any]]:
        """Yield the records of chunks as items, numbered over all files."""
        first = 0
        for chunk in chunks:
            for item in chunk.items(first):
                item["sequence"] = item["sequence"][: self.max_length]
                yield item
            first += len(chunk)

    def batch_source(self, settings: LoaderSettings) -> BatchSource:
        """Return the batches; processes or Rust threads read their records."""
        settings = replace(
            settings, convert=PinnedMemoryCheck(settings.convert, settings.workers)
        )
        collate: Any = settings.collate
        # Without custom code, Rust makes the batches.
        is_native = type(collate) is VarlenCollator and type(collate.tokens) is Tokens
        is_whole = self.max_length is None and settings.workers.worker_init_fn is None
        if is_native and is_whole:
            identity: dict[str, Any] = {"files": [*self.paths], "is_packed": True}
            return BatchSource(
                partial(read_packed_batches, settings=settings),
                _raise_unknown_count,
                lambda _: identity,
            )
        environment = {"CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}
        reading = replace(
            settings,
            check_worker=check_cpu_only,
            environment=environment,
            max_bytes=self.max_bytes,
        )
        executor = Executor(RawReader(), reading, is_stateful=True)
        identity = {
            "files": [*self.paths],
            "max_length": self.max_length,
            "batch_size": settings.batching.batch_size,
        }
        return BatchSource(
            partial(iterate_raw_batches, settings=settings, executor=executor, parts=[]),
            _raise_unknown_count,
            lambda _: identity,
            executor,
        )


def _raise_unknown_count(_: EpochOrder) -> int:
    """Raise, because the number of batches of a file is unknown."""
    raise TypeError("the number of batches is not known before the files are read")


def iterate_raw_batches(
    start: EpochProgress,
    order: EpochOrder,
    *,
    settings: LoaderSettings,
    executor: Executor,
    parts: list[RawPart],  # empty until the first epoch
) -> Batches:
    """Yield the batches of the records of files."""
    files, workers = settings.dataset, settings.workers.num_workers
    if workers and not parts:
        for path in files.paths:
            check_not_stream(path)
        parts += split_files(files.paths)

    def items(epoch: int, _: EpochOrder) -> Iterator[Any]:
        """Yield records that this process or its workers read."""
        if not workers:
            return iter(files)
        return files.items(_read_chunks(executor, epoch, parts=parts, workers=workers))

    if settings.is_packed:
        return packed_batches(start, order, settings=settings, items=items)
    # A resumed epoch reads the earlier records again, but does not collate them.
    size = settings.batching.batch_size
    rest = islice(items(start.epoch, order), start.position * (size or 1), None)
    return number_batches(
        settings, batch_items(rest, size, collate=settings.collate), start
    )


def _read_chunks(
    executor: Executor, epoch: int, *, parts: list[RawPart], workers: int
) -> Iterator[RawChunk]:
    """Yield the records of all files in order, as chunks."""
    ended: set[RawPart] = set()
    done: Counter[int] = Counter()  # number of yielded records of each file
    faulty: set[int] = set()
    requests = _make_requests(parts, epoch, ended, workers=workers)
    with closing(executor.run(requests)) as answers:
        for request, answer in answers:
            part: RawPart = request.content.part
            if part.file in faulty:
                continue
            is_failed = isinstance(answer, FailedBatch) and not part.is_long
            if is_failed and isinstance(answer.error, FormatError):
                # Read the file from its start here, to yield all records before the
                # error.
                faulty.add(part.file)
                yield from read_chunks(part.path, done[part.file])
                continue
            chunks: list[RawChunk] = unwrap(answer)
            if not chunks:
                ended.add(part)
            done[part.file] += sum(map(len, chunks))
            yield from chunks


def _make_requests(
    parts: list[RawPart], epoch: int, ended: set[RawPart], *, workers: int
) -> Iterator[Request]:
    """Yield requests for all files; a long range of a file has several requests."""
    number = 0
    for part in parts:
        if not part.is_long:
            yield Request(RawStep(part), epoch)
            continue
        step = 0
        while part not in ended:
            yield Request(RawStep(part, step), epoch, worker=number % workers)
            step += 1
        number += 1


def check_cpu_only() -> None:
    """Raise if this worker process can access a GPU."""
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


def read_packed_batches(
    start: EpochProgress, order: EpochOrder, *, settings: LoaderSettings
) -> Batches:
    """Yield batches that are packed in Rust and equal those of the collator bitwise."""
    del order
    collate: Any = settings.collate
    workers = settings.workers.num_workers
    stream = PackedStream(
        settings.dataset.paths,
        collate.tokens,
        max_tokens=collate.max_tokens,
        window=collate.window,
        empty="keep",
        # The calling thread makes batches too.
        num_threads=max(2, min(workers + 1, count_cores())) if workers else 1,
    )
    if start.stream_state is not None:
        stream.load_state_dict(start.stream_state)
    convert = choose_converter(collate.output)
    for position, packed in enumerate(stream, start.position + 1):
        batch = {key: packed[key] for key in _PACKED_KEYS}
        batch |= {key: batch[key].astype(np.int64) for key in _INT64_KEYS}
        request = Request(None, start.epoch, position=position)
        request.stream_state = stream.state_dict
        yield request, settings.convert(convert(batch))


@dataclass(slots=True)
class PinnedMemoryCheck:
    """Converts batches; warns once if pinned batches may need too much memory."""

    convert: Callable[[Any], Any]
    workers: WorkerOptions
    is_checked: bool = False

    def __call__(self, batch: Any) -> Any:
        """Convert a batch."""
        converted = self.convert(batch)
        if not self.is_checked:
            self.is_checked = True
            warn_of_pinned_memory(converted, self.workers.ahead)
        return converted


def warn_of_pinned_memory(batch: Any, ahead: int, *, memory: int | None = None) -> None:
    """Warn if pinned batches could take more than half of the memory."""
    if memory is None:
        memory = total_memory()
    pinned = _count_pinned_bytes(batch) * max(1, ahead)
    if memory and pinned > memory / 2:
        warn_user(
            f"{ahead} batches ahead would pin {pinned / 2**30:.1f} GiB, more than half of "
            f"this machine's {memory / 2**30:.1f} GiB: pass a smaller prefetch_factor or "
            "num_workers, or pin_memory=False",
            ResourceWarning,
        )


def _count_pinned_bytes(batch: Any) -> int:
    if isinstance(batch, dict):
        values: list[Any] = list(batch.values())  # pyright: ignore[reportUnknownArgumentType]
        return sum(map(_count_pinned_bytes, values))
    is_pinned = getattr(batch, "is_pinned", None)
    return batch.nbytes if is_pinned is not None and is_pinned() else 0
