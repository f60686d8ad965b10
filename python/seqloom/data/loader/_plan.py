"""The batches of one epoch as requests: which items, and how far the epoch is then."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._key import Key
from seqloom.data.loader._fetch import Request
from seqloom.data.loader._order import Order
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.loader._arguments import Choice
    from seqloom.data.loader._rank import Rank

_Array: Any = np.ndarray
_REAL = False  # no padding
# An array for each batch would cost as much as the order itself.
_AT_ONCE = 1 << 14


@dataclass(slots=True)
class Step:
    """One batch to come.

    Args:
        request: Which items.
        done: How many of the epoch's items all ranks have had after it.
        padding: Which of its items stand in the epoch a second time.

    Examples:
        >>> Step(Request([0, 1], 0), 2).done
        2
    """

    request: Request
    done: int
    padding: NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How epochs of a map-style dataset are cut into batches.

    Args:
        size: Items in the dataset.
        choice: How items become batches.
        rank: Which part of an epoch is this process's.
        seed: Which of the many orders.

    Examples:
        >>> from seqloom.data.loader._arguments import Choice
        >>> from seqloom.data.loader._rank import Rank
        >>> plan = Plan(size=5, choice=Choice(batch_size=2), rank=Rank(), seed=0)
        >>> [(step.request.rows.tolist(), step.done) for step in plan.steps(0, 2)]
        [([2, 3], 4), ([4], 5)]
        >>> len(plan)
        3
    """

    size: int
    choice: Choice
    rank: Rank
    seed: int

    def __len__(self) -> int:
        choice = self.choice
        if choice.batch_sampler is not None:
            return self._count(len(choice.batch_sampler))
        size = self.size if choice.sampler is None else len(choice.sampler)
        count, each = self._count(size), choice.batch_size or 1
        return count // each if choice.drop_last else -(-count // each)

    def _count(self, size: int) -> int:
        """Counts what is this rank's."""
        return self.rank.share(0, size)[1]

    def steps(self, epoch: int, start: int = 0) -> Iterator[Step]:
        """Lists the batches of an epoch from a place on."""
        choice = self.choice
        if choice.batch_sampler is not None:
            return self._sampled(choice.batch_sampler, epoch, start)
        if choice.sampler is None:
            return self._ordered(epoch, start)
        return self._sampled(choice.sampler, epoch, start)

    def _ordered(self, epoch: int, start: int) -> Iterator[Step]:
        """Cuts our own order, of which any part can be had alone."""
        order = Order(self.size, Key(self.seed, epoch) if self.choice.shuffle else None)
        stop, count = self.rank.share(start, self.size) if self.size else (0, 0)
        for begin, end in _spans(self._last(count), self._many):
            places = start + self.rank.number + self.rank.world * np.arange(begin, end)
            rows, padding = order.at(places), self._padding(places)
            for first, last in _spans(end - begin, self.choice.batch_size or 1):
                done = min(start + self.rank.world * (begin + last), stop, self.size)
                request = self._request(rows[first:last], epoch)
                yield Step(request, done, None if padding is None else padding[first:last])

    def _last(self, count: int) -> int:
        """Counts the items of whole batches, or all."""
        size = self.choice.batch_size or 1
        return count - count % size if self.choice.drop_last else count

    @property
    def _many(self) -> int:
        """How many items are put in order at once: those of whole batches."""
        size = self.choice.batch_size or 1
        return max(_AT_ONCE // size, 1) * size

    def _request(self, rows: Any, epoch: int) -> Request:
        """Asks for several items, or for the one."""
        alone = self.choice.batch_size is None
        return Request(int(rows[0]) if alone else rows, epoch, is_checked=True)

    def _padding(self, places: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        """Marks what other ranks have had, where such a thing can be."""
        if self.rank.world == 1 or self.rank.even != "pad":
            return None
        return places >= self.size

    def _sampled(self, sampler: Any, epoch: int, start: int) -> Iterator[Step]:
        """Follows a sampler, passing over what has been had."""
        if callable(getattr(sampler, "set_epoch", None)):
            sampler.set_epoch(epoch)
        choice, done = self.choice, start
        is_marked = self.rank.world > 1 and self.rank.even == "pad"
        dealt = self._dealt(sampler, start)
        if choice.batch_sampler is not None:
            parts = ((_listed(rows), None) for rows, _ in dealt)
        elif choice.batch_size is None:
            parts = ((row, None) for row, _ in dealt)
        else:
            parts = _cut(dealt, choice.batch_size, drop_last=choice.drop_last)
        for rows, padding in parts:
            done += self.rank.world * (1 if padding is None else len(rows))
            yield Step(Request(rows, epoch), done, padding if is_marked else None)

    def _dealt(self, sampler: Iterable[Any], start: int) -> Iterator[tuple[Any, bool]]:
        """Takes this rank's share of what a sampler gives."""
        if self.rank.world == 1:
            yield from ((row, _REAL) for row in islice(sampler, start, None))
            return
        rows = list(sampler)
        stop, _ = self.rank.share(start, len(rows))
        for place in self.rank.places(start, stop).tolist():
            yield rows[place % len(rows)], place >= len(rows)


def _spans(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Cuts a range into parts of a size; the last one is the rest."""
    return ((begin, min(begin + size, count)) for begin in range(0, count, size))


def _cut(
    rows: Iterator[tuple[Any, bool]], size: int, *, drop_last: bool
) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    """Puts items into batches."""
    while part := list(islice(rows, size)):
        if drop_last and len(part) < size:
            return
        yield [row for row, _ in part], np.array([is_padding for _, is_padding in part])


def _listed(rows: Any) -> Any:
    """Copies what a batch_sampler gives, which it may write to again."""
    if not hasattr(rows, "__iter__"):
        raise ArgumentError(
            f"a batch_sampler gives lists of positions, got {rows!r}; pass it as sampler="
        )
    copied = rows.copy() if isinstance(rows, _Array) else list(rows)
    if not len(copied):
        raise ArgumentError("a batch_sampler gave an empty batch; leave it out")
    return copied
