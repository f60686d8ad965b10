"""Labels of the records of a stream."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from seqloom._arguments import quote
from seqloom.data._ids import headers_to_ids
from seqloom.data.label._labels import is_missing, value_to_cell
from seqloom.data.label._numbers import find_equal_class, number_labels
from seqloom.data.label._source import drop_missing, read_labels_by_id
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from seqloom.data.label._labels import Labels
    from seqloom.data.stream._chunk import Chunk
    from seqloom.io import SequenceBatch, SequenceRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamLabels:
    """Labels of stream records: numbers by id, or a function of the record."""

    task: str | None  # None if `function` determines the task
    classes: tuple[str, ...]
    rows: dict[str, int]  # id -> row of `values`
    values: NDArray[Any]
    function: Callable[[SequenceRecord], Any] | None = None
    missing: frozenset[str] = frozenset()  # Strings that mark a missing label.
    skip: bool = False  # If True, skip records without a label.

    @classmethod
    def make(cls, labels: Labels) -> Self | None:
        """Create the object from `Labels`; return None without labels."""
        if labels.source is None:
            return None
        names = None if labels.classes is None else tuple(labels.classes)
        if callable(labels.source):
            marks = {"", *(labels.missing or ())} - set(names or ())
            guess = None if names is None else "classify"
            kind = guess if labels.task == "auto" else labels.task
            none: NDArray[Any] = np.zeros(0)
            return cls(
                task=kind,
                classes=names or (),
                rows={},
                values=none,
                function=labels.source,
                missing=frozenset(marks),
                skip=labels.skips,
            )
        source = drop_missing(read_labels_by_id(labels), labels)
        ids = list(source.cells)
        column = number_labels(source, ids, task=labels.task, classes=names)
        rows = {name: row for row, name in enumerate(ids)}
        return cls(
            task=column.task,
            classes=column.classes,
            rows=rows,
            values=np.asarray(column.values),
            skip=labels.skips,
        )

    def join(self, chunks: Iterator[Chunk], report: dict[str, Any]) -> Iterator[Chunk]:
        """Yield chunks with labels; raise for records without a label, or skip them."""
        for chunk in chunks:
            labels, has_label = self._label_batch(chunk.batch)
            labelled = np.flatnonzero(has_label)
            if labelled.size < len(chunk):
                row = int((~has_label).argmax())
                if not self.skip:
                    path, record = chunk.source.locate(chunk.start + row)
                    raise LabelError(
                        f"{path}: record {record} ({chunk.batch[row].id}) has no label; "
                        'leave such records out with Labels(..., unlabelled="skip")'
                    )
                report["unlabelled"] += len(chunk) - labelled.size
            part = chunk if labelled.size == len(chunk) else chunk.take(labelled)
            if labelled.size:
                yield part.replace_columns(labels=labels)

    def _label_batch(self, batch: SequenceBatch) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        if self.function is None:
            names = headers_to_ids(batch.headers)
            rows = np.array([self.rows.get(name, -1) for name in names], np.int64)
            for row in np.flatnonzero(rows < 0).tolist():
                rows[row] = self.rows.get(names[row].strip(), -1)
            return self.values[rows[rows >= 0]], rows >= 0
        results = [self.function(record) for record in batch]
        # Treat None, NaN and the missing strings as missing labels.
        marks = [isinstance(value, str) and value in self.missing for value in results]
        absent = [is_missing(value) for value in results]
        has_label = ~(np.array(marks, np.bool_) | np.array(absent, np.bool_))
        return self._number_results(list(itertools.compress(results, has_label))), has_label

    def _number_results(self, results: list[Any]) -> NDArray[Any]:
        is_named = bool(self.classes) and self.task == "classify"
        if any(isinstance(value, str) for value in results) or (
            is_named and not any(map(np.ndim, results))
        ):
            return np.array([self._find_class(value) for value in results], np.int64)
        values = _as_array(results)
        if values is None:
            raise LabelError(
                "the label function must return a number, a name, or "
                f"the same number of numbers for each record, got {quote(results[0])}"
            )
        if not np.isfinite(values).all():
            raise LabelError("the label function returned a value that is not finite")
        return values.astype(np.float32 if values.dtype.kind == "f" else np.int64)

    def _find_class(self, name: Any) -> int:
        """Return the index of a class; its name may be a string, a number or a boolean."""
        cell = find_equal_class(value_to_cell(name), self.classes)
        if cell in self.classes:
            return self.classes.index(cell)
        known = ", ".join(self.classes) or "none given; pass Labels(..., classes=)"
        raise LabelError(
            f"the label function returned {name!r}, which is not a class ({known})"
        )


def _as_array(results: list[Any]) -> NDArray[Any] | None:
    """Return numbers as an array; None for other values or different shapes."""
    try:
        values = np.asarray(results)
    except ValueError:
        return None
    return values if values.dtype.kind in "biuf" else None
