"""One batch to be made, and the exception that may take the position of the batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from seqloom.data._position import Position

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import NDArray

Item = TypeVar("Item")

_Array: Any = np.ndarray
_Integer: Any = np.integer
_SEQUENCES: Any = (list, tuple)
_END: Any = object()  # what follows the last item


@dataclass(slots=True, eq=False)
class Request:
    """One batch to be made: it goes from the order to a worker, and back with the batch."""

    content: Any  # positions, one position, records, or the number of a worker's batch
    epoch: int = 0
    is_checked: bool = False  # content is an int64 array of valid positions
    worker: int | None = None  # the only process that can make the batch
    number: int = -1  # among all requests of a pool of processes
    place: int = (
        0  # the batch's number in the epoch, over all ranks: decides random numbers
    )
    # What follows stays in this process: a worker does not get it.
    position: int = 0  # how far the epoch is after this batch
    is_last: bool = False
    padding: NDArray[np.bool_] | None = None  # which items other ranks have too
    stream_state: Callable[[], Any] | None = None  # of the stream after this batch
    deaths: int = 0  # how many workers died while they made it

    def __reduce__(self) -> tuple[Any, ...]:
        return Request, (
            self.content,
            self.epoch,
            self.is_checked,
            self.worker,
            self.number,
            self.place,
        )

    def positions(self) -> Any:
        """Returns positions that carry the epoch; what is not an integer stays as it is."""
        is_array = isinstance(self.content, _Array)
        content = self.content.tolist() if is_array else self.content
        if isinstance(content, _SEQUENCES):
            return [*map(self._with_epoch, content)]
        return self._with_epoch(content)

    def _with_epoch(self, position: Any) -> Any:
        """Adds the epoch to one position."""
        if type(position) is int or isinstance(position, _Integer):
            return Position(int(position), epoch=self.epoch)
        return position


@dataclass(slots=True)
class EpochProgress:
    """How many of an epoch's batches the loader has handed out."""

    epoch: int
    position: int = 0  # items of the order, or batches of an iterable dataset
    stream_state: Any = None  # of a stream of ours, or a function that returns it
    is_ended: bool = False


def mark_last(requests: Iterable[Request]) -> Iterator[Request]:
    """Says of each request whether it is the last one."""
    for request, is_last in with_last(requests):
        request.is_last = is_last
        yield request


def with_last(items: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yields items and whether they are the last; to know that, it takes one item ahead."""
    rest = iter(items)
    item = next(rest, _END)
    while item is not _END:
        try:
            following = next(rest, _END)
        except Exception as error:
            yield item, False  # what comes before an error is delivered before the error
            raise error  # noqa: TRY201 - the block it came from has been left meanwhile
        yield item, following is _END
        item = following


@dataclass(frozen=True, slots=True)
class FailedBatch:
    """The exception of a batch that could not be made; the epoch goes on after it."""

    error: BaseException


def unwrap(answer: Any) -> Any:
    """Returns a batch, or raises the exception that took its place."""
    if isinstance(answer, FailedBatch):
        raise answer.error
    return answer
