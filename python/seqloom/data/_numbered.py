"""What all map-style datasets have in common: items by number, their ids and labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from seqloom._arguments import as_integer
from seqloom.data._describe import as_html, class_counts, describe
from seqloom.data._epoch import Epoch
from seqloom.data._position import epoch_of, position, positions
from seqloom.data._subset import Subset, join_parts
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._drafter import Drafter

_AT_ONCE = 256


class NumberedItems(ABC):
    """Items by number; a subclass says what an item is.

    Attributes:
        paths: The files they come from.
        encoder: Makes numbers of them.
        augment: Changes them in each epoch; None where nothing does.
        seed: Which of the many ways to change them.
        labels: The label of each item; None where there are none.
        task: What the labels are for.
        classes: The names of classes, of values, or of labels.
        noun: What items are called.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> isinstance(SequenceDataset("a.fa"), NumberedItems)
        True
    """

    paths: tuple[str, ...] = ()
    encoder: Any = None
    augment: Any = None
    seed: int = 0
    labels: NDArray[Any] | None = None
    noun: str = "sequences"

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
        """Lists the ids of some items, by checked positions."""

    @abstractmethod
    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:
        """Lists what else an item has: file, ordinal and the like."""

    @abstractmethod
    def _digest(self) -> str:
        """Names the content."""

    @abstractmethod
    def items_at(
        self, rows: NDArray[np.int64], epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """Makes the items at checked positions, in an epoch or the one set last."""

    @abstractmethod
    def batch(self, *indices: Any, **options: Any) -> dict[str, Any]:
        """Fetches several items at once, as columns."""

    @abstractmethod
    def plain(self) -> Self:
        """Shows the same items as they are, to validate by."""

    @property
    def can_draft(self) -> bool:
        """Whether threads can make batches without the interpreter."""
        return False

    def drafter(self, *rest: Any, **shape: Any) -> Drafter:  # noqa: ARG002 - there is none
        """Prepares for batches that threads make without the interpreter."""
        raise ArgumentError("this dataset's batches need Python: use batch()")

    def _current(self, epoch: int | None) -> int:
        """Takes the epoch that was asked for, or the one that was set last."""
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
            indices: Which ones.

        Returns:
            Their ids, in that order.

        Raises:
            OutOfRangeError: There is no such item.

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
        """How many items each class (or each of several labels) has."""
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
        """Goes through all items of one epoch, whatever is set meanwhile."""
        for start in range(0, len(self), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(self)))
            yield from self.items_at(rows, epoch)

    def __add__(self, other: NumberedItems | Subset) -> Subset:
        """Joins this dataset and a part of it."""
        return join_parts(self[:], other)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Subset: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Subset:
        if isinstance(index, slice):
            return Subset(self, np.arange(len(self))[index])
        return self.items_at(np.array([position(index, len(self))]), epoch_of(index))[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        return self.items_at(positions(indices, len(self)), epoch_of(indices))

    def group(self, name: str) -> list[Any]:
        """Lists what each item has in a column, to split by.

        Args:
            name: The column; ``"file"`` for sequences of files.

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
        columns = self._about(np.arange(len(self)), 0)
        if name not in list(columns):
            known = ", ".join(map(repr, columns))
            raise ArgumentError(
                f"items have no {name!r} to group by; they have {known or 'nothing'}"
            )
        return list(columns[name])

    def set_epoch(self, epoch: int) -> None:
        """Makes what is fetched next an item of this epoch, in all worker processes too.

        Our loader asks for its own epochs: this is for loops of your own and for samplers
        of PyTorch, which give plain positions.

        Args:
            epoch: Its number, from 0.

        Raises:
            ArgumentError: The number is below 0.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").set_epoch(3)
        """
        (self._epoch or Epoch()).set(epoch)

    def fingerprint(self) -> str:
        """Names the content by 32 hexadecimal digits: ids, inputs, labels and classes.

        Files that are not held in memory are read once for it.

        Returns:
            The same text for the same content, whatever the files are called.

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
