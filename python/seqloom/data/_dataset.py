"""The one dataset: rows of a source, encoded when they are asked for."""

from __future__ import annotations

import copy
import hashlib
from itertools import chain
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from seqloom._arguments import as_integer
from seqloom._threads import supports_threads
from seqloom.data._batch import BatchMaker, encode_part, items_of
from seqloom.data._describe import class_counts, composition, describe, html_of
from seqloom.data._frame import mask_by_id
from seqloom.data._position import Epoch, epoch_of, position, positions
from seqloom.data._source import are_all, each_letters, ids_of, lengths_of
from seqloom.data.label._labels import LabelColumn
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._batch import NativeBatchMaker
    from seqloom.data._source import Rows, Source

_ITEMS_AT_ONCE = 256
_REPLACEABLE = {"augment", "encoder", "seed", "jitter", "rows", "source"}


@final
class Dataset:
    """Records by position, with their labels: a whole dataset or a part of one.

    ``SequenceDataset``, ``IntervalDataset``, ``GenotypeDataset`` and ``EmbeddingDataset``
    make whole ones; a slice, ``Subset`` and ``split`` make parts.

    Args:
        source: What records are read from.
        rows: The rows of the source, in order; None takes those with a label, or all.
        encoder: Encodes letters as numbers.
        augment: Changes letters before they are encoded.
        seed: Seed of the augmentation.
        labels: A label for each row.

    Attributes:
        labels: The label of each record, or None.
        task: What labels are: ``"classify"``, ``"regress"`` or ``"multilabel"``.
        classes: The names of the classes, those too that no record has.
        unmatched: The ids of labels without a record.
        indices: The positions of the records in the whole dataset.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> isinstance(SequenceDataset({"x": "ACGT", "y": "GG"}), Dataset)
        True
    """

    def __init__(
        self,
        source: Source,
        rows: Rows | None = None,
        *,
        encoder: Any = None,
        augment: Any = None,
        seed: int = 0,
        labels: LabelColumn | None = None,
    ) -> None:
        labels = LabelColumn() if labels is None else labels
        rows = labels.rows if rows is None else rows
        self.source, self.jitter = source, source.jitter
        self.kind, self.title, self.noun = source.kind, source.title, source.noun
        self.paths, self.record_files = source.paths, source.record_files
        rows = np.arange(source.size) if rows is None else rows
        self.rows: Rows = np.ascontiguousarray(rows, np.int64)
        self._has_all_rows = are_all(self.rows, source.size)
        self.indices = self.rows if self._has_all_rows else np.arange(self.rows.size)
        self.encoder, self.augment, self.seed = encoder, augment, seed
        self.labels, self.task, self.classes = labels.values, labels.task, labels.classes
        self.unmatched, self._report = labels.unmatched, labels.report
        # Without random numbers, items are the same in every epoch.
        is_random = augment is not None or source.jitter > 0
        self._epoch = Epoch() if is_random else None
        self._fingerprint: str | None = None
        self._whole: Dataset | None = None  # None: this is a whole dataset

    @property
    def whole(self) -> Dataset:
        """The dataset that this is a part of; itself if it is whole."""
        return self if self._whole is None else self._whole

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates, if there are any."""
        return self.source.covariate_names

    @property
    def names(self) -> list[str] | None:
        """Further names of the records, such as BED's fourth column; None without names."""
        names = self.source.names
        return None if names is None else [names[row] for row in self.rows.tolist()]

    @property
    def report(self) -> dict[str, Any]:
        """What was left out of the whole, and how many letters are ambiguous or masked."""
        self._report |= self.source.facts
        # Counted at the first look; the parts share the whole's report.
        if "letters" not in self._report and self.source.counts_letters:
            letters = each_letters(self.source, self.whole.rows, self.encoder)
            parts = (encode_part(self.encoder, part) for part in letters)
            self._report["letters"] = composition(parts, self.encoder)
        return self._report

    @property
    def ids(self) -> list[str]:
        """The id of each record, made on demand."""
        return ids_of(self.source, self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each record; a stop that the encoder leaves out is no letter."""
        return lengths_of(self.source, self.rows, self.encoder)

    @property
    def class_counts(self) -> dict[str, int]:
        """The number of records of each class, or of each of several labels."""
        return class_counts(self.labels, self.task, self.classes)

    def __len__(self) -> int:
        return self.rows.size

    def __str__(self) -> str:
        return describe(
            self.lengths, self.labels, task=self.task, classes=self.classes, noun=self.noun
        )

    def __repr__(self) -> str:
        return f"{self.title}({self})"

    _repr_html_ = html_of

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # All items are of one epoch, even if another one is set meanwhile.
        epoch, rows = self._current(None), np.arange(len(self))
        starts = range(0, rows.size, _ITEMS_AT_ONCE)
        return chain.from_iterable(
            self.items_at(rows[start : start + _ITEMS_AT_ONCE], epoch) for start in starts
        )

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Dataset:
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        return self.items_at(np.array([position(index, len(self))]), epoch_of(index))[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        return self.items_at(positions(indices, len(self)), epoch_of(indices))

    def __add__(self, other: Any) -> Dataset:
        """Join two parts of one dataset, this one's records first."""
        # In two datasets one number may stand for two classes: joined, they would be mixed.
        if not isinstance(other, Dataset) or other.whole is not self.whole:
            name = other.title if isinstance(other, Dataset) else type(other).__name__
            raise ArgumentError(
                f"+ joins parts of one dataset, got a {name} of another; pass all files to "
                "one dataset: SequenceDataset([a, b], labels=[a_table, b_table])"
            )
        return self.whole.select(np.concatenate([self.indices, other.indices]))

    def select(self, indices: ArrayLike) -> Dataset:
        """Select records, in a given order; the classes stay those of the whole.

        Args:
            indices: Positions of the records, or a mask of True and False.

        Returns:
            A part of the whole dataset.

        Raises:
            ArgumentError: The indices are neither integers nor a mask.
            OutOfRangeError: A position is out of range.
        """
        indices = mask_by_id("indices", indices, lambda: self.ids)
        rows = positions(indices, len(self))
        part = copy.copy(self)
        vars(part).update(
            _whole=self.whole,
            title="Subset",
            indices=self.indices[rows],
            rows=self.rows[rows],
            _has_all_rows=False,
            labels=None if self.labels is None else self.labels[rows],
        )
        return part

    def replace(self, **attributes: Any) -> Dataset:
        """Copy the dataset, with other values of some attributes.

        Args:
            **attributes: New values of ``augment``, ``encoder`` or ``seed``.

        Returns:
            A copy; a copy of a part belongs to a copy of the whole dataset.

        Raises:
            ArgumentError: Another attribute is given.

        Examples:
            >>> from seqloom.augment import ReverseComplement
            >>> from seqloom.data import SequenceDataset
            >>> data = SequenceDataset({"x": "AAC"})
            >>> data.replace(augment=ReverseComplement(p=1.0))[0]["sequence"]
            b'GTT'
        """
        count = len(attributes.get("rows", self.rows))
        if attributes.keys() - _REPLACEABLE or count != len(self):
            raise ArgumentError(
                "replace takes augment=, encoder= and seed=, and select(...) chooses "
                f"records; got {', '.join(attributes)}"
            )
        if self._whole is not None:
            own = {name: vars(self)[name] for name in ("augment", "encoder", "seed")}
            return self._whole.replace(**own | attributes).select(self.indices)
        state = vars(other := copy.copy(self))
        state.update(attributes, _fingerprint=None)
        state["_has_all_rows"] = are_all(other.rows, other.source.size)
        if other.encoder is not self.encoder or other.source is not self.source:
            state["_report"] = {k: v for k, v in self._report.items() if k != "letters"}
        if other.augment is not None or other.jitter > 0:
            state["_epoch"] = self._epoch or Epoch()
        return other

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """List the ids of some records, by positions or a mask."""
        return ids_of(self.source, self.rows[positions(indices, len(self))])

    def group(self, name: str) -> list[Any]:
        """List the values of a column, or the letters, to split the dataset by them.

        Args:
            name: A column: ``"file"`` of sequences of files; ``"chrom"``, ``"start"``,
                ``"stop"``, ``"strand"`` and others of intervals; ``"fid"`` (the family)
                or ``"label"`` of samples; ``"chromosome"`` of variants. ``"sequence"``
                gives the letters in capitals, so that equal ones are one group.

        Returns:
            One value for each record.

        Raises:
            ArgumentError: There is no such column.

        Examples:
            >>> from seqloom.data import SequenceDataset
            >>> SequenceDataset({"x": "ACGT", "y": "acgt"}).group("sequence")
            [b'ACGT', b'ACGT']
        """
        return self.source.group(self.rows, name, self.labels)

    def batch(
        self,
        indices: ArrayLike,
        *,
        epoch: int | None = None,
        length: int | None = None,
        multiple: int = 1,
        out: NDArray[Any] | None = None,
        num_threads: int | None = 1,
    ) -> dict[str, Any]:
        """Fetch several records at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            epoch: The epoch of the augmentation; None takes the one that was set last.
            length: Positions in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.
            out: Where ``inputs`` are written; memory of its own if None.
            num_threads: How many threads may work.

        Returns:
            ``id`` (``Ids``); ``inputs`` (sequences, channels, positions), or without an
            encoder ``sequence`` (of FASTQ ``quality`` too), or ``codes``; ``label``;
            ``lengths``; ``mask``, 0 in padding, if there is any; and the columns of the
            source, such as ``file``, ``ordinal`` or ``covariates``.

        Raises:
            ArgumentError: Indices are not integers.
            OutOfRangeError: There is no such record.
            ShapeError: A sequence is longer than ``length``.

        Examples:
            >>> from seqloom.data import SequenceDataset
            >>> from seqloom.encode import OneHot
            >>> data = SequenceDataset({"x": "ACGT", "y": "GG"}, encoder=OneHot("dna"))
            >>> batch = data.batch([0, 1])
            >>> batch["inputs"].shape, batch["mask"].tolist()[1]
            ((2, 4, 4), [1.0, 1.0, 0.0, 0.0])
        """
        threads = 1 if num_threads is None else num_threads
        return self._maker().make(
            positions(indices, len(self)),
            self._current(epoch),
            length=None if length is None else as_integer("length", length),
            multiple=as_integer("multiple", multiple, least=1),
            out=out,
            num_threads=as_integer("num_threads", threads, least=1),
        )

    def to_numpy(self) -> dict[str, Any]:
        """Fetch all records at once, in order, as ``batch`` gives them."""
        return self._maker().make(np.arange(len(self)), self._current(None))

    def items_at(self, indices: Rows, epoch: int | None = None) -> list[dict[str, Any]]:
        """Fetch several items at once, by checked positions."""
        return items_of(self._maker().make(indices, self._current(epoch)), self.encoder)

    def plain(self) -> Dataset:
        """Show the same records without augmentation and jitter; itself if it has none."""
        is_plain = self.augment is None and not self.jitter
        return self if is_plain else self.replace(augment=None, jitter=0)

    def with_encoder(self, encoder: Any) -> Dataset:
        """Show the same samples of a ``GenotypeDataset`` through another encoder.

        Args:
            encoder: A ``GenotypeEncoder``; a fitted one decides on variants and covariates.

        Returns:
            A dataset of the same files and labels; it shares the codes where it can.

        Raises:
            FormatError: The file lacks a variant that the encoder reads.
            LabelError: It lacks a covariate.
            ArgumentError: Items are not samples.
        """
        source = self.source.fitted(encoder)
        if source is self.source:
            raise ArgumentError(
                "with_encoder needs a part of a GenotypeDataset, got one of a "
                f"{self.source.title}"
            )
        return self.replace(source=source, encoder=encoder)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the items that are fetched next, in all worker processes too.

        Our loader sets its own. This is for other loops, and for samplers of PyTorch.

        Args:
            epoch: Number of the epoch, from 0; a negative one is an error.
        """
        self._epoch = self._epoch or Epoch()
        self._epoch.set(epoch)

    def _current(self, epoch: int | None) -> int:
        """Return the requested epoch, or the one that was set last."""
        if epoch is not None:
            return as_integer("epoch", epoch)
        return 0 if self._epoch is None else self._epoch.get()

    def fingerprint(self) -> str:
        """Hash ids, inputs, labels and classes to 32 hexadecimal digits."""
        if self._whole is not None:
            content = self._whole.fingerprint().encode() + self.indices.tobytes()
            return hashlib.blake2b(content, digest_size=16).hexdigest()
        if self._fingerprint is None:
            labels = LabelColumn(self.task, self.classes, self.labels)
            digest = hashlib.blake2b(digest_size=16)
            for part in self.source.content(
                self.rows, labels, encoder=self.encoder, jitter=self.jitter
            ):
                digest.update(part)
            self._fingerprint = digest.hexdigest()
        return self._fingerprint

    @property
    def supports_threads(self) -> bool:
        """Whether threads may share the source, the encoder and the augmentation."""
        return all(map(supports_threads, (self.source, self.encoder, self.augment)))

    @property
    def supports_native_batches(self) -> bool:
        """Whether Rust makes batches: of letters in memory that nothing augments."""
        return self._maker().is_native

    def native_batches(self, **shape: Any) -> NativeBatchMaker:
        """Prepare batches of a ``length`` or a ``multiple`` that Rust makes."""
        return self._maker().native(**shape)

    def _maker(self) -> BatchMaker:
        """Return what makes batches with the attributes of now."""
        rows, jitter = None if self._has_all_rows else self.rows, self.jitter
        return BatchMaker(
            self.source, rows, self.encoder, self.augment, self.seed, self.labels, jitter
        )
