"""`DataLoader`, which loads a dataset in batches."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic

from seqloom._warning import warn_user
from seqloom.data._position import STATE_FORMAT, Rank, check_integer, check_state, find_rank
from seqloom.data.collate._collate import default_collate
from seqloom.data.collate._output import TensorCollate, choose_converter
from seqloom.data.loader._batches import choose_batch_source
from seqloom.data.loader._order import (
    EpochIterator,
    EpochOrder,
    EpochProgress,
    FailedBatch,
    OrderView,
)
from seqloom.data.loader._settings import (
    FIXED_OPTIONS,
    MUTABLE_OPTIONS,
    PREFETCH_FACTOR,
    Batching,
    LoaderSettings,
    WorkerOptions,
    check_dataset,
    check_flags,
    choose_seed,
    is_iterable,
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
    """Loads a dataset in batches, like the loader of PyTorch.

    Each pass over the loader is one epoch, counted from 0. Order and batches depend only on
    the seed and the epoch, never on ``num_workers``. A saved state resumes in the middle of
    an epoch, with any number of workers or ranks.

    Batches of built-in datasets, encoders, augmentations and collators are made in threads.
    Batches that need custom code are made in processes, unless the custom class declares
    ``supports_threads``. If a worker process dies, it is restarted and makes its batches
    again.

    Custom code may use the global generators of ``random``, ``numpy.random`` and PyTorch
    (on the CPU). The generators are seeded from the seed, the epoch and the index of the
    batch, with any number of workers. In this process, the states of the generators are
    restored afterwards. Each worker has a copy of a custom iterable dataset, and different
    random numbers.

    Args:
        dataset: A dataset with ``len`` and ``[i]``, or an iterable.
        batch_size: The number of items in a batch; None yields single items.
        shuffle: If True, each epoch has a different random order.
        sampler: An iterable of indices in the wanted order. If the sampler has a method
            ``set_epoch``, the loader calls it for each epoch.
        batch_sampler: An iterable of lists of indices, one list for each batch.
        num_workers: The number of threads or processes that make batches ahead; 0 makes
            each batch on request. Rust threads are limited to the number of cores minus
            one, because the calling thread also makes batches while it waits.
        collate_fn: A function from a list of items to a batch; ``default_collate`` if None.
        pin_memory: If True, tensors are in pinned memory, from which copies to a GPU are
            faster.
        drop_last: If True, a last batch that is not full is dropped.
        timeout: The maximum time to wait for a batch of a worker, in seconds; 0 is
            unlimited.
        worker_init_fn: A function that is called with the worker's number in each new
            process.
        multiprocessing_context: The start method of processes: ``"spawn"`` (the default),
            ``"forkserver"``, ``"fork"``, or a context of ``multiprocessing``.
        generator: A generator of PyTorch or NumPy, which provides the seed.
        prefetch_factor: The number of batches that each worker makes ahead; None means 2.
        persistent_workers: If True, worker processes keep running for the next epoch.
        seed: Seed of the random order, and of the global generators for custom code.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the arrays' memory.
        rank: The rank of this process in distributed training. By default, the rank is read
            from ``torch.distributed``, except with a custom sampler, which must split the
            items itself.
        world_size: The number of processes that split an epoch.
        even_ranks: The treatment of items that cannot be divided evenly among the ranks.
            ``"pad"`` repeats some items and marks them in ``is_padding``; ``"drop"`` drops
            the remainder; ``"error"`` raises.
        pin_memory_device: Ignored; accepted for compatibility with PyTorch.
        in_order: Ignored, because batches are always in order; accepted for compatibility
            with PyTorch.

    Raises:
        ArgumentError: An argument is invalid, or contradicts another one.
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
            shuffle=shuffle is not None and shuffle,  # None is PyTorch's default
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
        self.seed = choose_seed(seed, generator)
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
        self._source = choose_batch_source(self._settings())
        if num_workers and prefetch_factor is None:
            self.prefetch_factor = PREFETCH_FACTOR
        self._is_initialised = True

    def __setattr__(self, name: str, value: Any) -> None:
        if not vars(self).get("_is_initialised"):
            super().__setattr__(name, value)
        elif name in FIXED_OPTIONS:
            raise ArgumentError(
                f"{name} must not be set after the {type(self).__name__} is created, got "
                f"{value!r}: create another one with {name}={value!r}"
            )
        elif name in MUTABLE_OPTIONS:
            self._change_option(name, value)
        else:
            super().__setattr__(name, value)

    def _change_option(self, name: str, value: Any) -> None:
        before = getattr(self, name)
        super().__setattr__(name, value)
        try:
            self._source = choose_batch_source(self._settings())
        except ArgumentError:
            super().__setattr__(name, before)
            raise

    def __getstate__(self) -> dict[str, Any]:
        # The source with its threads and processes is not pickled.
        return {name: vars(self)[name] for name in vars(self).keys() - {"_source"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["_source"] = choose_batch_source(self._settings())

    @property
    def sampler(self) -> Any:
        """The given sampler, or the order of the loader as single indices."""
        sampler = self._batching.sampler
        if sampler is not None or is_iterable(self.dataset):
            return sampler
        single = replace(
            self._batching, batch_size=None, batch_sampler=None, drop_last=False
        )
        return self._view_order(replace(self._order(), batching=single))

    @property
    def batch_sampler(self) -> Any:
        """The given batch_sampler, or the order of the loader as lists of indices."""
        sampler = self._batching.batch_sampler
        is_ordered = self._source.is_ordered and self._batching.sampler is None
        if sampler is not None or not is_ordered or self.batch_size is None:
            return sampler
        return self._view_order(self._order())

    def _view_order(self, order: EpochOrder) -> OrderView:
        """Return an iterable of the indices that the next pass will read."""
        return OrderView(
            order, lambda: (self._next.epoch, self._next.position), self.set_epoch
        )

    def __len__(self) -> int:
        count = self._source.count(self._order())
        if is_iterable(self.dataset):
            self._length = count
        return count

    def __iter__(self) -> EpochIterator:
        return EpochIterator(self._run_epoch(), lambda: self._source.count(self._order()))

    def _run_epoch(self) -> Generator[Any]:
        # An epoch begins when its first batch is requested, because trainers create
        # iterators that they never use.
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
                        f"the len of {type(self.dataset).__name__} predicts epochs of "
                        f"{self._length:,} batches, but there are more: correct its "
                        "__len__; if each of several workers has a copy of the dataset, "
                        "each copy must yield different items",
                        UserWarning,
                    )
                yield batch
        progress.is_ended = True

    def _settings(self) -> LoaderSettings:
        return LoaderSettings(
            dataset=self.dataset,
            batching=self._batching,
            workers=self._workers(),
            collate=self._collate(),
            convert=choose_converter(self.output, pin_memory=self.pin_memory),
            seed=self.seed,
        )

    def _workers(self) -> WorkerOptions:
        # Options that need workers are ignored after num_workers is set to 0.
        is_ignored = not self.num_workers and vars(self).get("_is_initialised", False)
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
        """The collator; with ``output="torch"`` it returns tensors."""
        # accelerate and transformers pass `collate_fn` to a PyTorch loader.
        collate = self._collate_fn
        return TensorCollate(collate) if collate and self.output == "torch" else collate

    @collate_fn.setter
    def collate_fn(self, collate: Any) -> None:
        self._collate_fn = collate.collate if type(collate) is TensorCollate else collate

    def _collate(self) -> Callable[[list[Any]], Any] | None:
        if self._collate_fn is None and self._batching.is_batched:
            self._collate_fn = default_collate
        elif self._collate_fn is not None and not callable(self._collate_fn):
            raise ArgumentError(f"collate_fn must be a function, got {self._collate_fn!r}")
        return self._collate_fn

    def _order(self) -> EpochOrder:
        # As in PyTorch, a custom sampler splits items among ranks itself, unless a rank
        # is given. With a built-in sampler that has no rank, the loader splits the
        # items.
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
        """Set the epoch of the next pass.

        Args:
            epoch: The epoch, counted from 0.

        Raises:
            ArgumentError: The epoch is negative.

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
        """Return the current position as a dict of JSON values.

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
        """Resume the next pass at a saved position.

        Args:
            state: A result of ``state_dict``; the numbers of workers and ranks may have
                changed.

        Raises:
            ArgumentError: The state is incomplete, or was saved with different data,
                another seed or another order.

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
        """Stop persistent worker processes.

        Examples:
            >>> DataLoader(range(6)).close()
        """
        if self._source.executor is not None:
            self._source.executor.close()
