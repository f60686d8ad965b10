"""Labels of intervals: a column of theirs, one each, or by id or name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data.label._labels import Labels, number_labels
from seqloom.data.label._source import Cells, Source, cells_of, labels_by_id
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
) -> tuple[Labels, NDArray[np.int64]]:
    """Finds the labels of intervals as numbers, and which of the intervals have one."""
    source = _source(labels, intervals, kept, ids=ids, columns=columns, task=task)
    keys = list(map(str, range(len(ids))))
    bare = [i for i, key in enumerate(keys) if key not in source.cells]
    if bare and not (skip and len(bare) < len(ids)):
        raise LabelError(
            f"{intervals.place(int(kept[bare[0]]))}: {len(bare):,} of {len(ids):,} "
            f"intervals have no label in {source.what}: {ids[bare[0]]}, ...; leave "
            'them out with unlabelled="skip"'
        )
    order: list[int] = [i for i, key in enumerate(keys) if key in source.cells]
    names = None if classes is None else tuple(classes)
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
    task: str,
) -> Source:
    """Finds where labels come from, and numbers them as the intervals are."""
    if isinstance(labels, str) and labels in intervals.columns:
        column = intervals.columns[labels]
        each = {str(i): cells_of([column[row]])[0] for i, row in enumerate(kept.tolist())}
        cells = {key: row for key, row in each.items() if "" not in row}
        return Source(f"column {labels!r}", (labels,), cells, is_each=True)
    if not isinstance(labels, (str, Mapping)) and hasattr(labels, "__len__"):
        return _one_each(labels, intervals, kept)
    source, known = labels_by_id(labels, *columns, task=task)
    found = set(known)
    names = intervals.columns.get("name", [])
    cells: dict[str, Cells] = {}
    for i, (name, row) in enumerate(zip(ids, kept.tolist(), strict=True)):
        for key in (name, names[row] if names else name):
            if key in found:
                cells[str(i)] = source.cells[key]
    return Source(source.what, source.names, cells, is_each=True)


def _one_each(labels: Any, intervals: Intervals, kept: NDArray[np.int64]) -> Source:
    """Takes labels in the order of the intervals."""
    if len(labels) != len(intervals):
        raise ArgumentError(
            f"labels must be one for each of {len(intervals):,} intervals, "
            f"got {len(labels):,}"
        )
    rows = cells_of(list(np.asarray(labels).tolist()))
    width = max(map(len, rows))
    names = ("label",) if width == 1 else tuple(f"label_{i}" for i in range(width))
    numbers: list[int] = kept.tolist()
    cells = {str(i): rows[row] for i, row in enumerate(numbers)}
    return Source("the labels", names, cells, is_each=True)
