"""Determine the order of an epoch, and request its batches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from seqloom._key import Key
from seqloom.data._position import Position, permuted_positions, with_epoch
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from numpy.typing import NDArray

    from seqloom.data._position import Rank
    from seqloom.data.loader._settings import Batching

Item = TypeVar("Item")

_Array: Any = np.ndarray
_Integer: Any = np.integer
_SEQUENCE_TYPES: Any = (list, tuple)
_END_OF_ORDER: Any = object()  # Marks the end of an iterator.
_MAX_SHOWN_RECORDS = 8  # Maximum number of records that an error message lists.
# Indices are computed in blocks, because an array for each batch would be slow.
_BLOCK_ITEMS = 1 << 14


@dataclass(slots=True, eq=False)
class Request:
    """A request for one batch; it is sent to a worker and returned with the batch."""

    content: Any  # indices, an index, records, or the number of a worker's batch
    epoch: int = 0
    is_checked: bool = False  # If True, `content` is an int64 array of valid indices.
    worker: int | None = None  # Worker that must make the batch.
    # Index of the batch in the epoch over all ranks; determines its random numbers.
    place: int = 0
    # The following fields are not sent to workers.
    position: int = 0  # Position in the epoch after the batch.
    is_last: bool = False
    padding: NDArray[np.bool_] | None = None  # True for repeated items.
    stream_state: Callable[[], Any] | None = None  # Stream state after the batch.

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.content, self.epoch, self.is_checked, self.worker, self.place)
        return Request, fields

    def positions(self) -> Any:
        """Return indices that store the epoch; other values are unchanged."""
        is_array = isinstance(self.content, _Array)
        content = self.content.tolist() if is_array else self.content
        if isinstance(content, _SEQUENCE_TYPES):
            return [*map(self._with_epoch, content)]
        return self._with_epoch(content)

    def describe(self, dataset: Any) -> str:
        """Return the batch number or the indices of its records, for messages."""
        content = self.content
        about = getattr(content, "about", None)
        if about is not None:
            return about
        if self.worker is not None:
            return f"batch {content} of worker {self.worker}, epoch {self.epoch}"
        if self.stream_state is not None:
            return f"batch {self.position - 1} of epoch {self.epoch}"
        rows: list[Any] = [*content] if hasattr(content, "__len__") else [content]
        names = ", ".join(map(str, rows[:_MAX_SHOWN_RECORDS]))
        if len(rows) > _MAX_SHOWN_RECORDS:
            names += f" and {len(rows) - _MAX_SHOWN_RECORDS:,} more"
        if hasattr(dataset, "ids_of"):
            ids = dataset.ids_of([int(row) for row in rows[:_MAX_SHOWN_RECORDS]])
            names += f" ({', '.join(ids)})"
        return f"records {names}"

    def _with_epoch(self, position: Any) -> Any:
        """Return an index that stores the epoch."""
        if type(position) is int or isinstance(position, _Integer):
            return Position(int(position), epoch=self.epoch)
        return position


@dataclass(frozen=True, slots=True)
class FailedBatch:
    """The exception of a failed batch; the epoch continues with the next batch."""

    error: BaseException


def unwrap(answer: Any) -> Any:
    """Return a batch, or raise its exception."""
    if isinstance(answer, FailedBatch):
        raise answer.error
    return answer


@dataclass(slots=True)
class EpochProgress:
    """The position of a loader in an epoch."""

    epoch: int
    position: int = 0  # Number of items, or of batches if the dataset is iterable.
    stream_state: Any = None  # State of a `SequenceStream`, or a function that returns it.
    is_ended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOrder:
    """Splits epochs of a map-style dataset into batches, for one rank."""

    size: int  # number of items in the dataset
    batching: Batching
    rank: Rank
    seed: int

    def __len__(self) -> int:
        batching = self.batching
        if batching.batch_sampler is not None:
            return self._rank_size(len(batching.batch_sampler))
        size = self.size if batching.sampler is None else len(batching.sampler)
        count, batch_size = self._rank_size(size), batching.batch_size or 1
        return count // batch_size if batching.drop_last else -(-count // batch_size)

    def _rank_size(self, size: int) -> int:
        return self.rank.share(0, size)[1]

    def requests(self, epoch: int, start: int = 0) -> Iterator[Request]:
        """Yield the requests of an epoch from a position."""
        batching = self.batching
        if batching.batch_sampler is not None:
            return self._sampler_requests(batching.batch_sampler, epoch, start)
        if batching.sampler is None:
            return self._requests_from_seed(epoch, start)
        return self._sampler_requests(batching.sampler, epoch, start)

    def _requests_from_seed(self, epoch: int, start: int) -> Iterator[Request]:
        """Yield requests in the order that the seed determines, from any position."""
        key = Key(self.seed, epoch) if self.batching.shuffle else None
        size, is_single = self.batching.batch_size or 1, self.batching.batch_size is None
        has_padding = self.rank.world > 1 and self.rank.even == "pad"
        stop, count = self.rank.share(start, self.size) if self.size else (0, 0)
        if self.batching.drop_last:
            count -= count % size
        for begin, end in _split_range(count, max(_BLOCK_ITEMS // size, 1) * size):
            numbers = start + self.rank.number + self.rank.world * np.arange(begin, end)
            rows = permuted_positions(numbers, self.size, key)
            padding = numbers >= self.size if has_padding else None
            for first, last in _split_range(end - begin, size):
                content = rows[first:last]
                request = Request(
                    int(content[0]) if is_single else content, epoch, is_checked=True
                )
                request.place = int(numbers[first])
                done = start + self.rank.world * (begin + last)
                request.position = min(done, stop, self.size)
                request.padding = None if padding is None else padding[first:last]
                yield request

    def _sampler_requests(self, sampler: Any, epoch: int, start: int) -> Iterator[Request]:
        if callable(getattr(sampler, "set_epoch", None)):
            sampler.set_epoch(epoch)
        batching, position = self.batching, start
        has_padding = self.rank.world > 1 and self.rank.even == "pad"
        shared = self._share_of(sampler, start)
        if batching.batch_sampler is not None:
            parts = ((_copy_indices(rows), None) for rows, _ in shared)
        elif batching.batch_size is None:
            parts = ((row, None) for row, _ in shared)
        else:
            parts = _split_rows(shared, batching.batch_size, drop_last=batching.drop_last)
        for rows, padding in parts:
            place = position + self.rank.number
            position += self.rank.world * (1 if padding is None else len(rows))
            padding = padding if has_padding else None  # noqa: PLW2901 - the same mask
            yield Request(rows, epoch, place=place, position=position, padding=padding)

    def _share_of(self, sampler: Iterable[Any], start: int) -> Iterator[tuple[Any, bool]]:
        """Yield this rank's indices of a sampler, and whether they are padding."""
        if self.rank.world == 1:
            yield from ((row, False) for row in islice(sampler, start, None))
            return
        rows = list(sampler)
        stop, _ = self.rank.share(start, len(rows))
        for number in self.rank.positions(start, stop).tolist():
            yield rows[number % len(rows)], number >= len(rows)


