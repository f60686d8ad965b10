"""From positions to a batch, the fast way where there is one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from seqloom.data._position import Position, epoch_of, positions
from seqloom.data.collate._collate import default_collate, unequal
from seqloom.data.collate._pad import PadCollator
from seqloom.data.loader._ours import is_ours
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from seqloom._rust import _native


_Array: Any = np.ndarray
_Whole: Any = np.integer
_SEVERAL: Any = (list, tuple)


@dataclass(slots=True)
class Request:
    """Which items a batch is made of.

    Args:
        rows: Positions, or what else a sampler gives; one where items are left alone.
        epoch: The epoch they are asked for in.
        is_checked: Whether they are the loader's own: an int64 array of what is there.

    Examples:
        >>> Request(np.arange(2), 3).places()
        [0, 1]
    """

    rows: Any
    epoch: int
    is_checked: bool = False

    def places(self) -> Any:
        """Lists positions that carry the epoch; what is no whole number stays as it is."""
        rows = self.rows.tolist() if isinstance(self.rows, _Array) else self.rows
        return (
            [*map(self._place, rows)] if isinstance(rows, _SEVERAL) else self._place(rows)
        )

    def _place(self, row: Any) -> Any:
        """Gives a plain number its epoch."""
        if type(row) is int or isinstance(row, _Whole):
            return Position(int(row), epoch=self.epoch)
        return row


@dataclass(frozen=True, slots=True)
class Fetch:
    """Makes batches of a map-style dataset; goes to worker processes where need be.

    Args:
        dataset: Anything with ``[i]``.
        collate: Puts items together; None leaves the one item as it is.
        is_batched: Whether a request names several items.
        num_threads: How many threads one batch may use.

    Examples:
        >>> Fetch([5, 6], default_collate)(Request(np.array([1, 0]), 0)).tolist()
        [6, 5]
    """

    dataset: Any
    collate: Callable[[Any], Any] | None
    is_batched: bool = True
    num_threads: int = 1
    _columns: Any = field(init=False, default=None)

    def __post_init__(self) -> None:
        encoder = getattr(self.dataset, "encoder", None)
        object.__setattr__(self, "collate", knowing(self.collate, encoder))
        object.__setattr__(self, "_columns", self._fast())

    def __call__(self, request: Request) -> Any:
        """Makes one batch."""
        if self._columns is not None:
            options = self._options(request) | {"num_threads": self.num_threads}
            batch = self.dataset.batch(_numbers(request.rows), **options)
            return self._columns.finish(batch, self.dataset.encoder)
        places = request.places()
        if not self.is_batched:
            item = self.dataset[places]
            return item if self.collate is None else self.collate(item)
        items = fetch_items(self.dataset, places)
        return items if self.collate is None else self.collate(items)

    @property
    def can_draft(self) -> bool:
        """Whether threads can make batches without the interpreter."""
        return self._columns is not None and getattr(self.dataset, "can_draft", False)

    def beginner(self, maker: _native.BatchMaker) -> Callable[[Request], Callable[[], Any]]:
        """Gives what lets such threads begin with a batch, and then waits for it."""
        begin = self.dataset.drafter(**self._columns.options).begin
        size = len(self.dataset)

        def started(request: Request) -> Callable[[], Any]:
            rows = request.rows
            if not request.is_checked:
                rows = positions(_numbers(rows), size)
            wait = begin(maker, rows)
            return lambda: self.finish(wait())

        return started

    def finish(self, batch: dict[str, Any]) -> Any:
        """Makes of a draft's batch what the collator would."""
        return self._columns.finish(batch, self.dataset.encoder)

    def _options(self, request: Request) -> dict[str, Any]:
        """Says which epoch, and what the collator wants."""
        carried = epoch_of(request.rows)
        epoch = request.epoch if carried is None else carried
        return {"epoch": epoch, **self._columns.options}

    def _fast(self) -> ColumnMaker | None:
        """Chooses to make a batch as columns, where dataset and collator can."""
        is_columnar = callable(getattr(self.dataset, "batch", None))
        if not self.is_batched or not is_columnar or not is_ours(self.dataset):
            return None
        return column_maker(getattr(self.dataset, "encoder", None), self.collate)


class ColumnMaker(Protocol):
    """Makes whole columns what a collator makes of items.

    Examples:
        >>> maker: ColumnMaker = PadCollator(multiple=8)
        >>> maker.options
        {'length': None, 'multiple': 8}
    """

    @property
    def options(self) -> Mapping[str, Any]:
        """What a dataset's ``batch`` is told."""
        ...

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Makes of the columns what the items would have given."""
        ...


def column_maker(encoder: Any, collate: Any) -> ColumnMaker | None:
    """Chooses how what has ``batch`` gives a batch as columns; None where it cannot."""
    if encoder is None:
        return None
    if collate is default_collate:
        return _EQUAL
    # Encoder and collator must agree about which axis is the place.
    if type(collate) is PadCollator and collate.takes_columns(encoder):
        return collate
    return None


def knowing(collate: Any, encoder: Any) -> Any:
    """Tells a collator that pads what its encoder pads with."""
    if isinstance(collate, PadCollator) and collate.encoder is None:
        return replace(collate, encoder=encoder)
    return collate


class _Equal:
    """Columns of sequences of one length, as ``default_collate`` wants them."""

    options: Mapping[str, Any] = MappingProxyType({})

    def finish(self, batch: dict[str, Any], encoder: Any) -> dict[str, Any]:
        """Refuses padding, and leaves out what there is without it."""
        del encoder
        # Genotypes have none: each item is as long as all others.
        lengths = batch.pop("lengths", None)
        if "mask" in batch:
            raise unequal(lengths.min(), lengths.max())
        return batch


_EQUAL = _Equal()


def _numbers(rows: Any) -> Any:
    """Takes positions as an array; a sampler may have given what is none."""
    numbers = rows if isinstance(rows, _Array) else np.array(rows, ndmin=1)
    if numbers.size and numbers.dtype.kind not in "iu":
        raise ArgumentError(f"a sampler must give whole numbers, got {rows!r}")
    return numbers.astype(np.int64, copy=False)


def fetch_items(dataset: Any, places: Iterable[Any]) -> list[Any]:
    """Fetches items, all at once where the dataset can."""
    if callable(getattr(dataset, "__getitems__", None)):
        return dataset.__getitems__(places)
    return [dataset[place] for place in places]
