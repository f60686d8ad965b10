"""Labels of intervals: a column of theirs, one each, or by id or name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._frame import Frame, index_of, values_of
from seqloom.data.label._labels import Labels, class_names, number_labels
from seqloom.data.label._missing import drop_missing, missing_note
from seqloom.data.label._source import (
    Cells,
    Source,
    dict_source,
    labels_by_id,
)
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals


def label_intervals(
    labels: Any,
    intervals: Intervals,
    kept: NDArray[np.int64],
    *,
    ids: list[str],
    skip: bool,
    columns: tuple[str, Any],
    classes: Iterable[str] | None,
    task: str,
    missing: Iterable[str],
) -> tuple[Labels, NDArray[np.int64]]:
    """Finds the labels of intervals as numbers, and which of the intervals have one."""
    names = None if classes is None else class_names(classes)
    source = _source(labels, intervals, kept, ids=ids, columns=columns)
    source = drop_missing(source, missing, classes=names, task=task)
    keys = list(map(str, range(len(ids))))
    bare = [i for i, key in enumerate(keys) if key not in source.cells]
    if bare and not (skip and len(bare) < len(ids)):
        raise LabelError(
            f"{intervals.place(int(kept[bare[0]]))}: {len(bare):,} of {len(ids):,} "
            f"intervals have no label in {source.what}: {ids[bare[0]]}, ...; leave "
            f'them out with unlabelled="skip"{missing_note(source, keys[bare[0]])}'
        )
    order: list[int] = [i for i, key in enumerate(keys) if key in source.cells]
    found = [keys[i] for i in order]
    labelled = number_labels(source, found, task=task, classes=names)
    return labelled, np.array(order, np.int64)


def _source(
    labels: Any,
    intervals: Intervals,
    kept: NDArray[np.int64],
    *,
    ids: list[str],
    columns: tuple[str, Any],
) -> Source:
    """Finds where labels come from, and numbers them as the intervals are."""
    if isinstance(labels, str) and labels in intervals.columns:
        column = intervals.columns[labels]
        named = {str(i): column[row] for i, row in enumerate(kept.tolist())}
        source = dict_source(named, (labels,))
        return replace(source, what=f"column {labels!r}", is_each=True)
    if _is_one_each(labels):
        return _one_each(labels, intervals, kept)
    source = labels_by_id(labels, *columns)
    names = intervals.columns.get("name", [])
    cells: dict[str, Cells] = {}
    lost: dict[str, Cells] = {}
    for i, (name, row) in enumerate(zip(ids, kept.tolist(), strict=True)):
        for key in (name, names[row] if names else name):
            if key in source.cells:
                cells[str(i)] = source.cells[key]
            elif key in source.missing:
                lost[str(i)] = source.missing[key]
    return replace(source, cells=cells, tables=[], is_each=True, missing=lost)


def _is_one_each(labels: Any) -> bool:
    """Tells labels in the order of the intervals from tables and from labels by id."""
    if isinstance(labels, (str, Mapping)) or Frame.of(labels) is not None:
        return False
    return callable(getattr(labels, "__len__", None)) and not index_of(labels)


def _one_each(labels: Any, intervals: Intervals, kept: NDArray[np.int64]) -> Source:
    """Takes labels in the order of the intervals."""
    if len(labels) != len(intervals):
        raise ArgumentError(
            f"labels must be one for each of {len(intervals):,} intervals, "
            f"got {len(labels):,}"
        )
    values = values_of(labels)
    numbered = {str(i): values[row] for i, row in enumerate(kept.tolist())}
    return replace(dict_source(numbered, ("label",)), what="the labels", is_each=True)
