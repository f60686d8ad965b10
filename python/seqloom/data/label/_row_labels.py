"""Labels of the records of any source, joined by id or given in their order."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from seqloom._text import list_some
from seqloom.data._frame import Frame, index_of
from seqloom.data.label._labels import USUAL, LabelColumn, Labels
from seqloom.data.label._numbers import label_rows
from seqloom.data.label._source import (
    drop_missing,
    each_source,
    labels_by_id,
    missing_note,
)
from seqloom.errors import LabelError

if TYPE_CHECKING:
    from seqloom.data.label._source import LabelSource


def join_labels(labels: Any, ids: list[str], *, noun: str = "records") -> LabelColumn:
    """Finds the label of each record of a source of your own.

    Args:
        labels: A `Labels`, or what its ``source`` takes: tables, a data frame, a dict from
            id to label, or a list in the order of the records. None or False: no labels.
        ids: The id of each record.
        noun: What the records are called, in the plural.

    Returns:
        What ``Dataset(source, labels=)`` takes.

    Raises:
        LabelError: Labels are missing, double, or do not fit the task.
        FileError: A table cannot be read.

    Examples:
        >>> import seqloom as sl
        >>> column = sl.data.join_labels({"x": "no", "y": "yes"}, ["y", "x"])
        >>> column.classes, column.values.tolist()
        (('no', 'yes'), [1, 0])
    """
    labels = Labels.of(labels, USUAL, {})
    if labels.source is None or labels.source is False:
        return LabelColumn(classes=tuple(labels.classes or ()))
    source = drop_missing(_source_of(labels, len(ids)), labels)
    keys = [str(number) for number in range(len(ids))] if source.is_each else ids
    if not source.is_each:
        _check_distinct(ids, noun)

    def refuse(bare: list[int]) -> LabelError:
        listed = list_some([ids[row] for row in bare])
        way_out = '; leave them out with Labels(..., unlabelled="skip") (--unlabelled skip)'
        return LabelError(
            f"{len(bare):,} of {len(ids):,} {noun} have no label in {source.what}: "
            f"{listed}{missing_note(source, ids[bare[0]])}"
            f"{'' if len(bare) == len(ids) else way_out}"
        )

    one = None if source.is_each else "sequence"
    return label_rows(source, labels, keys, ids=ids, noun=one, refuse=refuse)


def _source_of(labels: Labels, count: int) -> LabelSource:
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


def _check_distinct(ids: list[str], noun: str) -> None:
    """Raises for an id of two records: a label would be ambiguous."""
    first: dict[str, int] = {}
    for number, name in enumerate(ids):
        if (before := first.setdefault(name, number)) != number:
            raise LabelError(
                f"id {name!r} occurs twice: {noun} {before} and {number}; labels by id "
                "need distinct ids: give a list of labels in the order of the records"
            )
