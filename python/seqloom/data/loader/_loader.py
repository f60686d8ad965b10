"""Batches of a dataset, in an order that seed and epoch alone decide."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from seqloom.data.collate._collate import default_collate
from seqloom.data.loader._arguments import Choice, Service, is_iterable, seed_of
from seqloom.data.loader._batches import choose_batches
from seqloom.data.loader._mark import Mark
from seqloom.data.loader._output import converter
from seqloom.data.loader._plan import Plan
from seqloom.data.loader._rank import Rank, find_rank
from seqloom.data.loader._recipe import Recipe
from seqloom.data.loader._state import VERSION, check_state, whole_number
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from seqloom.data.loader._batches import BatchSource


@dataclass(slots=True)
class _Cursor:
    """How far an epoch has been handed out."""

    epoch: int
    mark: Mark
    is_ended: bool = False


class DataLoader:
    """Hands out a dataset in batches, as PyTorch's loader does.

    The k-th ``iter(loader)`` is epoch k. Order and batches depend on the seed and the epoch
    only, never on ``num_workers``, and a saved state goes on in the middle of an epoch with
    any number of workers or ranks.

    Threads serve our own datasets, encoders, augmentations and collators; processes serve
    a user's code: a dataset, a ``collate_fn`` or an encoder that is not ours. A process
    that dies is started again and its batches are made again.

    Args:
        dataset: Anything with ``len`` and ``[i]``, or anything to iterate over.
        batch_size: Items in a batch; None leaves items as they are.
        shuffle: Whether each epoch has an order of its own.
        sampler: Positions to follow instead; its ``set_epoch`` is called where it has one.
        batch_sampler: Lists of positions to follow instead.
        num_workers: How many threads or processes work ahead; 0 makes each batch when it
            is asked for.
        collate_fn: Puts items together; ``default_collate`` if None.
        pin_memory: Puts tensors into memory that a GPU copies faster from.
        drop_last: Leaves out a last batch that is not full.
        timeout: Seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: Called with the number of each new process, inside it.
        multiprocessing_context: How processes start: ``"spawn"`` if None, ``"forkserver"``,
            ``"fork"``, or a context of ``multiprocessing``.
        generator: A generator of torch or NumPy to take the seed from.
        prefetch_factor: Batches ahead for each worker; 2 if None.
        persistent_workers: Keeps processes for the next epoch.
        seed: Which of the many orders.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the arrays' memory.
        rank: Which of several processes this is; None asks ``torch.distributed``, unless
            there is a sampler of yours, which knows its rank itself.
        world_size: How many processes share an epoch.
        even_ranks: What happens to items that cannot be dealt evenly to ranks: ``"pad"``
            gives some twice, marked in ``is_padding``; ``"drop"`` leaves them out;
            ``"error"`` refuses them.

    Raises:
        ArgumentError: An argument makes no sense, or excludes another.
        MissingExtraError: torch is asked for, and not installed.

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
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = bool(shuffle)
        self.sampler, self.batch_sampler = sampler, batch_sampler
        self.num_workers = num_workers
        self.pin_memory, self.drop_last = pin_memory, drop_last
        self.timeout, self.prefetch_factor = timeout, prefetch_factor
        self.persistent_workers = persistent_workers
        self.seed = seed_of(seed, generator)
        self.output = output
        self._choice = Choice(
            batch_size=batch_size,
            shuffle=self.shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
        )
        self._choice.check(iterable=is_iterable(dataset))
        self._service = Service(
            num_workers=num_workers,
            timeout=timeout,
            worker_init_fn=worker_init_fn,
            context=multiprocessing_context,
            prefetch_factor=prefetch_factor,
            persistent=persistent_workers,
        )
        self._service.check()
        if collate_fn is None and self._choice.is_batched:
            collate_fn = default_collate
        elif collate_fn is not None and not callable(collate_fn):
            raise ArgumentError(f"collate_fn must be a function, got {collate_fn!r}")
        self.collate_fn = collate_fn
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._source: BatchSource = self._choose(self._recipe())
        self._cursor = self._next = _Cursor(0, Mark(0))

    def _choose(self, recipe: Recipe) -> BatchSource:
        """Chooses how batches come to be."""
        return choose_batches(recipe)

    def __len__(self) -> int:
        return self._source.count(self._plan())

    def __iter__(self) -> Generator[Any]:
        cursor = self._cursor = self._next
        self._next = _Cursor(cursor.epoch + 1, Mark(0))
        return self._run(cursor)

    def _run(self, cursor: _Cursor) -> Generator[Any]:
        """Hands out what is left of an epoch."""
        batches = self._source.epoch(cursor.epoch, cursor.mark, self._plan())
        with closing(batches):  # pyright: ignore[reportArgumentType] - generators close
            for batch, mark, is_last in batches:
                cursor.mark, cursor.is_ended = mark, is_last
                yield batch
        cursor.is_ended = True

    def _recipe(self) -> Recipe:
        """Says what was asked for."""
        return Recipe(
            dataset=self.dataset,
            choice=self._choice,
            service=self._service,
            collate=self.collate_fn,
            convert=converter(self.output, pin_memory=self.pin_memory),
            seed=self.seed,
        )

    def _plan(self) -> Plan:
        """Says how an epoch is cut; the dataset may have grown, ranks may have come up."""
        # As in PyTorch a sampler knows its rank itself, unless it is given here; one of
        # ours that was given none leaves dealing to the loader.
        sampler = self.sampler if self.batch_sampler is None else self.batch_sampler
        is_whole = sampler is None or getattr(sampler, "is_whole", False)
        is_alone = self._ranks[0] is None and not is_whole
        rank = Rank() if is_alone else find_rank(*self._ranks)
        return Plan(
            size=0 if is_iterable(self.dataset) else len(self.dataset),
            choice=self._choice,
            rank=rank,
            seed=self.seed,
        )

    def set_epoch(self, epoch: int) -> None:
        """Makes the next ``iter`` this epoch.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> loader = DataLoader(range(9), batch_size=9, shuffle=True)
            >>> first = next(iter(loader))
            >>> loader.set_epoch(0)
            >>> bool((next(iter(loader)) == first).all())
            True
        """
        whole_number("epoch", epoch)
        self._next = self._cursor = _Cursor(epoch, Mark(0))

    def state_dict(self) -> dict[str, Any]:
        """Says which batch comes next, in numbers that JSON can hold.

        Returns:
            What ``load_state_dict`` takes.

        Examples:
            >>> loader = DataLoader(range(6), batch_size=2)
            >>> batches = iter(loader)
            >>> _ = next(batches)
            >>> state = loader.state_dict()
            >>> state["epoch"], state["position"]
            (0, 2)
        """
        cursor = self._cursor
        if cursor.is_ended:
            cursor = _Cursor(cursor.epoch + 1, Mark(0))
        state: dict[str, Any] = {
            "version": VERSION,
            "epoch": cursor.epoch,
            "position": cursor.mark.position,
        }
        if (stream := cursor.mark.stream) is not None:
            state["stream"] = stream() if callable(stream) else stream
        return state | self._identity()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next ``iter`` go on where a state was taken.

        Args:
            state: What ``state_dict`` gave, here or in another process, with any number of
                workers and ranks.

        Raises:
            ArgumentError: It is no whole state, or of other data, another seed or another
                order.

        Examples:
            >>> loader = DataLoader(range(6), batch_size=2)
            >>> loader.load_state_dict({**loader.state_dict(), "position": 4})
            >>> [batch.tolist() for batch in loader]
            [[4, 5]]
        """
        check_state(state, self._identity())
        mark = Mark(int(state["position"]), state.get("stream"))
        self._next = self._cursor = _Cursor(int(state["epoch"]), mark)

    def _identity(self) -> dict[str, Any]:
        """Names what a state belongs to."""
        return self._source.identity(self._plan())

    def close(self) -> None:
        """Ends worker processes that persist.

        Examples:
            >>> DataLoader(range(6)).close()
        """
        self._source.close()
