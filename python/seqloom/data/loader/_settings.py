"""The options of a loader, which are checked as in PyTorch."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_bool, as_integer, as_seed, check_callable, quote
from seqloom._threads import supports_threads
from seqloom.data.collate._collate import default_collate
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

PREFETCH_FACTOR = 2
# As in PyTorch, options that determine the batches cannot change after creation.
FIXED_OPTIONS = frozenset((
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "drop_last",
    "generator", "persistent_workers", "seed", "output", "rank", "world_size", "even_ranks",
))  # fmt: skip
MUTABLE_OPTIONS = frozenset((
    "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn",
    "multiprocessing_context", "prefetch_factor",
))  # fmt: skip
_START_METHODS = ("spawn", "forkserver", "fork")
_CONTAINER_TYPES = frozenset((range, str, bytes, np.ndarray))


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """Options that determine the items of each batch."""

    batch_size: int | None = 1  # None for single items
    shuffle: bool = False
    sampler: Any = None
    batch_sampler: Any = None
    drop_last: bool = False

    @property
    def is_batched(self) -> bool:
        """True if items are batched."""
        return self.batch_size is not None or self.batch_sampler is not None

    def check(self, *, iterable: bool) -> None:
        """Raise for options that exclude each other."""
        if iterable:
            self._check_iterable()
        for name in ("sampler", "batch_sampler"):
            value = getattr(self, name)
            is_order = hasattr(value, "__iter__") or hasattr(value, "__getitem__")
            if value is not None and (isinstance(value, (str, bytes)) or not is_order):
                raise ArgumentError(f"{name} must be a list of indices, got {quote(value)}")
        if self.sampler is not None and self.shuffle:
            raise ArgumentError("sampler option is mutually exclusive with shuffle")
        if self.batch_sampler is not None:
            self._check_batch_sampler()
        elif self.batch_size is not None:
            as_integer("batch_size", self.batch_size, least=1)
        elif self.drop_last:
            raise ArgumentError(
                "batch_size=None makes no batches: it is mutually exclusive with drop_last"
            )

    def _check_iterable(self) -> None:
        for name in ("shuffle", "sampler", "batch_sampler"):
            if getattr(self, name):
                raise ArgumentError(
                    f"{name} cannot be used with an iterable dataset, which has its "
                    f"own order: leave it out, got {name}={getattr(self, name)!r}"
                )

    def _check_batch_sampler(self) -> None:
        if (
            self.batch_size != 1
            or self.sampler is not None
            or self.drop_last
            or self.shuffle
        ):
            raise ArgumentError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                "sampler, and drop_last"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """Options of the workers."""

    num_workers: int = 0
    timeout: float = 0  # maximum seconds to wait for a batch; 0 for no limit
    worker_init_fn: Callable[[int], Any] | None = None
    context: Any = None  # a start method, or a context of multiprocessing
    prefetch_factor: int | None = None
    persistent: bool = False

    @property
    def ahead(self) -> int:
        """The maximum number of batches made ahead of the consumer."""
        factor = PREFETCH_FACTOR if self.prefetch_factor is None else self.prefetch_factor
        return max(1, factor) * self.num_workers

    def check(self) -> None:
        """Raise for invalid values, and for options that need workers."""
        as_integer("num_workers", self.num_workers)
        if not isinstance(self.timeout, (int, float)) or not self.timeout >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may pass anything
            raise ArgumentError(
                f"timeout must be a number of seconds of at least 0, got {self.timeout!r}"
            )
        if self.prefetch_factor is not None:
            as_integer("prefetch_factor", self.prefetch_factor, least=1)
        of_workers = {
            "prefetch_factor": self.prefetch_factor is not None,
            "persistent_workers": self.persistent,
            "multiprocessing_context": self.context is not None,
        }
        for name, is_set in of_workers.items():
            if is_set and not self.num_workers:
                raise ArgumentError(f"{name} needs num_workers > 0, got num_workers=0")
        if isinstance(self.context, str) and self.context not in _START_METHODS:
            raise ArgumentError(
                f"multiprocessing_context must be one of {', '.join(_START_METHODS)}, or a "
                f"context of multiprocessing, got {self.context!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSettings:
    """All settings that determine how a loader makes batches."""

    dataset: Any
    batching: Batching
    workers: WorkerOptions
    collate: Callable[[Any], Any] | None = None
    convert: Callable[[Any], Any] = field(default=lambda batch: batch)
    seed: int = 0
    check_worker: Callable[[], Any] | None = None  # called first in each new process
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    max_bytes: int = 0  # memory limit of a process; 0 for no limit

    @property
    def supports_threads(self) -> bool:
        """True if threads may make the batches."""
        collate = self.collate
        collate = collate.func if isinstance(collate, partial) else collate
        if self.workers.worker_init_fn is not None:
            return False
        if collate is not default_collate and not supports_threads(collate):
            return False
        return _is_plain_container(self.dataset) or supports_threads(self.dataset)

    @property
    def is_packed(self) -> bool:
        """True if the collator chooses the items of each batch."""
        # With a batch_sampler, the collator cannot choose the items.
        is_free = self.batching.batch_sampler is None
        return is_free and callable(getattr(self.collate, "stream", None))


def _is_plain_container(dataset: Any) -> bool:
    """Return whether a dataset is a Python or NumPy container of plain data."""
    if type(dataset) in {list, tuple}:
        return not any(callable(item) for item in dataset[:1])
    return type(dataset) in _CONTAINER_TYPES


def choose_seed(seed: int, generator: Any) -> int:
    """Return the seed from the argument, or from a generator of PyTorch or NumPy."""
    seed = as_seed(seed)
    if generator is None:
        return seed
    if seed:
        raise ArgumentError("pass seed or generator, not both")
    if callable(getattr(generator, "initial_seed", None)):
        return int(generator.initial_seed()) % (1 << 64)
    if callable(getattr(generator, "integers", None)):
        return int(generator.integers(1 << 63))
    raise ArgumentError(
        "generator must be a torch.Generator or a numpy.random.Generator, got "
        f"{quote(generator)}"
    )


def check_dataset(dataset: Any, **functions: Any) -> None:
    """Raise for a dataset without items, a path, or an invalid function."""
    for name, value in functions.items():
        check_callable(name, value)
    has_items = hasattr(dataset, "__getitem__") or hasattr(dataset, "__iter__")
    if isinstance(dataset, (str, bytes, type)) or not has_items:
        raise ArgumentError(
            "dataset must support dataset[i] or iteration, got "
            f"{quote(dataset)}: open a file with sl.data.SequenceDataset"
        )


def check_flags(**flags: Any) -> None:
    """Raise for values that are neither True nor False."""
    for name, value in flags.items():
        as_bool(name, value)


def is_iterable(dataset: Any) -> bool:
    """Return whether a dataset is iterable but cannot be indexed."""
    torch: Any = sys.modules.get("torch")
    data = getattr(getattr(torch, "utils", None), "data", None)
    kind: Any = getattr(data, "IterableDataset", ())
    return isinstance(dataset, kind) or getattr(dataset, "__getitem__", None) is None
