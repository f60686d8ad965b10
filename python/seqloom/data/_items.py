"""What map-style datasets of sequences have in common: items, batches, epochs."""

from __future__ import annotations

import copy
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from seqloom.data._batched import SequenceBatches
from seqloom.data._columns import items_of
from seqloom.data._describe import class_counts, describe
from seqloom.data._epoch import Epoch
from seqloom.data._position import epoch_of, position, positions
from seqloom.data._subset import Subset
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

_AT_ONCE = 256


class SequenceItems(SequenceBatches):
    """Sequences by number, augmented and encoded when asked for, with their labels.

    Args:
        paths: The files they come from.
        encoder: Turns letters into numbers.
        augment: Changes letters before, as epoch and ordinal say.
        seed: Which of the many ways to change them.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
        >>> isinstance(SequenceDataset("a.fa"), SequenceItems)
        True
    """

    def __init__(
        self, paths: tuple[str, ...], *, encoder: Any, augment: Any, seed: int
    ) -> None:
        super().__init__(paths, encoder=encoder, augment=augment, seed=seed)
        self.task: str | None = None
        self.classes: tuple[str, ...] = ()
        self.report: dict[str, Any] = {}
        self._fingerprint: str | None = None

    @abstractmethod
    def _digest(self) -> str:
        """Names the content."""

    @property
    def ids(self) -> list[str]:
        """The id of each sequence, made on demand."""
        return self._ids(np.arange(len(self)))

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """Lists the ids of some sequences.

        Args:
            indices: Which ones.

        Returns:
            Their ids, in that order.

        Raises:
            OutOfRangeError: There is no such sequence.

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
        """How many sequences each class (or each of several labels) has."""
        return class_counts(self.labels, self.task, self.classes)

    def __str__(self) -> str:
        return describe(self.lengths, self.labels, task=self.task, classes=self.classes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._iterate(self._current(None))

    def _iterate(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Goes through all items of one epoch, whatever is set meanwhile."""
        for start in range(0, len(self), _AT_ONCE):
            rows = np.arange(start, min(start + _AT_ONCE, len(self)))
            yield from self.items_at(rows, epoch)

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

    def items_at(
        self, rows: NDArray[np.int64], epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """Fetches several items at once.

        Args:
            rows: Their positions, from 0.
            epoch: The epoch they are asked for in; None takes the one that was set last.

        Returns:
            One dict each.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> SequenceDataset("a.fa").items_at(np.array([1]))[0]["sequence"]
            b'GG'
        """
        return items_of(self._columns(rows, self._current(epoch)), self.encoder)

    def plain(self) -> Self:
        """Shows the same items without augmentation.

        Returns:
            A dataset of the same records; this one where nothing is augmented.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> SequenceDataset("a.fa").plain()[0]["sequence"]
            b'ACGT'
        """
        if self._epoch is None:
            return self
        other = copy.copy(self)
        other.augment = None
        return other

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
        if name not in columns:
            raise ArgumentError(f"items have no {name!r} to group by; they have 'file'")
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
        """Names the content by 32 hexadecimal digits: ids, letters, labels and classes.

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
