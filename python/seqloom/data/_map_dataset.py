"""What all map-style datasets provide: items by position, their ids and labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import as_integer
from seqloom.data._describe import as_html, class_counts, describe
from seqloom.data._epoch import Epoch
from seqloom.data._position import positions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._drafter import Drafter

_AT_ONCE = 256


class MapDataset(ABC):
    """Items by position; a subclass says what an item is."""

    paths: tuple[str, ...] = ()
    encoder: Any = None
    augment: Any = None
    seed: int = 0  # of the augmentation
    labels: NDArray[Any] | None = None
    noun: str = "sequences"  # what the items are called

    def __init__(self) -> None:
        self.task: str | None = None
        self.classes: tuple[str, ...] = ()
        self._report: dict[str, Any] = {}
        self._epoch: Epoch | None = None
        self._fingerprint: str | None = None

    @property
    def report(self) -> dict[str, Any]:
        """What was left out, and what was counted."""
        return self._report

    @report.setter
    def report(self, facts: dict[str, Any]) -> None:
        self._report = facts

    @property
    @abstractmethod
    def lengths(self) -> NDArray[np.int64]:
        """The length of each item."""

    @abstractmethod
    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of items at checked positions."""

    @abstractmethod
    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:
        """Returns further columns of items: file, ordinal and the like."""

    @abstractmethod
    def _digest(self) -> str:
        """Hashes the content."""

    @abstractmethod
    def items_at(
        self, rows: NDArray[np.int64], epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """Makes the items at checked positions; epoch None is the one that was set last."""

    @abstractmethod
    def batch(self, *indices: Any, **options: Any) -> dict[str, Any]:
        """Fetches several items at once, as columns."""

    @abstractmethod
    def plain(self) -> Self:
        """Returns the same items without augmentation, for validation."""

    @property
    def can_draft(self) -> bool:
        """Whether threads can make batches without the interpreter."""
        return False

    def drafter(self, *rest: Any, **shape: Any) -> Drafter:  # noqa: ARG002 - there is none
        """Prepares batches that threads make without the interpreter."""
        raise ArgumentError(
            "this dataset cannot make batches without the interpreter: call batch()"
        )

    def _current(self, epoch: int | None) -> int:
        """Returns the requested epoch, or the one that was set last."""
        if epoch is not None:
            return as_integer("epoch", epoch)
        return 0 if self._epoch is None else self._epoch.get()

    def __len__(self) -> int:
        return self.lengths.size

    @property
    def ids(self) -> list[str]:
        """The id of each item, made on demand."""
        return self._ids(np.arange(len(self)))

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """Lists the ids of some items.

        Args:
            indices: Positions of the items, or a mask.

        Returns:
            Their ids, in the same order.

        Raises:
            OutOfRangeError: A position is out of range.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceDataset("a.fa").ids_of([1])
            ['y']
        """
        return self._ids(positions(indices, len(self)))

    @property
    def class_counts(self) -> dict[str, int]:
        """The number of items of each class, or of each of several labels."""
        return class_counts(self.labels, self.task, self.classes)

    def __str__(self) -> str:
        return describe(
            self.lengths,
            self.labels,
            task=self.task,
            classes=self.classes,
            noun=self.noun,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self})"

    def _repr_html_(self) -> str:
        """Shows the dataset in a notebook."""
        return as_html(type(self).__name__, str(self), self.paths)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._iterate(self._current(None))

    def _iterate(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Yields all items of one epoch, even if another epoch is set meanwhile."""
        for start in range(0, len(self), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(self)))
            yield from self.items_at(rows, epoch)

    def group(self, name: str) -> list[Any]:
        """Lists the values of a column, or the letters, to split the dataset by them.

        Args:
            name: Name of the column; ``"file"`` for sequences of files. ``"sequence"``
                gives the letters in capitals, so that equal sequences are one group.

        Returns:
            One value for each item.

        Raises:
            ArgumentError: There is no such column.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceDataset("a.fa").group("file")
            ['a.fa', 'a.fa']
        """
        columns = self._groupings()
        if name not in columns:
            known = ", ".join(map(repr, columns))
            raise ArgumentError(
                f"items have no column {name!r} to group by; their columns are "
                f"{known or 'none'}"
            )
        return columns[name]()

    def _groupings(self) -> dict[str, Callable[[], list[Any]]]:
        """Names what items can be split by; values are made when they are asked for."""
        columns = self._about(np.arange(len(self)), 0)
        return {name: partial(list, values) for name, values in columns.items()}

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the items that are fetched next, in all worker processes too.

        Our loader sets its own epochs. This is for your own loops, and for samplers of
        PyTorch, whose positions carry no epoch.

        Args:
            epoch: Number of the epoch, from 0.

        Raises:
            ArgumentError: The number is negative.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").set_epoch(3)
        """
        (self._epoch or Epoch()).set(epoch)

    def fingerprint(self) -> str:
        """Hashes the content (ids, inputs, labels and classes) to 32 hexadecimal digits.

        Files that are not in memory are read once for it.

        Returns:
            A string that is the same for the same content, whatever the files' names.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").fingerprint() == SequenceDataset(
            ...     "a.fa"
            ... ).fingerprint()
            True
        """
        if self._fingerprint is None:
            self._fingerprint = self._digest()
        return self._fingerprint