def _split_range(count: int, size: int) -> Iterator[tuple[int, int]]:
    """Split a range into ranges of equal size; the last may be smaller."""
    return ((begin, min(begin + size, count)) for begin in range(0, count, size))


def _split_rows(
    rows: Iterator[tuple[Any, bool]], size: int, *, drop_last: bool
) -> Iterator[tuple[Any, NDArray[np.bool_]]]:
    while part := list(islice(rows, size)):
        if drop_last and len(part) < size:
            return
        yield [row for row, _ in part], np.array([is_padding for _, is_padding in part])


def _copy_indices(rows: Any) -> Any:
    """Copy the indices, because a batch_sampler may reuse its list."""
    if not hasattr(rows, "__iter__"):
        raise ArgumentError(
            f"batch_sampler must yield lists of indices, got {rows!r}; pass it as sampler="
        )
    copied = rows.copy() if isinstance(rows, _Array) else list(rows)
    if not len(copied):
        raise ArgumentError(
            "batch_sampler yielded an empty batch; each batch needs at least one index"
        )
    return copied


class OrderView:
    """The order of a loader as ``loader.sampler`` or ``loader.batch_sampler``.

    Iteration yields the indices of the next pass, but does not begin that pass.
    """

    def __init__(
        self,
        order: EpochOrder,
        next_position: Callable[[], tuple[int, int]],  # (epoch, position in the epoch)
        set_epoch: Callable[[int], None],
    ) -> None:
        self._order, self._next_position = order, next_position
        self._set_epoch = set_epoch

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Any]:
        epoch, start = self._next_position()
        for request in self._order.requests(epoch, start):
            rows: Any = request.content
            if self._order.batching.is_batched:
                yield with_epoch(epoch, rows.tolist())
            else:
                yield Position(int(rows), epoch=epoch)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the loader's next pass, unless it resumes within that epoch."""
        if epoch != self._next_position()[0]:
            self._set_epoch(epoch)


class EpochIterator(Iterator[Any]):
    """One pass over a loader; an exception of one batch does not end the pass."""

    def __init__(self, batches: Generator[Any], count: Callable[[], int]) -> None:
        self._batches = batches
        self._count = count

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        if isinstance(batch, FailedBatch):
            del self  # a stored traceback would keep the workers alive
        return unwrap(batch)

    def __len__(self) -> int:
        return self._count()

    def close(self) -> None:
        """End the pass early, and stop its threads."""
        self._batches.close()


def flag_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield pairs (item, True if the item is the last); read one item ahead."""
    rest = iter(items)
    item = next(rest, _END_OF_ORDER)
    while item is not _END_OF_ORDER:
        try:
            following = next(rest, _END_OF_ORDER)
        except Exception as error:
            yield item, False  # yield the previous item first
            raise error  # noqa: TRY201 - the block has been left
        yield item, following is _END_OF_ORDER
        item = following


def mark_last(requests: Iterable[Request]) -> Iterator[Request]:
    """Mark the last request of an epoch."""
    for request, is_last in flag_last(requests):
        request.is_last = is_last
        yield request
