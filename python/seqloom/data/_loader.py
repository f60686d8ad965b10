"""Batches of a dataset, in an order that seed and epoch alone decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom.data._collate import default_collate
from seqloom.data._fetch import fetcher
from seqloom.data._order import permutation
from seqloom.data._output import converter
from seqloom.data._prefetch import mapped
from seqloom.data._state import VERSION, check_state, whole_number

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from numpy.typing import NDArray


@dataclass(slots=True)
class _Cursor:
    """How far an epoch has been handed out."""

    epoch: int
    position: int


class DataLoader:
    """Hands out a dataset in batches, as PyTorch's loader does; threads serve it.

    The k-th ``iter(loader)`` is epoch k. Order and batches depend on the seed and the epoch
    only, never on ``num_workers``, and a saved state goes on in the middle of an epoch with
    any number of workers.

    Args:
        dataset: Anything with ``len`` and ``[i]``.
        batch_size: Items in a batch.
        shuffle: Whether each epoch has an order of its own.
        num_workers: How many threads work ahead; 0 makes each batch when it is asked for.
        collate_fn: Puts items together; ``default_collate`` if None.
        drop_last: Leaves out a last batch that is not full.
        pin_memory: Puts tensors into memory that a GPU copies faster from.
        seed: Which of the many orders.
        output: ``"numpy"``, or ``"torch"`` for tensors that share the arrays' memory.

    Raises:
        ArgumentError: An argument makes no sense.
        MissingExtraError: torch is asked for, and not installed.

    Examples:
        >>> loader = DataLoader([10, 11, 12, 13, 14], batch_size=2)
        >>> [batch.tolist() for batch in loader]
        [[10, 11], [12, 13], [14]]
        >>> first, second = (np.concatenate(list(loader)) for _ in range(2))
        >>> sorted(first) == sorted(second)
        True
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int = 1,
        shuffle: bool = False,  # noqa: FBT001, FBT002 - PyTorch's third argument
        *,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        drop_last: bool = False,
        pin_memory: bool = False,
        seed: int = 0,
        output: str = "numpy",
    ) -> None:
        whole_number("batch_size", batch_size, least=1)
        whole_number("num_workers", num_workers)
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.num_workers = num_workers
        self.collate_fn = default_collate if collate_fn is None else collate_fn
        self.drop_last = drop_last
        self.pin_memory = pin_memory
        self.seed = seed
        self.output = output
        self._convert = converter(output, pin_memory=pin_memory)
        self._cursor = _Cursor(0, 0)
        self._next = _Cursor(0, 0)

    def __len__(self) -> int:
        return len(range(0, self._end(), self.batch_size))

    def __iter__(self) -> Generator[Any]:
        cursor = self._cursor = self._next
        self._next = _Cursor(cursor.epoch + 1, 0)
        return self._run(cursor)

    def _run(self, cursor: _Cursor) -> Generator[Any]:
        """Hands out what is left of an epoch."""
        order = self._order(cursor.epoch)
        starts = range(cursor.position, self._end(), self.batch_size)
        fetch = fetcher(self.dataset, self.collate_fn)
        parts = (order[start : start + self.batch_size] for start in starts)
        batches = mapped(lambda part: self._convert(fetch(part)), parts, self.num_workers)
        for start, batch in zip(starts, batches, strict=True):
            cursor.position = start + self.batch_size
            yield batch
        cursor.position = self._end()

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Lists positions in the order of an epoch."""
        if not self.shuffle:
            return np.arange(len(self.dataset))
        return permutation(len(self.dataset), Key(self.seed, epoch))

    def _end(self) -> int:
        """Where an epoch ends: before a last batch that is left out."""
        size = len(self.dataset)
        return size - size % self.batch_size if self.drop_last else size

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
        self._next = self._cursor = _Cursor(epoch, 0)

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
        epoch, position = self._cursor.epoch, self._cursor.position
        if position >= self._end() > 0:
            epoch, position = epoch + 1, 0
        return {
            "version": VERSION,
            "epoch": epoch,
            "position": position,
            **self._identity(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Makes the next ``iter`` go on where a state was taken.

        Args:
            state: What ``state_dict`` gave, here or in another process, with any number of
                workers.

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
        self._next = self._cursor = _Cursor(int(state["epoch"]), int(state["position"]))

    def _identity(self) -> dict[str, Any]:
        """Names what a state belongs to."""
        identity = {"size": len(self.dataset), "seed": self.seed, "shuffle": self.shuffle}
        if hasattr(self.dataset, "fingerprint"):
            identity["fingerprint"] = self.dataset.fingerprint()
        return identity
