"""EmbeddingDataset: embeddings with labels, as a map from number to item."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom.data._frame import Frame, index_of
from seqloom.data._ids import Ids
from seqloom.data._numbered import NumberedItems
from seqloom.data._position import positions
from seqloom.data.embedding._rows import describe_rows, rows_of
from seqloom.data.label._cells import MISSING
from seqloom.data.label._join import drop_missing, join, missing_note
from seqloom.data.label._labels import USUAL, Labels
from seqloom.data.label._numbers import number_labels
from seqloom.data.label._source import each_source, labels_by_id
from seqloom.errors import LabelError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom.data.label._source import Source

_EXAMPLES = 3


class EmbeddingDataset(NumberedItems):
    """Embeddings by number, with labels that are joined by id.

    An item is a dict: ``id``, ``inputs`` (the features of the record), ``ordinal`` and,
    with labels, ``label``. A row is read from its shard when it is asked for.

    Args:
        embeddings: A folder that `seqloom.infer.load` opened, or a dict from id to row.
        labels: Tables, a data frame, a dict from id to label, or a list in the order of the
            records; a ``Labels`` holds these and the options below. None: no labels.
        layer: Number of the layer; None: the last of those that the folder has.
        classes: The order of the classes; a label outside is an error. None sorts them.
        task: ``"auto"``, ``"classify"``, ``"regress"`` or ``"multilabel"``.
        id_column: The tables' column of ids.
        label_column: The tables' column of labels, or several of numbers.
        unlabelled: ``"error"`` for a record without a label, ``"skip"`` to leave it out.
        missing: The texts that are no label.

    Raises:
        ArgumentError: The embeddings have a row for each residue, or are none.
        LabelError: Labels are missing, double, or do not fit the task.
        ShapeError: The rows differ in length.

    Examples:
        >>> from pathlib import Path
        >>> import numpy as np
        >>> rows = {"x": np.zeros(8), "y": np.ones(8), "z": np.ones(8)}
        >>> _ = Path("t.tsv").write_text("id\\tlabel\\nx\\tno\\ny\\tyes\\nz\\tno\\n")
        >>> data = EmbeddingDataset(rows, labels="t.tsv")
        >>> len(data), data.classes, data.batch([1, 2])["inputs"].shape
        (3, ('no', 'yes'), (2, 8))
    """

    def __init__(
        self,
        embeddings: Any,
        labels: Any = None,
        *,
        layer: int | None = None,
        classes: Iterable[str] | None = None,
        task: str = "auto",
        id_column: str = "id",
        label_column: str | Sequence[str] = "label",
        unlabelled: str = "error",
        missing: Iterable[str] = MISSING,
    ) -> None:
        super().__init__()
        self._rows = rows_of(embeddings)
        self.encoder = describe_rows(self._rows, layer)
        self.unmatched: tuple[str, ...] = ()
        self._kept = np.arange(len(self._rows.ordinals))
        options: dict[str, Any] = {"classes": classes, "task": task, "missing": missing}
        options |= {"id_column": id_column, "label_column": label_column}
        found = Labels.of(labels, USUAL, unlabelled=unlabelled, **options)
        found.check_usual("coding", of="GenotypeDataset")
        found.check_usual("label_from_header", of="SequenceDataset")
        self.classes = tuple(found.classes or ())
        if found.source is not None and found.source is not False:
            self._label(found)

    def _label(self, labels: Labels) -> None:
        """Joins labels to records, and leaves out those that have none."""
        names = self._rows.ids
        source = drop_missing(_source_of(labels, len(names)), labels)
        keys = [str(number) for number in range(len(names))] if source.is_each else names
        if not source.is_each:
            _check_distinct(names)

        def refuse(bare: list[int]) -> LabelError:
            return _unlabelled_error(source, names, bare)

        noun = None if source.is_each else "sequence"
        joined = join(source, keys, names, noun=noun, skip=labels.skips, refuse=refuse)
        self.report, self.unmatched = joined.report, joined.unmatched
        self._kept = joined.kept
        kept: list[int] = joined.kept.tolist()
        labelled = [keys[row] for row in kept]
        found = number_labels(source, labelled, task=labels.task, classes=labels.classes)
        self.task, self.classes, self.labels = found.task, found.classes, found.values

    def _ids(self, rows: NDArray[np.int64]) -> list[str]:
        """Lists the ids of some records."""
        names = self._rows.ids
        return [names[row] for row in self._kept[rows].tolist()]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of residues of each record."""
        return np.asarray(self._rows.lengths)[self._kept]

    def __len__(self) -> int:
        return len(self._kept)

    def plain(self) -> Self:
        """Shows the same items without augmentation, of which there is none.

        Returns:
            This dataset.

        Examples:
            >>> data = EmbeddingDataset({"x": np.zeros(8)})
            >>> data.plain() is data
            True
        """
        return self

    def items_at(
        self, rows: NDArray[np.int64], epoch: int | None = None
    ) -> list[dict[str, Any]]:
        """Fetches several items at once.

        Args:
            rows: Their positions, from 0.
            epoch: Items are the same in all.

        Returns:
            One dict each.

        Examples:
            >>> EmbeddingDataset({"x": np.zeros(8)}).items_at(np.array([0]))[0]["id"]
            'x'
        """
        batch = self.batch(rows, epoch=epoch)
        columns = zip(*batch.values(), strict=True)
        return [dict(zip(batch, values, strict=True)) for values in columns]

    def batch(self, indices: ArrayLike, **options: Any) -> dict[str, Any]:
        """Fetches several records at once, as columns.

        Args:
            indices: Which ones: positions, or a mask of True and False.
            **options: The options of other datasets, which change nothing here: rows have
                one length and are the same in all epochs.

        Returns:
            ``id``, ``inputs`` ``(records, features)``, ``ordinal`` and, with labels,
            ``label``.

        Raises:
            OutOfRangeError: There is no such record.

        Examples:
            >>> EmbeddingDataset({"x": np.zeros(8)}).batch([0])["inputs"].shape
            (1, 8)
        """
        del options
        rows = positions(indices, len(self))
        names = Ids(lambda: self._ids(rows), rows.size)
        batch = {"id": names, "inputs": self._features(rows), **self._about(rows, 0)}
        return batch if self.labels is None else {**batch, "label": self.labels[rows]}

    def _features(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Reads rows, ``(records, features)``."""
        ordinals = self._ordinals(rows).tolist()
        found = [self._rows.get(number, layer=self.encoder.layer) for number in ordinals]
        if not found:
            return np.empty((0, self.encoder.width), np.float32)
        if any(row.shape != (self.encoder.width,) for row in found):
            shapes = ", ".join(map(str, {row.shape for row in found}))
            raise ShapeError(f"embeddings must have one length, got rows {shapes}")
        return np.stack(found)

    def _ordinals(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Finds the ordinals of records."""
        return np.asarray(self._rows.ordinals)[self._kept[rows]]

    def _about(self, rows: NDArray[np.int64], epoch: int) -> dict[str, Any]:  # noqa: ARG002 - the same in all epochs
        """Says which records of the files these are."""
        return {"ordinal": self._ordinals(rows)}

    def _digest(self) -> str:
        """Hashes the content."""
        digest = hashlib.blake2b(repr((self.task, self.classes)).encode(), digest_size=16)
        digest.update(repr((self.encoder, self.ids)).encode())
        for row in range(len(self)):
            digest.update(np.ascontiguousarray(self._features(np.array([row]))).data)
        if self.labels is not None:
            digest.update(self.labels.tobytes())
        return digest.hexdigest()


def _source_of(labels: Labels, count: int) -> Source:
    """Tells labels by id from labels in the order of the records."""
    source = labels.source
    is_by_id = isinstance(source, (str, os.PathLike, Mapping)) or (
        Frame.of(source) is not None or index_of(source) is not None
    )
    rows: list[Any] = [] if is_by_id else list(labels.source)
    is_paths = bool(rows) and all(isinstance(row, (str, os.PathLike)) for row in rows)
    # A list of texts is one of tables where these are files, as for sequences.
    if is_by_id or (is_paths and all(os.path.exists(row) for row in rows)):  # noqa: PTH110 - any path
        return labels_by_id(labels)
    return each_source(rows, count, tuple(labels.label_column or ("label",)))


def _check_distinct(names: list[str]) -> None:
    """Refuses an id of two records: a label would be ambiguous."""
    first: dict[str, int] = {}
    for number, name in enumerate(names):
        if (before := first.setdefault(name, number)) != number:
            raise LabelError(
                f"id {name!r} occurs twice: embeddings {before} and {number}; labels by id "
                "need distinct ids: give a list of labels in the order of the records"
            )


def _unlabelled_error(source: Source, names: list[str], bare: list[int]) -> LabelError:
    """Says which records have no label."""
    listed = ", ".join(names[row] for row in bare[:_EXAMPLES])
    more = ", ..." if len(bare) > _EXAMPLES else ""
    way_out = '; leave them out with unlabelled="skip" (--unlabelled skip)'
    return LabelError(
        f"{len(bare):,} of {len(names):,} embeddings have no label in {source.what}: "
        f"{listed}{more}{missing_note(source, names[bare[0]])}"
        f"{'' if len(bare) == len(names) else way_out}"
    )
