"""`Dataset`: rows of a source, encoded when a batch is requested."""

from __future__ import annotations

import copy
import hashlib
from itertools import chain
from typing import TYPE_CHECKING, Any, final, overload

import numpy as np

from seqloom._arguments import as_integer
from seqloom._threads import supports_threads
from seqloom.data._batch import BatchMaker, encoder_input, split_batch
from seqloom.data._describe import class_counts, composition, dataset_html, describe_items
from seqloom.data._frame import mask_by_id
from seqloom.data._position import Epoch, as_index, as_indices, stored_epoch
from seqloom.data._source import iterate_letters, read_ids, read_lengths, selects_all_rows
from seqloom.data.label._labels import LabelColumn
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data._batch import NativeBatchMaker
    from seqloom.data._source import Rows, Source

_ITEMS_PER_READ = 256
_REPLACEABLE_ATTRIBUTES = {"augment", "encoder", "seed", "jitter", "rows", "source"}


@final
class Dataset:
    """Records with labels, selected by index.

    Functions such as ``SequenceDataset`` return whole datasets. A slice, ``Subset`` and
    ``split`` return subsets.

    Args:
        source: The ``Source`` that records are read from.
        rows: Rows of the source, in order; None selects all labelled rows, or all rows if
            there are no labels.
        encoder: Encodes residues as numbers.
        augment: Changes residues before they are encoded.
        seed: Seed of the augmentation.
        labels: The labels of the rows.

    Attributes:
        labels: The label of each record, or None.
        task: The type of the labels: ``"classify"``, ``"regress"`` or ``"multilabel"``.
        classes: The names of the classes, including classes without records.
        unmatched: Ids that have a label but no record.
        indices: The indices of the records in the whole dataset.

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
        self._has_all_rows = selects_all_rows(self.rows, source.size)
        self.indices = self.rows if self._has_all_rows else np.arange(self.rows.size)
        self.encoder, self.augment, self.seed = encoder, augment, seed
        self.labels, self.task, self.classes = labels.values, labels.task, labels.classes
        self.unmatched, self._report = labels.unmatched, labels.report
        # Without jitter and augmentation, items are the same in every epoch.
        is_random = augment is not None or source.jitter > 0
        self._epoch = Epoch() if is_random else None
        self._fingerprint: str | None = None
        self._whole: Dataset | None = None  # None if the dataset is not a subset

    @property
    def whole(self) -> Dataset:
        """The whole dataset that this subset was selected from, or the dataset itself."""
        return self if self._whole is None else self._whole

    @property
    def covariate_names(self) -> tuple[str, ...]:
        """The names of the covariates; empty without covariates."""
        return self.source.covariate_names

    @property
    def names(self) -> list[str] | None:
        """Additional names of the records, such as BED column 4; None without names."""
        names = self.source.names
        return None if names is None else [names[row] for row in self.rows.tolist()]

    @property
    def report(self) -> dict[str, Any]:
        """Counts of skipped records and labels, and of ambiguous and masked residues."""
        self._report |= self.source.facts
        # Counted on first access; subsets share the report of the whole dataset.
        if "letters" not in self._report and self.source.counts_letters:
            letters = iterate_letters(self.source, self.whole.rows, self.encoder)
            parts = (encoder_input(self.encoder, part) for part in letters)
            self._report["letters"] = composition(parts, self.encoder)
        return self._report

    @property
    def ids(self) -> list[str]:
        """The id of each record, computed on access."""
        return read_ids(self.source, self.rows)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each record, without a final ``*`` that the encoder drops."""
        return read_lengths(self.source, self.rows, self.encoder)

    @property
    def class_counts(self) -> dict[str, int]:
        """Number of records of each class or, for multilabel data, of each label."""
        return class_counts(self.labels, self.task, self.classes)

    def __len__(self) -> int:
        return self.rows.size

    def __str__(self) -> str:
        return describe_items(
            self.lengths, self.labels, task=self.task, classes=self.classes, noun=self.noun
        )

    def __repr__(self) -> str:
        return f"{self.title}({self})"

    _repr_html_ = dataset_html

    def __iter__(self) -> Iterator[dict[str, Any]]:
        # All items use the same epoch, even if another epoch is set during the
        # iteration.
        epoch, rows = self._current_epoch(None), np.arange(len(self))
        starts = range(0, rows.size, _ITEMS_PER_READ)
        return chain.from_iterable(
            self.items_at(rows[start : start + _ITEMS_PER_READ], epoch) for start in starts
        )

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> Dataset: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | Dataset:
        if isinstance(index, slice):
            return self.select(np.arange(len(self))[index])
        return self.items_at(np.array([as_index(index, len(self))]), stored_epoch(index))[0]

    def __getitems__(self, indices: Sequence[int]) -> list[dict[str, Any]]:
        return self.items_at(as_indices(indices, len(self)), stored_epoch(indices))

    def __add__(self, other: Any) -> Dataset:
        """Concatenate two subsets of the same dataset."""
        # Different datasets may number their classes differently.
        if not isinstance(other, Dataset) or other.whole is not self.whole:
            name = other.title if isinstance(other, Dataset) else type(other).__name__
            raise ArgumentError(
                f"+ joins subsets of one dataset, got a {name} of another; pass all files "
                "to one dataset: SequenceDataset([a, b], labels=[a_table, b_table])"
            )
        return self.whole.select(np.concatenate([self.indices, other.indices]))

    def select(self, indices: ArrayLike) -> Dataset:
        """Select records in the given order; a subset has all classes of the whole dataset.

        Args:
            indices: Indices of the records, or a boolean mask.

        Returns:
            A subset of the dataset.

        Raises:
            ArgumentError: The indices are neither integers nor a mask.
            OutOfRangeError: An index is out of range.
        """
        indices = mask_by_id("indices", indices, lambda: self.ids)
        rows = as_indices(indices, len(self))
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
        """Return a copy of the dataset with new values of some attributes.

        Args:
            **attributes: New values of ``augment``, ``encoder`` or ``seed``.

        Returns:
            A copy of the dataset; for a subset, the whole dataset is copied too.

        Raises:
            ArgumentError: An attribute other than ``augment``, ``encoder`` or ``seed`` is
                passed.

        Examples:
            >>> from seqloom.augment import ReverseComplement
            >>> from seqloom.data import SequenceDataset
            >>> data = SequenceDataset({"x": "AAC"})
            >>> data.replace(augment=ReverseComplement(p=1.0))[0]["sequence"]
            b'GTT'
        """
        count = len(attributes.get("rows", self.rows))
        if attributes.keys() - _REPLACEABLE_ATTRIBUTES or count != len(self):
            raise ArgumentError(
                "replace accepts augment=, encoder= and seed=; select(...) chooses "
                f"records; got {', '.join(attributes)}"
            )
        if self._whole is not None:
            own = {name: vars(self)[name] for name in ("augment", "encoder", "seed")}
            return self._whole.replace(**own | attributes).select(self.indices)
        state = vars(other := copy.copy(self))
        state.update(attributes, _fingerprint=None)
        state["_has_all_rows"] = selects_all_rows(other.rows, other.source.size)
        if other.encoder is not self.encoder or other.source is not self.source:
            state["_report"] = {k: v for k, v in self._report.items() if k != "letters"}
        if other.augment is not None or other.jitter > 0:
            state["_epoch"] = self._epoch or Epoch()
        return other

    def ids_of(self, indices: ArrayLike) -> list[str]:
        """List the ids of the records at the given indices, or where a mask is True."""
        return read_ids(self.source, self.rows[as_indices(indices, len(self))])

    def group(self, name: str) -> list[Any]:
        """Return a column with one value per record, such as the groups of a split.

        Args:
            name: A column: ``"file"`` for sequences from files; ``"chrom"``, ``"start"``,
                ``"stop"``, ``"strand"`` and others for intervals; ``"fid"`` (the family) or
                ``"label"`` for samples; ``"chromosome"`` for variants. ``"sequence"``
                returns the sequences in capitals, so that equal sequences form one group.
                ``"similar"`` and ``"homology"`` return numbers; sequences that share at
                least half, or a quarter, of the k-mers of the shorter one have the same
                number.

        Returns:
            One value for each record.

        Raises:
            ArgumentError: The column does not exist.

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
        """Return a batch: several records as columns.

        Args:
            indices: Indices of the records, or a boolean mask.
            epoch: The epoch of the augmentation; None uses the epoch that was set last.
            length: The number of positions in ``inputs``; None pads to the longest sequence
                of the batch.
            multiple: The number of positions is rounded up to a multiple of ``multiple``.
            out: An array to write ``inputs`` into; None allocates one.
            num_threads: The number of threads to use.

        Returns:
            A dict with ``id`` (``Ids``), ``inputs`` (sequences, channels, positions) or
            ``codes``, ``label`` and ``lengths``. A padded batch has ``mask``, which is 0 in
            padding. A batch also has the columns of the source, such as ``file``,
            ``ordinal`` or ``covariates``. Without an encoder, a batch has ``sequence``
            instead of ``inputs``, and ``quality`` for FASTQ.

        Raises:
            ArgumentError: Indices are not integers.
            OutOfRangeError: An index is out of range.
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
        return self._batch_maker().make(
            as_indices(indices, len(self)),
            self._current_epoch(epoch),
            length=None if length is None else as_integer("length", length),
            multiple=as_integer("multiple", multiple, least=1),
            out=out,
            num_threads=as_integer("num_threads", threads, least=1),
        )

    def to_numpy(self) -> dict[str, Any]:
        """Return a single batch with all records in order."""
        return self._batch_maker().make(np.arange(len(self)), self._current_epoch(None))

    def items_at(self, indices: Rows, epoch: int | None = None) -> list[dict[str, Any]]:
        """Return the items at indices that have been checked."""
        return split_batch(
            self._batch_maker().make(indices, self._current_epoch(epoch)), self.encoder
        )

    def plain(self) -> Dataset:
        """Return the dataset without augmentation and jitter."""
        is_plain = self.augment is None and not self.jitter
        return self if is_plain else self.replace(augment=None, jitter=0)

    def with_encoder(self, encoder: Any) -> Dataset:
        """Return a ``GenotypeDataset`` of the same samples with another encoder.

        Args:
            encoder: A ``GenotypeEncoder``; a fitted encoder selects variants and
                covariates.

        Returns:
            A dataset of the same files and labels; codes in memory are shared if
            possible.

        Raises:
            FormatError: The file lacks a variant that the encoder reads.
            LabelError: A covariate of the encoder is missing.
            ArgumentError: The items of the dataset are variants, not samples.
        """
        source = self.source.fitted(encoder)
        if source is self.source:
            raise ArgumentError(
                "with_encoder needs a GenotypeDataset or a subset of it, got a "
                f"{self.source.title}"
            )
        return self.replace(source=source, encoder=encoder)

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch of the next items, also in all worker processes.

        ``sl.data.DataLoader`` sets the epoch itself. Call this method if you write your own
        loop, or use the samplers of PyTorch.

        Args:
            epoch: The epoch, counted from 0; negative numbers raise.
        """
        self._epoch = self._epoch or Epoch()
        self._epoch.set(epoch)

    def _current_epoch(self, epoch: int | None) -> int:
        if epoch is not None:
            return as_integer("epoch", epoch)
        return 0 if self._epoch is None else self._epoch.get()

    def fingerprint(self) -> str:
        """Return a hash of ids, inputs, labels and classes: 32 hexadecimal digits."""
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
        """True if threads may share the source, the encoder and the augmentation."""
        return all(map(supports_threads, (self.source, self.encoder, self.augment)))

    @property
    def supports_native_batches(self) -> bool:
        """True if Rust can make the batches, without calling Python code."""
        return self._batch_maker().is_native

    def native_batches(self, **shape: Any) -> NativeBatchMaker:
        """Return an object that makes padded batches in Rust."""
        return self._batch_maker().native(**shape)

    def _batch_maker(self) -> BatchMaker:
        """Return a `BatchMaker` with the current encoder, augmentation and seed."""
        rows, jitter = None if self._has_all_rows else self.rows, self.jitter
        return BatchMaker(
            self.source, rows, self.encoder, self.augment, self.seed, self.labels, jitter
        )
