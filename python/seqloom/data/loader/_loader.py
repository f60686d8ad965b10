"""Batches of a dataset, in an order that seed and epoch alone decide."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from seqloom._warning import warn_user
from seqloom.data._position import STATE_FORMAT, Rank, check_integer, check_state, find_rank
from seqloom.data.collate._collate import default_collate
from seqloom.data.collate._output import TensorCollate, converter
from seqloom.data.loader._batches import choose_source
from seqloom.data.loader._order import (
    EpochIterator,
    EpochOrder,
    EpochProgress,
    FailedBatch,
    OrderView,
)
from seqloom.data.loader._settings import (
    CHANGING,
    FIXED,
    PREFETCH,
    Batching,
    LoaderSettings,
    WorkerOptions,
    check_dataset,
    check_flags,
    is_iterable,
    seed_of,
)
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from typing_extensions import TypeVar

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")


class DataLoader(Generic[T]):
    """Hands out a dataset in batches, as PyTorch's loader does.

    The k-th pass is epoch k. Order and batches depend on the seed and the epoch only, never
    on ``num_workers``. A saved state resumes in the middle of an epoch, with any number of
    workers or ranks.

    Threads make the batches of our own datasets, encoders, augmentations and collators.
    Processes make them where the dataset, its encoder or augmentation or the ``collate_fn``
    is a user's code. A process that dies is started again, and its batches are made again.

    What a user's code draws from the global generators of ``random``, ``numpy.random`` and
    torch (on the CPU) follows from the seed, the epoch and the place of the batch in it,
    with any number of workers. In this process the generators are afterwards as before.
    Each worker has a copy of an iterable dataset of a user, and draws different numbers.

    Args:
        dataset: A dataset with ``len`` and ``[i]``, or an iterable.
        batch_size: Items in a batch; None delivers single items.
        shuffle: Whether each epoch has a random order of its own.
        sampler: Positions, in the order in which items are wanted. Its ``set_epoch`` is
            called if it has one.
        batch_sampler: Lists of positions, one list for each batch.
        num_workers: Number of threads or processes that make batches ahead; 0 makes each
            batch when it is requested. At most one thread fewer than there are cores is
            started, because the calling thread makes batches too while it waits.
        collate_fn: Makes a batch of a list of items; ``default_collate`` if None.
        pin_memory: Whether tensors are put into pinned memory, from which a GPU copies
            faster.
        drop_last: Whether a last batch that is not full is left out.
        timeout: Seconds to wait for a worker's batch; 0 waits without limit.
        worker_init_fn: Called with its number in each new process.
        multiprocessing_context: How processes start: ``"spawn"`` (also if None),
            ``"forkserver"``, ``"fork"``, or a context of ``multiprocessing``.
        generator: A generator of torch or NumPy, from which the seed is taken.
        prefetch_factor: Batches that each worker makes ahead; 2 if None.
        persistent_workers: Whether processes are kept for the next epoch.
        seed: Seed of the random order, and of what a user's code draws.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the arrays' memory.
        rank: Number of this process among those that train together. None takes it from
            ``torch.distributed``, unless you pass a sampler of your own, which knows its
            rank itself.
        world_size: Number of processes that share an epoch.
        even_ranks: What happens to items that cannot be divided evenly among the ranks:
            ``"pad"`` repeats some and marks them in ``is_padding``, ``"drop"`` leaves them
            out, ``"error"`` raises an error.
        pin_memory_device: Accepted for compatibility with PyTorch; the device is always the
            one that torch finds.
        in_order: Accepted for compatibility with PyTorch; batches always come in order.

    Raises:
        ArgumentError: An argument has a wrong value, or excludes another one.
        MissingExtraError: ``output="torch"``, but torch is not installed.

    Examples:
        >>> import numpy as np
        >>> loader = DataLoader([10, 11, 12, 13, 14], batch_size=2)
        >>> [batch.tolist() for batch in loader]
        [[10, 11], [12, 13], [14]]
        >>> first, second = (np.concatenate(list(loader)) for _ in range(2))
        >>> sorted(first) == sorted(second)
        True
    """

    def __init__(  # noqa: PLR0917 - PyTorch's order
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = False,  # noqa: FBT001, FBT002 - PyTorch's third argument
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,  # noqa: FBT001, FBT002 - see above
        drop_last: bool = False,  # noqa: FBT001, FBT002 - see above
        timeout: float = 0,
        worker_init_fn: Callable[[int], Any] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        seed: int = 0,
        output: str = "numpy",
        rank: int | None = None,
        world_size: int | None = None,
        even_ranks: str = "pad",
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        check_dataset(dataset, collate_fn=collate_fn, worker_init_fn=worker_init_fn)
        check_flags(
            shuffle=shuffle is not None and shuffle,  # PyTorch's own default is None
            pin_memory=pin_memory,
            drop_last=drop_last,
            in_order=in_order,
            persistent_workers=persistent_workers,
        )
        self.dataset = dataset
        self.batch_size = batch_size if batch_sampler is None else None
        self.shuffle = bool(shuffle)
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.drop_last, self.in_order = drop_last, in_order
        self.num_workers, self.prefetch_factor = num_workers, prefetch_factor
        self.persistent_workers, self.timeout = persistent_workers, timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.seed = seed_of(seed, generator)
        self.output = output
        self._batching = Batching(
            batch_size=batch_size,
            shuffle=self.shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
        )
        self._batching.check(iterable=is_iterable(dataset))
        self.collate_fn = collate_fn
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._length: int | None = None
        self._progress = self._next = EpochProgress(0)
        self._source = choose_source(self._settings())
        if num_workers and prefetch_factor is None:
            self.prefetch_factor = PREFETCH
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if not vars(self).get("_is_made"):
            super().__setattr__(name, value)
        elif name in FIXED:
            raise ArgumentError(
                f"{name} must not be set after the {type(self).__name__} is made, got "
                f"{value!r}: make another one with {name}={value!r}"
            )
        elif name in CHANGING:
            self._change(name, value)
        else:
            super().__setattr__(name, value)

    def _change(self, name: str, value: Any) -> None:
        """Change how the batches of the next epoch are made."""
        before = getattr(self, name)
        super().__setattr__(name, value)
        try:
            self._source = choose_source(self._settings())
        except ArgumentError:
            super().__setattr__(name, before)
            raise

    def __getstate__(self) -> dict[str, Any]:
        # Threads and processes are started again with the next epoch.
        return {name: vars(self)[name] for name in vars(self).keys() - {"_source"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["_source"] = choose_source(self._settings())

    @property
    def sampler(self) -> Any:
        """The sampler that was passed, or our own order as single positions."""
        sampler = self._batching.sampler
        if sampler is not None or is_iterable(self.dataset):
            return sampler
        single = replace(
            self._batching, batch_size=None, batch_sampler=None, drop_last=False
        )
        return self._view(replace(self._order(), batching=single))

    @property
    def batch_sampler(self) -> Any:
        """The batch_sampler that was passed, or our own order as lists of positions."""
        sampler = self._batching.batch_sampler
        is_ordered = self._source.is_ordered and self._batching.sampler is None
        if sampler is not None or not is_ordered or self.batch_size is None:
            return sampler
        return self._view(self._order())

    def _view(self, order: EpochOrder) -> OrderView:
        """Show an order from the position of the next pass on."""
        return OrderView(
            order, lambda: (self._next.epoch, self._next.position), self.set_epoch
        )

    def __len__(self) -> int:
        count = self._source.count(self._order())
        if is_iterable(self.dataset):
            self._length = count
        return count

    def __iter__(self) -> EpochIterator:
        return EpochIterator(self._run(), lambda: self._source.count(self._order()))

    def _run(self) -> Generator[Any]:
        """Yield the batches of an epoch, or those that a loaded state has left."""
        # An epoch begins with its first step: trainers make iterators that they never use.
        progress = self._progress = self._next
        self._next = EpochProgress(progress.epoch + 1)
        with closing(self._source.epoch(progress, self._order())) as batches:
            for number, (request, batch) in enumerate(batches):
                if not isinstance(batch, FailedBatch):
                    progress.position = request.position
                    progress.stream_state = request.stream_state
                    progress.is_ended = request.is_last
                if self._length is not None and number == self._length:
                    warn_user(
                        f"the len of {type(self.dataset).__name__} says that an epoch has "
                        f"{self._length:,} batches, but it gives more: correct its "
                        "__len__; if each of several workers has a copy of the dataset, "
                        "each copy must give another part",
                        UserWarning,
                    )
                yield batch
        progress.is_ended = True

    def _settings(self) -> LoaderSettings:
        """Collect everything that decides how batches are made."""
        return LoaderSettings(
            dataset=self.dataset,
            batching=self._batching,
            workers=self._workers(),
            collate=self._collate(),
            convert=converter(self.output, pin_memory=self.pin_memory),
            seed=self.seed,
        )

    def _workers(self) -> WorkerOptions:
        """Collect the options of the workers."""
        # If num_workers is later set to 0, the options that need workers are ignored.
        is_ignored = not self.num_workers and vars(self).get("_is_made", False)
        workers = WorkerOptions(
            num_workers=self.num_workers,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            context=None if is_ignored else self.multiprocessing_context,
            prefetch_factor=None if is_ignored else self.prefetch_factor,
            persistent=self.persistent_workers and not is_ignored,
        )
        workers.check()
        return workers

    @property
    def collate_fn(self) -> Callable[[list[Any]], Any] | None:
        """The collator; with ``output="torch"`` it makes tensors, as the loader does."""
        # accelerate and transformers give it to a loader of PyTorch.
        collate = self._collate_fn
        return TensorCollate(collate) if collate and self.output == "torch" else collate

    @collate_fn.setter
    def collate_fn(self, collate: Any) -> None:
        self._collate_fn = collate.collate if type(collate) is TensorCollate else collate

    def _collate(self) -> Callable[[list[Any]], Any] | None:
        """Return the collator, which is ``default_collate`` if a batch needs one."""
        if self._collate_fn is None and self._batching.is_batched:
            self._collate_fn = default_collate
        elif self._collate_fn is not None and not callable(self._collate_fn):
            raise ArgumentError(f"collate_fn must be a function, got {self._collate_fn!r}")
        return self._collate_fn

    def _order(self) -> EpochOrder:
        """Return the order of an epoch, by the dataset's length and the rank of now."""
        # As in PyTorch a user's sampler knows its rank itself, unless a rank is passed
        # here. A sampler of ours without a rank leaves the division to the loader.
        batching = self._batching
        is_alone = batching.batch_sampler is None
        sampler = batching.sampler if is_alone else batching.batch_sampler
        is_whole = sampler is None or getattr(sampler, "is_whole", False)
        knows_rank = self._ranks[0] is None and not is_whole
        return EpochOrder(
            size=0 if is_iterable(self.dataset) else len(self.dataset),
            batching=batching,
            rank=Rank() if knows_rank else find_rank(*self._ranks),
            seed=self.seed,
        )

    def set_epoch(self, epoch: int) -> None:
        """Make the next ``iter`` this epoch.

        Args:
            epoch: Number of the epoch, from 0.

        Raises:
            ArgumentError: The number is negative.

        Examples:
            >>> loader = DataLoader(range(9), batch_size=9, shuffle=True)
            >>> first = next(iter(loader))
            >>> loader.set_epoch(0)
            >>> bool((next(iter(loader)) == first).all())
            True
        """
        check_integer("epoch", epoch)
        self._next = self._progress = EpochProgress(epoch)

    def state_dict(self) -> dict[str, Any]:
        """Save which batch comes next, in values that JSON can hold.

        Returns:
            The state, for ``load_state_dict``.

        Examples:
            >>> loader = DataLoader(range(6), batch_size=2)
            >>> batches = iter(loader)
            >>> _ = next(batches)
            >>> state = loader.state_dict()
            >>> state["epoch"], state["position"]
            (0, 2)
        """
        progress = self._progress
        if progress.is_ended:
            progress = EpochProgress(progress.epoch + 1)
        state: dict[str, Any] = {
            "version": STATE_FORMAT,
            "epoch": progress.epoch,
            "position": progress.position,
        }
        if (stream := progress.stream_state) is not None:
            state["stream"] = stream() if callable(stream) else stream
        return state | self._source.identity(self._order())

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Make the next ``iter`` resume where a state was saved.

        Args:
            state: A result of ``state_dict``, of this or another process, with any number
                of workers and ranks.

        Raises:
            ArgumentError: The state is incomplete, or was saved with other data, another
                seed or another order.

        Examples:
            >>> loader = DataLoader(range(6), batch_size=2)
            >>> loader.load_state_dict({**loader.state_dict(), "position": 4})
            >>> [batch.tolist() for batch in loader]
            [[4, 5]]
        """
        check_state(state, self._source.identity(self._order()))
        self._next = self._progress = EpochProgress(
            int(state["epoch"]), int(state["position"]), state.get("stream")
        )

    def close(self) -> None:
        """End worker processes that persist.

        Examples:
            >>> DataLoader(range(6)).close()
        """
        if self._source.executor is not None:
            self._source.executor.close()
