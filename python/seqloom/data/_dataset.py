"""The one dataset: rows of a source, encoded when they are asked for."""

from __future__ import annotations

import copy
import hashlib
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom._arguments import as_integer
from seqloom.data._batch import BatchMaker, encode_part, items_of
from seqloom.data._describe import as_html, class_counts, composition, describe
from seqloom.data._frame import mask_by_id
from seqloom.data._position import Epoch, epoch_of, position, positions
from seqloom.data._source import FetchOptions, are_all, each_letters
from seqloom.data.label._cells import LabelColumn
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._native_batches import NativeBatchMaker
    from seqloom.data._source import Rows, Source

_ITEMS_AT_ONCE = 256


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

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.data import SequenceDataset
        >>> _ = Path("a.fa").write_text(">x\\nACGT\\n>y\\nGG\\n")
        >>> isinstance(SequenceDataset("a.fa"), Dataset)
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
        self.source = source
        rows = np.arange(source.size) if rows is None else rows
        self.rows: Rows = np.ascontiguousarray(rows, np.int64)
        self._has_all_rows = are_all(self.rows, source.size)
        self.encoder, self.augment, self.seed = encoder, augment, seed
        self.labels, self.task, self.classes = labels.values, labels.task, labels.classes
        self.unmatched, self._report = labels.unmatched, labels.report
        # Without random numbers, items are the same in every epoch.
        is_random = augment is not None or source.jitter > 0
        self._epoch = Epoch() if is_random else None
        self._fingerprint: str | None = None
        self._whole: Dataset | None = None  # None: this is a whole dataset
        self._indices: Rows | None = None  # positions in the whole

    @property
    def whole(self) -> Dataset:
        """The dataset that this is a part of; itself if it is whole."""
        return self if self._whole is None else self._whole

    @property
    def indices(self) -> Rows:
        """The positions of the records in the whole dataset."""
        return np.arange(len(self)) if self._indices is None else self._indices

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that are read."""
        return self.source.paths

    @property
    def record_files(self) -> tuple[str, ...]:
        """The files that tell records apart: of intervals, not the genome."""
        return self.source.record_files

    @property
    def noun(self) -> str:
        """What the records are called, in the plural."""
        return self.source.noun

    @property
    def kind(self) -> str:
        """The name of the kind of input: ``"sequences"``, for example."""
        return self.source.kind

    @property
    def title(self) -> str:
        """The name of the function that makes such a dataset, or a part of one."""
        return self.source.title if self._whole is None else "Subset"

    @property
    def jitter(self) -> int:
        """The number of letters by which intervals move between epochs."""
        return 0 if self._epoch is None else self.source.jitter

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

    @report.setter
    def report(self, report: dict[str, Any]) -> None:
        self._report = report

    @property
    def ids(self) -> list[str]:
        """The id of each record, made on demand."""
        return self.source.ids(self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each record; a stop that the encoder leaves out is no letter."""
        return self.source.lengths(self.rows, self.encoder)

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

    def _repr_html_(self) -> str:
        """Shows the dataset in a notebook."""
        return as_html(self.title, str(self), self.paths)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self._iterate(self._current(None))

    def _iterate(self, epoch: int) -> Iterator[dict[str, Any]]:
        """Yields all items of one epoch, even if another epoch is set meanwhile."""
        rows = np.arange(len(self))
        for start in range(0, len(self), _ITEMS_AT_ONCE):
            yield from self.items_at(rows[start : start + _ITEMS_AT_ONCE], epoch)

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
        """Joins two parts of one dataset, this one's records first."""
        # In two datasets one number may stand for two classes: joined, they would be mixed.
        if not isinstance(other, Dataset) or other.whole is not self.whole:
            name = other.title if isinstance(other, Dataset) else type(other).__name__
            raise ArgumentError(
                f"+ joins parts of one dataset, got a {name} of another; pass all files to "
                "one dataset: SequenceDataset([a, b], labels=[a_table, b_table])"
            )
        return self.whole.select(np.concatenate([self.indices, other.indices]))

    def select(self, indices: ArrayLike) -> Dataset:
        """Selects records, in a given order; the classes stay those of the whole.

        Args:
            indices: Positions of the records, or a mask of True and False.

        Returns:
            A part of the whole dataset.

        Raises:
            ArgumentError: The indices are neither integers nor a mask.
            OutOfRangeError: A position is out of range.

        Examples:
            >>> from seqloom.data import SequenceDataset
            >>> SequenceDataset({"x": "ACGT", "y": "GG"}).select([1]).ids
            ['y']
        """
        indices = mask_by_id("indices", indices, lambda: self.ids)
        rows = positions(indices, len(self))
        part = copy.copy(self)
        vars(part).update(
            _whole=self.whole,
            _indices=rows if self._indices is None else self._indices[rows],
            rows=self.rows[rows],
            _has_all_rows=False,
            labels=None if self.labels is None else self.labels[rows],
        )
        return part

    def replace(self, **attributes: Any) -> Dataset:
        """Shows the same records with other attributes.

        Args:
            **attributes: New values, such as ``augment=``, by name.

        Returns:
            A copy; a copy of a part belongs to a copy of the whole dataset.

        Raises:
            ArgumentError: A dataset has no such attribute.

        Examples:
            >>> from seqloom.augment import ReverseComplement
            >>> from seqloom.data import SequenceDataset
            >>> data = SequenceDataset({"x": "AAC"})
            >>> data.replace(augment=ReverseComplement(p=1.0))[0]["sequence"]
            b'GTT'
        """
        if unknown := attributes.keys() - vars(self).keys():
            raise ArgumentError(
                f"a dataset has no attribute {min(unknown)!r} to replace; give "
                "augment=, encoder= or seed="
            )
        other = copy.copy(self)
        if self._whole is not None:
            attributes = {"_whole": self._whole.replace(**attributes), **attributes}
        # Items that an augmentation changes depend on the epoch.
        if attributes.get("augment") is not None and not self.source.jitter:
            attributes = {"_epoch": self._epoch or Epoch(), **attributes}
        vars(other).update(attributes)
        return other

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """Lists the ids of some records.

        Args:
            indices: Positions of the records, or a mask.

        Returns:
            Their ids, in the same order.

        Raises:
            OutOfRangeError: A position is out of range.
        """
        return self.source.ids(self.rows[positions(indices, len(self))])

    def group(self, name: str) -> list[Any]:
        """Lists the values of a column, or the letters, to split the dataset by them.

        Args:
            name: Name of the column: ``"file"`` for sequences of files; ``"chrom"``,
                ``"start"``, ``"stop"`` (without jitter), ``"strand"`` or another column of
                intervals; ``"fid"`` (the family) or ``"label"`` of samples,
                ``"chromosome"`` of variants. ``"sequence"`` gives the letters in capitals,
                so that equal sequences are one group.

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
        """Fetches several records at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            epoch: The epoch that augmentation is for; None takes the one that was set
                last.
            length: Positions in ``inputs``; None takes the longest sequence of the batch.
            multiple: The longest is rounded up to a multiple of this.
            out: Where ``inputs`` are written; memory of its own if None.
            num_threads: How many threads may work.

        Returns:
            ``id`` (``Ids``), ``inputs`` (sequences, channels, positions) or
            ``sequence`` (a list; with ``quality`` where files are FASTQ), ``file`` (a
            list), ``ordinal``, ``label`` where there are labels, and ``lengths``; ``mask``
            (sequences, positions), 1 where a letter stands and 0 elsewhere, if there is
            padding. Of genotypes ``inputs`` (samples, variants) or ``codes``, and
            ``covariates`` where there are such; of embeddings ``inputs`` (records,
            features).

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
        return self._columns(
            positions(indices, len(self)),
            self._current(epoch),
            length=None if length is None else as_integer("length", length),
            multiple=as_integer("multiple", multiple, least=1),
            out=out,
            num_threads=1
            if num_threads is None
            else as_integer("num_threads", num_threads, least=1),
        )

    def _columns(self, rows: Rows, epoch: int, **options: Any) -> dict[str, Any]:
        """Makes a batch of checked positions, in Rust where it can be."""
        maker = self._maker()
        wanted = FetchOptions(
            self.encoder,
            None if self._epoch is None else epoch,
            as_letters=self.augment is not None,
            **options,
        )
        if wanted.out is None and maker.is_native:
            native = maker.native(length=wanted.length, multiple=wanted.multiple)
            return native.make(rows, wanted.num_threads)
        return maker.make(rows, epoch, wanted)

    def to_numpy(self) -> dict[str, Any]:
        """Fetches everything at once.

        Returns:
            What ``batch`` gives for all records, in order.
        """
        return self._columns(np.arange(len(self)), self._current(None))

    def items_at(self, indices: Rows, epoch: int | None = None) -> list[dict[str, Any]]:
        """Fetches several items at once, by checked positions."""
        return items_of(self._columns(indices, self._current(epoch)), self.encoder)

    def plain(self) -> Dataset:
        """Shows the same records without augmentation and jitter.

        Returns:
            A dataset of the same records; this one where nothing is random.
        """
        return self if self._epoch is None else self.replace(augment=None, _epoch=None)

    def with_encoder(self, encoder: Any) -> Dataset:
        """Shows the same samples of a ``GenotypeDataset`` through another encoder.

        Args:
            encoder: A ``GenotypeEncoder``; a fitted one decides which variants and
                covariates items have.

        Returns:
            A dataset of the same files and labels; it shares the codes where it can.

        Raises:
            FormatError: The file lacks a variant that the encoder reads.
            LabelError: A covariate that it reads is not given.
            ArgumentError: Items are not samples.

        Examples:
            >>> import numpy as np
            >>> from seqloom.data import GenotypeDataset
            >>> from seqloom.io import to_bed
            >>> to_bed("a.bed", np.array([[0, 2], [1, 1], [2, 0]]))
            >>> data = GenotypeDataset("a.bed", phenotype=False)
            >>> seen = data.with_encoder(data.encoder.fit(data[:2]))
            >>> seen.encoder.is_fitted, data.encoder.is_fitted
            (True, False)
        """
        source = self.source.fitted(encoder)
        if source is self.source:
            raise ArgumentError(
                "with_encoder needs a part of a GenotypeDataset, got one of a "
                f"{self.source.title}"
            )
        report = dict(self.report)
        return self.replace(
            source=source, encoder=encoder, _report=report, _fingerprint=None
        )

    def learning_from(self, indices: Rows) -> Dataset:
        """Returns the same records, standardised by some of them if they are not yet."""
        source = self.source.fitted(self.rows[indices])
        if source is self.source:
            return self
        return self.replace(source=source, _report=dict(self.report))

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the items that are fetched next, in all worker processes too.

        Our loader sets its own epochs. This is for your own loops, and for samplers of
        PyTorch, whose positions carry no epoch.

        Args:
            epoch: Number of the epoch, from 0.

        Raises:
            ArgumentError: The number is negative.
        """
        (self._epoch or Epoch()).set(epoch)

    def _current(self, epoch: int | None) -> int:
        """Returns the requested epoch, or the one that was set last."""
        if epoch is not None:
            return as_integer("epoch", epoch)
        return 0 if self._epoch is None else self._epoch.get()

    def fingerprint(self) -> str:
        """Hashes the content (ids, inputs, labels and classes) to 32 hexadecimal digits.

        Files that are not in memory are read once for it.

        Returns:
            A string that is the same for the same content, whatever the files' names.
        """
        if self._whole is not None:
            content = self._whole.fingerprint().encode() + self.indices.tobytes()
            return hashlib.blake2b(content, digest_size=16).hexdigest()
        if self._fingerprint is None:
            labels = LabelColumn(self.task, self.classes, self.labels)
            self._fingerprint = self.source.digest(
                self.rows, labels, encoder=self.encoder, is_plain=self._epoch is None
            )
        return self._fingerprint

    @property
    def supports_native_batches(self) -> bool:
        """Whether Rust makes batches: of letters in memory that nothing augments."""
        return self._maker().is_native

    def native_batches(self, **shape: Any) -> NativeBatchMaker:
        """Prepares batches of a ``length`` or a ``multiple`` that Rust makes."""
        return self._maker().native(**shape)

    def _maker(self) -> BatchMaker:
        """Returns what makes batches with the attributes of now."""
        rows = None if self._has_all_rows else self.rows
        return BatchMaker(
            self.source, self.encoder, self.augment, self.seed, self.labels, rows
        )
