"""A loader for accelerators: CPU-only processes read raw records, this one collates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from seqloom._system import total_memory
from seqloom._warning import warn_user
from seqloom.data._paths import expand
from seqloom.data._position import check_integer
from seqloom.data.loader._loader import DataLoader
from seqloom.data.loader._packed_batches import PackedFileBatches, can_pack
from seqloom.data.loader._raw_batches import MEMORY, RawBatches, RawFiles
from seqloom.errors import ArgumentError, MissingExtraError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from seqloom.data.loader._arguments import LoaderSettings, WorkerOptions
    from seqloom.data.loader._loader import BatchSource

    Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]

TIMEOUT = 300.0


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
    worker_init_fn: Callable[[int], Any] | None = None,
    max_length: int | None = None,
) -> DataLoader:
    """Makes a loader that reads sequence files in processes and collates here.

    The workers are spawned with all GPUs hidden. They only read: they do not tokenise, and
    they do not load a model. Each file is read once: plain FASTA is cut into parts of
    2 MiB, of which each worker takes the records that begin there; a small file is one
    part; a long one that is packed, or FASTQ, is read by one worker, chunk by chunk. The
    collator runs in this process, so that no record is left behind in a worker: each
    record is delivered exactly once, in the order of the files, with any number of
    workers. A saved state goes on with any number of workers too.

    With ``VarlenCollator(tokens=Tokens(...))`` no process is needed: ``PackedStream`` makes
    the same batches in threads of Rust, and a state goes on without making those before.

    Args:
        files: A file, a pattern, or several of them.
        collate_fn: Makes a batch of a list of items ``{id, sequence, file, ordinal}``. One
            with a method ``stream``, such as ``VarlenCollator``, decides itself how many
            items a batch has.
        num_workers: Number of processes that read; 0 reads in this process.
        prefetch_factor: Parts of files that each worker reads ahead.
        batch_size: Items in a batch, if ``collate_fn`` has no ``stream``.
        pin_memory: Whether tensors are put into pinned memory, from which a GPU copies
            faster; None does so if torch finds CUDA.
        timeout: Seconds to wait for a worker.
        worker_memory: Bytes of memory above which a worker is replaced.
        output: ``"torch"`` or ``"numpy"``; None takes torch if it is installed.
        worker_init_fn: Called with its number in each new process. With it processes read
            in any case, for ``VarlenCollator`` too.
        max_length: Residues of each sequence to keep, from its start; the rest is cut off.
            None keeps whole sequences.

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
    if max_length is not None:
        check_integer("max_length", max_length, least=1)
    pins = _decide_pin(output, pin_memory)
    return AsyncLoader(
        RawFiles(expand(files), worker_memory, max_length),
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


def _decide_pin(output: str, pin_memory: bool | None) -> bool:  # noqa: FBT001 - private
    """Decides whether memory is pinned: if requested, or if there is CUDA."""
    if find_spec("torch") is None:
        if pin_memory:
            raise MissingExtraError("pin_memory=True needs torch: pip install torch")
        return False
    if pin_memory is not None or output != "torch":
        return bool(pin_memory)
    import torch

    return torch.cuda.is_available()


class AsyncLoader(DataLoader):
    """The loader that ``create_async_dataloader`` makes."""

    def _choose(self, settings: LoaderSettings) -> BatchSource:
        checked = replace(settings, convert=PinnedCheck(settings.convert, settings.workers))
        is_whole = settings.dataset.max_length is None
        if is_whole and can_pack(settings):
            return PackedFileBatches(checked)
        return RawBatches(checked)


@dataclass(slots=True)
class PinnedCheck:
    """Converts batches, and looks at the first one: too much memory may be pinned."""

    convert: Callable[[Any], Any]
    workers: WorkerOptions
    is_checked: bool = False

    def __call__(self, batch: Any) -> Any:
        """Converts a batch."""
        converted = self.convert(batch)
        if not self.is_checked:
            self.is_checked = True
            warn_of_pinned(converted, self.workers.ahead)
        return converted


def warn_of_pinned(batch: Any, ahead: int, *, memory: int | None = None) -> None:
    """Warns where pinned batches could take more than half of the machine's memory."""
    if memory is None:
        memory = total_memory()
    pinned = _pinned_bytes(batch) * max(1, ahead)
    if memory and pinned > memory / 2:
        warn_user(
            f"{ahead} batches ahead would pin {pinned / 2**30:.1f} GiB, more than half of "
            f"this machine's {memory / 2**30:.1f} GiB: pass a smaller prefetch_factor or "
            "num_workers, or pin_memory=False",
            ResourceWarning,
        )


def _pinned_bytes(batch: Any) -> int:
    """Counts the bytes of pinned tensors."""
    if isinstance(batch, dict):
        values: list[Any] = list(batch.values())  # pyright: ignore[reportUnknownArgumentType]
        return sum(map(_pinned_bytes, values))
    is_pinned = getattr(batch, "is_pinned", None)
    return batch.nbytes if is_pinned is not None and is_pinned() else 0
