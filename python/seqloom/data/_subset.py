"""A part of a dataset, with the interface of the whole."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom._arguments import check_sized
from seqloom.data._describe import as_html, class_counts, describe
from seqloom.data._frame import mask_by_id
from seqloom.data._position import epoch_of, position, positions
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._drafter import Drafter
    from seqloom.data._encoder import Encoder
    from seqloom.data._map_dataset import MapDataset


class Subset:
    """Selects items of a dataset, in a given order; the classes stay those of the whole.

    Parts of one dataset are joined by ``+``: ``train + valid``.

    Args:
        dataset: The whole dataset, or a part of it.
        indices: Positions of the items, or a mask of True and False.

    Raises:
        ArgumentError: The indices are neither integers nor a mask.
        OutOfRangeError: A position is out of range.

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

    def __init__(self, dataset: MapDataset | Subset, indices: ArrayLike) -> None:
        check_sized("dataset", dataset)
        indices = mask_by_id("indices", indices, lambda: dataset.ids)
        rows = positions(indices, len(dataset))
        if isinstance(dataset, Subset):
            dataset, rows = dataset.dataset, dataset.indices[rows]
        self.dataset: MapDataset = dataset
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
    def augment(self) -> Any:
        """The augmentation of the whole."""
        return self.dataset.augment

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
        """The classes of the whole, even those that no item of this part has."""
        return self.dataset.classes

    @property
    def report(self) -> dict[str, Any]:
        """The report of the whole: what was left out."""
        return self.dataset.report

    @property
    def unmatched(self) -> tuple[str, ...]:
        """The ids of labels that no item of the whole has."""
        return getattr(self.dataset, "unmatched", ())

    @property
    def noun(self) -> str:
        """What the items are called."""
        return self.dataset.noun

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the whole's covariates, if there are any."""
        return getattr(self.dataset, "covariate_names", ())

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
        """The number of items of each class in this part."""
        return class_counts(self.labels, self.task, self.classes)

    def __len__(self) -> int:
        return self.indices.size

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (self[i] for i in range(len(self)))

    def __str__(self) -> str:
        return describe(
            self.lengths, self.labels, task=self.task, classes=self.classes, noun=self.noun
        )

    def __repr__(self) -> str:
        return f"Subset({self})"

    def _repr_html_(self) -> str:
        """Shows the part in a notebook."""
        return as_html("Subset", str(self), self.paths)

    def __add__(self, other: MapDataset | Subset) -> Subset:
        """Joins two parts of one dataset, this one's sequences first."""
        return join_parts(self, other)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Subset: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Subset:
        if isinstance(index, slice):
            return Subset(self, np.arange(len(self))[index])
        row = self.indices[[position(index, len(self))]]
        return self.dataset.items_at(row, epoch_of(index))[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        rows = self.indices[positions(indices, len(self))]
        return self.dataset.items_at(rows, epoch_of(indices))

    def group(self, name: str) -> list[Any]:
        """Lists the values of a column, to split this part by them.

        Args:
            name: Name of the column.

        Returns:
            One value for each item.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> Subset(SequenceDataset("a.fa"), [1]).group("file")
            ['a.fa']
        """
        whole = self.dataset.group(name)
        return [whole[row] for row in self.indices.tolist()]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the items that are fetched next, in the whole too.

        Args:
            epoch: Number of the epoch, from 0.

        Raises:
            ArgumentError: The number is negative.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n")
            >>> Subset(SequenceDataset("a.fa"), [0]).set_epoch(3)
        """
        self.dataset.set_epoch(epoch)

    def batch(self, indices: ArrayLike, **options: Any) -> dict[str, Any]:
        """Fetches several sequences at once, as ``SequenceDataset.batch`` does.

        Args:
            indices: Positions in this part.
            **options: The options of that method: ``epoch``, ``length``, ``multiple``,
                ``out``, ``num_threads``.

        Returns:
            The same columns.

        Raises:
            OutOfRangeError: A position is out of range.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> Subset(SequenceDataset("a.fa"), [1]).batch([0])["id"]
            ['y']
        """
        rows = self.indices[positions(indices, len(self))]
        return self.dataset.batch(rows, **options)

    def with_encoder(self, encoder: Any) -> Subset:
        """Shows the same samples of a ``GenotypeDataset`` through another encoder.

        Args:
            encoder: A ``GenotypeEncoder``.

        Returns:
            The same part of ``dataset.with_encoder(encoder)``.

        Raises:
            ArgumentError: The whole is not a ``GenotypeDataset``.
            FormatError: The files lack a variant that the encoder reads.

        Examples:
            >>> import numpy as np
            >>> import seqloom as sl
            >>> sl.io.to_bed("a.bed", np.array([[0, 1], [2, 1], [1, 0]], np.int8))
            >>> train = sl.data.GenotypeDataset("a.bed")[:2]
            >>> fitted = train.encoder.fit(train)
            >>> train.with_encoder(fitted)[0]["inputs"].tolist()
            [-1.0, 0.0]
        """
        see = getattr(self.dataset, "with_encoder", None)
        if see is None:
            raise ArgumentError(
                "with_encoder needs a part of a GenotypeDataset, got one of a "
                f"{type(self.dataset).__name__}"
            )
        return Subset(see(encoder), self.indices)

    @property
    def can_draft(self) -> bool:
        """Whether threads can make batches without the interpreter."""
        return self.dataset.can_draft

    def drafter(self, **shape: Any) -> Drafter:
        """Prepares batches, as ``SequenceDataset.drafter`` does.

        Args:
            **shape: The options of that method: ``length``, ``multiple``.

        Returns:
            A drafter for positions in this part.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGGCC\\n")
            >>> data = SequenceDataset("a.fa", encoder=OneHot("dna"))
            >>> Subset(data, [1]).drafter().make(np.array([0]))["id"]
            ['y']
        """
        return self.dataset.drafter(**shape).among(self.indices)

    def to_numpy(self) -> dict[str, Any]:
        """Fetches the whole part at once.

        Returns:
            The result of ``batch`` for all items, in order.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.data import SequenceDataset
            >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
            >>> Subset(SequenceDataset("a.fa"), [1]).to_numpy()["sequence"]
            [b'GG']
        """
        return self.batch(np.arange(len(self)))

    def fingerprint(self) -> str:
        """Hashes the content of this part to 32 hexadecimal digits.

        Returns:
            A string that is the same for the same items of the same whole.

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


def without_augment(dataset: MapDataset | Subset) -> MapDataset | Subset:
    """Returns the same items without augmentation, for validation."""
    if isinstance(dataset, Subset):
        return Subset(dataset.dataset.plain(), dataset.indices)
    return dataset.plain()


def learning_from(
    dataset: MapDataset | Subset, rows: NDArray[np.int64]
) -> MapDataset | Subset:
    """Computes statistics that items depend on, if there are any, from some items only."""
    if isinstance(dataset, Subset):
        whole = learning_from(dataset.dataset, dataset.indices[rows])
        return Subset(whole, dataset.indices)
    learn = getattr(dataset, "learning_from", None)
    return dataset if learn is None else learn(rows)


def join_parts(left: Subset, right: object) -> Subset:
    """Makes one part of two; those of two datasets are refused."""
    # In two datasets one number may stand for two classes: joined, they would be mixed.
    other = right.dataset if isinstance(right, Subset) else right
    if other is not left.dataset:
        raise ArgumentError(
            f"+ joins parts of one dataset, got a {type(right).__name__} of another; pass "
            "all files to one dataset: SequenceDataset([a, b], labels=[a_table, b_table])"
        )
    rows = right.indices if isinstance(right, Subset) else np.arange(len(left.dataset))
    return Subset(left.dataset, np.concatenate([left.indices, rows]))
