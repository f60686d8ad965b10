"""A part of a dataset, which answers as the whole does."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._describe import class_counts, describe
from seqloom.data._position import position, positions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._encoder import Encoder
    from seqloom.data._sequence_dataset import SequenceDataset


class Subset:
    """Some sequences of a dataset, in the order given; classes stay the whole's.

    Args:
        dataset: The whole, or a part of it.
        indices: Which sequences: positions, or a mask of True and False.

    Raises:
        ArgumentError: They are no whole numbers.
        OutOfRangeError: The dataset has no such sequence.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> part = Subset(SequenceDataset("a.fa"), [1])
        >>> print(part)
        1 sequence of 2
        >>> part.ids
        ['y']
    """

    def __init__(self, dataset: SequenceDataset | Subset, indices: ArrayLike) -> None:
        rows = positions(indices, len(dataset))
        if isinstance(dataset, Subset):
            dataset, rows = dataset.dataset, dataset.indices[rows]
        self.dataset: SequenceDataset = dataset
        self.indices: NDArray[np.int64] = rows

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the whole."""
        return self.dataset.paths

    @property
    def encoder(self) -> Encoder | None:
        """The encoder of the whole."""
        return self.dataset.encoder

    @property
    def seed(self) -> int:
        """The seed of the whole."""
        return self.dataset.seed

    @property
    def task(self) -> str | None:
        """The task of the whole."""
        return self.dataset.task

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes of the whole, also those that no sequence of this part has."""
        return self.dataset.classes

    @property
    def report(self) -> dict[str, Any]:
        """What the whole left out."""
        return self.dataset.report

    @property
    def ids(self) -> list[str]:
        """The id of each sequence, made on demand."""
        return self.dataset.ids_of(self.indices)

    @property
    def labels(self) -> NDArray[Any] | None:
        """The label of each sequence."""
        labels = self.dataset.labels
        return None if labels is None else labels[self.indices]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence."""
        return self.dataset.lengths[self.indices]

    @property
    def class_counts(self) -> dict[str, int]:
        """How many sequences of this part each class has."""
        return class_counts(self.labels, self.task, self.classes)

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        return describe(self.lengths, self.labels, task=self.task, classes=self.classes)

    def __getitem__(self, index: int) -> dict[str, Any]:
        return self.__getitems__([position(index, len(self))])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        return self.dataset.__getitems__(
            self.indices[positions(indices, len(self))].tolist()
        )

    def batch(
        self, indices: ArrayLike, *, length: int | None = None, multiple: int = 1
    ) -> dict[str, Any]:
        """Fetches several sequences at once, as ``SequenceDataset.batch`` does.

        Args:
            indices: Which ones, as positions in this part.
            length: Places in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.

        Returns:
            The same columns.

        Raises:
            OutOfRangeError: There is no such sequence.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> Subset(SequenceDataset("a.fa"), [1]).batch([0])["id"]
            ['y']
        """
        rows = self.indices[positions(indices, len(self))]
        return self.dataset.batch(rows, length=length, multiple=multiple)

    def to_numpy(self) -> dict[str, Any]:
        """Fetches the whole part at once.

        Returns:
            What ``batch`` gives for all of its sequences, in order.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> Subset(SequenceDataset("a.fa"), [1]).to_numpy()["sequence"]
            [b'GG']
        """
        return self.batch(np.arange(len(self)))

    def fingerprint(self) -> str:
        """Names the content of this part by 32 hexadecimal digits.

        Returns:
            The same text for the same sequences of the same whole.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> data = SequenceDataset("a.fa")
            >>> Subset(data, [0]).fingerprint() == Subset(data, [1]).fingerprint()
            False
        """
        whole = self.dataset.fingerprint().encode()
        return hashlib.blake2b(whole + self.indices.tobytes(), digest_size=16).hexdigest()
