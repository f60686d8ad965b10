"""What a loader may be asked for, by PyTorch's rules."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom._arguments import as_flag, as_seed, check_function, quote
from seqloom.data.loader._state import whole_number
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

PREFETCH = 2
_STARTS = ("spawn", "forkserver", "fork")


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """How items become batches.

    Args:
        batch_size: Items in a batch; None leaves items alone.
        shuffle: Whether each epoch has an order of its own.
        sampler: Positions, in the caller's order.
        batch_sampler: Lists of positions.
        drop_last: Leaves out a last batch that is not full.

    Examples:
        >>> Choice(batch_size=4).is_batched
        True
    """

    batch_size: int | None = 1
    shuffle: bool = False
    sampler: Any = None
    batch_sampler: Any = None
    drop_last: bool = False

    @property
    def is_batched(self) -> bool:
        """Whether items are put together."""
        return self.batch_size is not None or self.batch_sampler is not None

    def check(self, *, iterable: bool) -> None:
        """Refuses what excludes each other."""
        if iterable:
            self._check_iterable()
        for name in ("sampler", "batch_sampler"):
            given = getattr(self, name)
            is_order = hasattr(given, "__iter__") or hasattr(given, "__getitem__")
            if given is not None and (isinstance(given, (str, bytes)) or not is_order):
                raise ArgumentError(f"{name} must list positions, got {quote(given)}")
        if self.sampler is not None and self.shuffle:
            raise ArgumentError("sampler option is mutually exclusive with shuffle")
        if self.batch_sampler is not None:
            self._check_batch_sampler()
        elif self.batch_size is not None:
            whole_number("batch_size", self.batch_size, least=1)
        elif self.drop_last:
            raise ArgumentError(
                "batch_size=None leaves items alone: mutually exclusive with drop_last"
            )

    def _check_iterable(self) -> None:
        """Refuses to order what comes in an order of its own."""
        for name in ("shuffle", "sampler", "batch_sampler"):
            if getattr(self, name):
                raise ArgumentError(
                    f"an iterable dataset has an order of its own: leave {name} out, got "
                    f"{name}={getattr(self, name)!r}"
                )

    def _check_batch_sampler(self) -> None:
        """Refuses to make batches of batches."""
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
class Service:
    """Who makes batches, and how far ahead.

    Args:
        num_workers: How many threads or processes.
        timeout: Seconds to wait for a batch; 0 waits for ever.
        worker_init_fn: Called with its number in each new process.
        context: A start method, or a context of multiprocessing.
        prefetch_factor: Batches ahead for each worker; 2 if None.
        persistent: Whether processes live on after an epoch.

    Examples:
        >>> Service(num_workers=2).ahead
        4
    """

    num_workers: int = 0
    timeout: float = 0
    worker_init_fn: Callable[[int], Any] | None = None
    context: Any = None
    prefetch_factor: int | None = None
    persistent: bool = False

    @property
    def ahead(self) -> int:
        """How many batches may wait to be handed out."""
        each = PREFETCH if self.prefetch_factor is None else self.prefetch_factor
        return max(1, each) * self.num_workers

    def check(self) -> None:
        """Refuses what makes no sense."""
        whole_number("num_workers", self.num_workers)
        if not isinstance(self.timeout, (int, float)) or not self.timeout >= 0:  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
            raise ArgumentError(f"timeout must be at least 0 seconds, got {self.timeout!r}")
        if self.prefetch_factor is not None:
            whole_number("prefetch_factor", self.prefetch_factor, least=1)
        needs = {
            "prefetch_factor": self.prefetch_factor is not None,
            "persistent_workers": self.persistent,
            "multiprocessing_context": self.context is not None,
        }
        for name, is_given in needs.items():
            if is_given and not self.num_workers:
                raise ArgumentError(f"{name} needs num_workers > 0")
        if isinstance(self.context, str) and self.context not in _STARTS:
            raise ArgumentError(
                f"multiprocessing_context must be one of {', '.join(_STARTS)}, or a "
                f"context, got {self.context!r}"
            )


def seed_of(seed: int, generator: Any) -> int:
    """Takes the seed of the order from the argument, or from a library's generator."""
    seed = as_seed(seed)
    if generator is None:
        return seed
    if seed:
        raise ArgumentError("give seed or generator, not both")
    if callable(getattr(generator, "initial_seed", None)):
        return int(generator.initial_seed()) % (1 << 64)
    if callable(getattr(generator, "integers", None)):
        return int(generator.integers(1 << 63))
    raise ArgumentError(f"generator must be torch's or NumPy's, got {generator!r}")


def check_dataset(dataset: Any, **functions: Any) -> None:
    """Refuses what has no items, the name of a file, and functions that are none."""
    for name, value in functions.items():
        check_function(name, value)
    has_items = hasattr(dataset, "__getitem__") or hasattr(dataset, "__iter__")
    if isinstance(dataset, (str, bytes, type)) or not has_items:
        raise ArgumentError(
            "dataset must give items by number, or one after the other, got "
            f"{quote(dataset)}: a file is opened by sl.data.SequenceDataset"
        )


def check_flags(**given: Any) -> None:
    """Refuses what is neither True nor False."""
    for name, value in given.items():
        as_flag(name, value)


def is_iterable(dataset: Any) -> bool:
    """Tells whether a dataset has an order of its own, and no positions."""
    torch: Any = sys.modules.get("torch")
    data = getattr(getattr(torch, "utils", None), "data", None)
    kind: Any = getattr(data, "IterableDataset", ())
    return isinstance(dataset, kind) or getattr(dataset, "__getitem__", None) is None
