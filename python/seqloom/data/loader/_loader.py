"""Batches of a dataset, in an order that seed and epoch alone decide."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic

from seqloom.data.collate._collate import default_collate
from seqloom.data.loader._arguments import (
    PREFETCH,
    Choice,
    Service,
    check_dataset,
    check_flags,
    is_iterable,
    seed_of,
)
from seqloom.data.loader._batches import Positions, choose_batches
from seqloom.data.loader._failure import Raised
from seqloom.data.loader._iteration import Iteration, warn_of_length
from seqloom.data.loader._mark import Mark
from seqloom.data.loader._output import converter
from seqloom.data.loader._plan import Plan
from seqloom.data.loader._positions import OrderView
from seqloom.data.loader._rank import Rank, find_rank
from seqloom.data.loader._recipe import Recipe
from seqloom.data.loader._state import VERSION, check_state, whole_number
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from typing_extensions import TypeVar

    from seqloom.data.loader._batches import BatchSource

    T = TypeVar("T", default=Any)
else:
    from typing import TypeVar

    T = TypeVar("T")

# As in PyTorch, how an epoch is cut stands fast; who makes the batches may change.
_FIXED = frozenset((
    "dataset", "batch_size", "shuffle", "sampler", "batch_sampler", "drop_last",
    "generator", "persistent_workers", "seed", "output", "rank", "world_size", "even_ranks",
))  # fmt: skip
_CHANGING = frozenset((
    "num_workers", "collate_fn", "pin_memory", "timeout", "worker_init_fn",
    "multiprocessing_context", "prefetch_factor",
))  # fmt: skip


@dataclass(slots=True)
class _Cursor:
    """How far an epoch has been handed out."""

    epoch: int
    mark: Mark
    is_ended: bool = False


class DataLoader(Generic[T]):
    """Hands out a dataset in batches, as PyTorch's loader does.

    The k-th pass is epoch k. Order and batches depend on the seed and the epoch only, never
    on ``num_workers``, and a saved state goes on in the middle of an epoch with any number
    of workers or ranks.

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
            is asked for. Threads are at most one fewer than the cores, as the thread that
            asks makes batches too while it waits.
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
        pin_memory_device: Taken for PyTorch's sake; as there, the device is the one that
            torch finds.
        in_order: Taken for PyTorch's sake; batches come in order always.

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
        self._choice = Choice(
            batch_size=batch_size,
            shuffle=self.shuffle,
            sampler=sampler,
            batch_sampler=batch_sampler,
            drop_last=drop_last,
        )
        self._choice.check(iterable=is_iterable(dataset))
        self.collate_fn = collate_fn
        self._ranks = (rank, world_size, even_ranks)
        find_rank(rank, world_size, even_ranks)
        self._said: int | None = None
        self._cursor = self._next = _Cursor(0, Mark(0))
        self._source: BatchSource = self._choose(self._recipe())
        if num_workers and prefetch_factor is None:
            self.prefetch_factor = PREFETCH
        self._is_made = True

    def __setattr__(self, name: str, value: Any) -> None:
        if not vars(self).get("_is_made"):
            super().__setattr__(name, value)
        elif name in _FIXED:
            raise ArgumentError(
                f"{name} must not be set once the {type(self).__name__} is made, got "
                f"{value!r}: make another one with {name}={value!r}"
            )
        elif name in _CHANGING:
            self._change(name, value)
        else:
            super().__setattr__(name, value)

    def _change(self, name: str, value: Any) -> None:
        """Has the batches of the next epoch made in another way."""
        before = vars(self)[name]
        super().__setattr__(name, value)
        try:
            self._source = self._choose(self._recipe())
        except ArgumentError:
            super().__setattr__(name, before)
            raise

    def __getstate__(self) -> dict[str, Any]:
        # Threads and processes are begun anew, where an epoch is.
        return {name: vars(self)[name] for name in vars(self).keys() - {"_source"}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        vars(self)["_source"] = self._choose(self._recipe())

    def _choose(self, recipe: Recipe) -> BatchSource:
        """Chooses how batches come to be."""
        return choose_batches(recipe)

    @property
    def sampler(self) -> Any:
        """What was given, or our own order, position by position."""
        given = self._choice.sampler
        if given is not None or is_iterable(self.dataset):
            return given
        choice = replace(self._choice, batch_size=None, batch_sampler=None, drop_last=False)
        return OrderView(self, replace(self._plan(), choice=choice))

    @property
    def batch_sampler(self) -> Any:
        """What was given, or our own batches, as lists of positions."""
        given = self._choice.batch_sampler
        is_cut = isinstance(self._source, Positions) and self._choice.sampler is None
        if given is not None or not is_cut or self.batch_size is None:
            return given
        return OrderView(self, self._plan())

    @property
    def next_place(self) -> tuple[int, int]:
        """Which epoch comes next, and how much of it was had."""
        return self._next.epoch, self._next.mark.position

    def __len__(self) -> int:
        count = self._count()
        if is_iterable(self.dataset):
            self._said = count
        return count

    def _count(self) -> int:
        """Tells how many batches an epoch has."""
        return self._source.count(self._plan())

    def __iter__(self) -> Iteration:
        return Iteration(self._run(), self._count)

    def _run(self) -> Generator[Any]:
        """Hands out what is left of an epoch."""
        # It begins with its first step: trainers make an iterator too many.
        cursor = self._cursor = self._next
        self._next = _Cursor(cursor.epoch + 1, Mark(0))
        batches = self._source.epoch(cursor.epoch, cursor.mark, self._plan())
        with closing(batches):  # pyright: ignore[reportArgumentType] - generators close
            for number, (batch, mark, is_last) in enumerate(batches):
                if not isinstance(batch, Raised):
                    cursor.mark, cursor.is_ended = mark, is_last
                if self._said is not None and number == self._said:
                    warn_of_length(self.dataset, self._said)
                yield batch
        cursor.is_ended = True

    def _recipe(self) -> Recipe:
        """Says what was asked for."""
        return Recipe(
            dataset=self.dataset,
            choice=self._choice,
            service=self._service(),
            collate=self._collate(),
            convert=converter(self.output, pin_memory=self.pin_memory),
            seed=self.seed,
        )

    def _service(self) -> Service:
        """Says who makes the batches."""
        # What only workers can be told rests where they are taken away later.
        rests = not self.num_workers and vars(self).get("_is_made", False)
        service = Service(
            num_workers=self.num_workers,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            context=None if rests else self.multiprocessing_context,
            prefetch_factor=None if rests else self.prefetch_factor,
            persistent=self.persistent_workers and not rests,
        )
        service.check()
        return service

    def _collate(self) -> Callable[[list[Any]], Any] | None:
        """Chooses what puts items together."""
        if self.collate_fn is None and self._choice.is_batched:
            vars(self)["collate_fn"] = default_collate
        elif self.collate_fn is not None and not callable(self.collate_fn):
            raise ArgumentError(f"collate_fn must be a function, got {self.collate_fn!r}")
        return self.collate_fn

    def _plan(self) -> Plan:
        """Says how an epoch is cut; the dataset may have grown, ranks may have come up."""
        # As in PyTorch a sampler knows its rank itself, unless it is given here; one of
        # ours that was given none leaves dealing to the loader.
        choice = self._choice
        sampler = choice.sampler if choice.batch_sampler is None else choice.batch_sampler
        is_whole = sampler is None or getattr(sampler, "is_whole", False)
        is_alone = self._ranks[0] is None and not is_whole
        rank = Rank() if is_alone else find_rank(*self._ranks)
        return Plan(
            size=0 if is_iterable(self.dataset) else len(self.dataset),
            choice=choice,
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
