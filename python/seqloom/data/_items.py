"""What map-style datasets of sequences have in common: items, batches, epochs."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from seqloom._key import Key
from seqloom.data._columns import encoded_columns, items_of, plain
from seqloom.data._describe import class_counts, describe
from seqloom.data._encoded import augmented
from seqloom.data._encoder import checked_augment
from seqloom.data._epoch import Epoch
from seqloom.data._position import epoch_of, position, positions
from seqloom.data._subset import Subset
from seqloom.errors import ArgumentError, LetterError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._store import Letters

_AT_ONCE = 256


class SequenceItems(ABC):
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
        self.paths: tuple[str, ...] = paths
        self.encoder = encoder
        self.augment = checked_augment(augment)
        self.seed = seed
        self.task: str | None = None
        self.classes: tuple[str, ...] = ()
        self.labels: NDArray[Any] | None = None
        self.report: dict[str, Any] = {}
        # What no random number enters is the same in every epoch.
        self._epoch = Epoch() if self._is_random else None
        self._fingerprint: str | None = None

    @property
    def _is_random(self) -> bool:
        """Whether an item depends on its epoch."""
        return self.augment is not None

    @property
    @abstractmethod
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence."""

    @abstractmethod
    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some sequences, by checked positions."""

    @abstractmethod
    def _fetch(
        self, rows: NDArray[np.int64], epoch: int, num_threads: int
    ) -> tuple[list[str], Letters]:
        """Fetches ids, and letters as they are before augmentation."""

    @abstractmethod
    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:
        """Lists what else an item has: file, ordinal and the like."""

    @abstractmethod
    def _located(self, error: LetterError, row: int, epoch: int) -> LetterError:
        """Adds to an error where the letter stands."""

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

    def __len__(self) -> int:
        return self.lengths.size

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

    def _current(self, epoch: int | None) -> int:
        """Takes the epoch that was asked for, or the one that was set last."""
        if epoch is not None:
            return epoch
        return 0 if self._epoch is None else self._epoch.get()

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

    def batch(
        self,
        indices: ArrayLike,
        *,
        epoch: int | None = None,
        length: int | None = None,
        multiple: int = 1,
        out: NDArray[Any] | None = None,
        num_threads: int = 1,
    ) -> dict[str, Any]:
        """Fetches several sequences at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            epoch: The epoch that augmentation is for; None takes the one that was set
                last.
            length: Places in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.
            out: Where ``inputs`` are written; memory of its own if None.
            num_threads: How many threads may work.

        Returns:
            ``id`` (a list), ``inputs`` (sequences, channels, places) or ``sequence`` (a
            list; with ``quality`` where files are FASTQ), ``file`` (a list), ``ordinal``,
            ``label`` where there are labels, and ``lengths``; ``mask`` (sequences, places),
            1 where a letter stands and 0 where there is padding, if there is padding.

        Raises:
            ArgumentError: Indices are no whole numbers.
            OutOfRangeError: There is no such sequence.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> batch = SequenceDataset("a.fa", encoder=OneHot("dna")).batch([0, 1])
            >>> batch["inputs"].shape, batch["mask"].tolist()[1]
            ((2, 4, 4), [1.0, 1.0, 0.0, 0.0])
        """
        return self._columns(
            positions(indices, len(self)),
            self._current(epoch),
            length=length,
            multiple=multiple,
            out=out,
            num_threads=num_threads,
        )

    def _columns(
        self, rows: NDArray[np.int64], epoch: int, *, num_threads: int = 1, **shape: Any
    ) -> dict[str, Any]:
        """Puts the columns of a batch together."""
        about = self._about(rows, epoch)
        names, letters = self._fetch(rows, epoch, num_threads)
        if self.augment is not None:
            keys = Key(self.seed, epoch).each(about["ordinal"])
            letters = augmented(self.augment, letters, keys, num_threads=num_threads)
        batch: dict[str, Any] = {"id": names}
        if self.encoder is None:
            return batch | plain(letters) | about | self._labels_of(rows)
        try:
            encoded = encoded_columns(
                self.encoder, letters[0], names, num_threads=num_threads, **shape
            )
        except LetterError as error:
            if error.record is None or error.position is None:
                raise
            raise self._located(error, int(rows[error.record]), epoch) from None
        return (
            batch
            | {"inputs": encoded.pop("inputs")}
            | about
            | self._labels_of(rows)
            | encoded
        )

    def _labels_of(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        """Takes labels, where there are any."""
        return {} if self.labels is None else {"label": self.labels[rows]}

    def to_numpy(self) -> dict[str, Any]:
        """Fetches everything at once.

        Returns:
            What ``batch`` gives for all sequences, in order.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
            >>> SequenceDataset("a.fa", encoder=OneHot("dna")).to_numpy()["inputs"].shape
            (2, 4, 4)
        """
        return self._columns(np.arange(len(self)), self._current(None))

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
