"""Labels of intervals: columns of theirs, one each, by file, or by id or name."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data._frame import Frame, index_of, values_of
from seqloom.data.label._cells import Cells, cells_of
from seqloom.data.label._labels import USUAL, Labels, labels_of_files
from seqloom.data.label._numbers import number_joined
from seqloom.data.label._source import (
    LabelSource,
    dict_source,
    drop_missing,
    join,
    labels_by_id,
    missing_note,
)
from seqloom.errors import ArgumentError, LabelError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals
    from seqloom.data.label._cells import LabelColumn


def check_label_options(labels: Labels) -> None:
    """Refuses options of labels where no labels are given, and those of other datasets."""
    labels.check_usual("label_from_header", of="SequenceDataset")
    labels.check_usual("coding", of="GenotypeDataset")
    if labels.source is None and (changed := labels.changes(USUAL)):
        raise ArgumentError(
            f"{' and '.join(changed)}: only with labels=; give labels too, such as the "
            "name of a column of the intervals"
        )


def label_intervals(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> LabelColumn:
    """Finds the labels of some intervals, ``rows`` being positions among these."""
    source, left = _source(labels, intervals, kept, ids=ids)
    source = drop_missing(source, labels)

    def refuse(bare: list[int]) -> LabelError:
        position = intervals.locate(int(kept[bare[0]]))
        return LabelError(f"{position}: {_describe_unlabelled(source, bare, ids)}")

    options: Any = {"noun": "sequence", "skip": labels.skips, "left": left}
    keys = list(map(str, range(len(ids))))
    joined = join(source, keys, ids, refuse=refuse, **options)
    return number_joined(source, keys, joined, labels=labels)


def _describe_unlabelled(source: LabelSource, bare: list[int], ids: list[str]) -> str:
    """Says which intervals have no label."""
    way_out = '; leave them out with unlabelled="skip" (--unlabelled skip)'
    if len(bare) == len(ids):
        way_out = (
            "; its index has no interval: for labels in the order of the intervals give "
            "labels.to_numpy()"
            if source.is_of_index
            else ""
        )
    return (
        f"{len(bare):,} of {len(ids):,} intervals have no label in {source.what}: "
        f"{ids[bare[0]]}, ...{way_out}"
        f"{missing_note(source, str(bare[0]))}"
    )


def _source(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    """Finds where labels come from, numbered as the intervals are, and what is left."""
    names = _columns_meant(labels.source, intervals)
    if names:
        return _of_columns(names, intervals, kept), ()
    files = list(dict.fromkeys(intervals.files))
    if (classes := labels_of_files(labels.source, files)) is not None:
        return _of_files(dict(zip(files, classes, strict=True)), intervals, kept), ()
    if _is_one_each(labels.source, intervals):
        return _one_each(labels.source, intervals, kept), ()
    return _by_id(labels, intervals, kept, ids=ids)


def _columns_meant(labels: Any, intervals: Intervals) -> Cells:
    """Lists the columns of the intervals that are labels, where some are."""
    names: Any = (labels,) if isinstance(labels, str) else labels
    if not isinstance(names, (list, tuple)) or not names:
        return ()
    is_each = all(isinstance(it, str) and it in intervals.columns for it in names)  # pyright: ignore[reportUnknownVariableType]
    return tuple(names) if is_each and len(set(names)) == len(names) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _of_columns(names: Cells, intervals: Intervals, kept: NDArray[np.int64]) -> LabelSource:
    """Takes labels from columns of the intervals."""
    rows: list[int] = kept.tolist()
    columns = [[intervals.columns[name][row] for row in rows] for name in names]
    if len(names) == 1:
        source = dict_source(_label_by_number(columns[0]), names)
    else:
        each = [sum(row, ()) for row in zip(*map(cells_of, columns), strict=True)]
        source = LabelSource("", names, _label_by_number(each))
    what = f"column {', '.join(map(repr, names))}"
    return replace(source, what=what, is_each=True, where=_positions(intervals, rows))


def _of_files(
    classes: dict[str, Any], intervals: Intervals, kept: NDArray[np.int64]
) -> LabelSource:
    """Gives each interval the label of its file."""
    if not intervals.files:
        raise ArgumentError(
            'labels="file" takes the names of files of intervals, but these are a table '
            "in memory: give the name of its column of labels"
        )
    rows: list[int] = kept.tolist()
    each = _label_by_number([classes[intervals.files[row]] for row in rows])
    options: Any = {"what": "the labels of files", "is_each": True, "is_of_files": True}
    return replace(
        dict_source(each, ("label",)), **options, where=_positions(intervals, rows)
    )


def _positions(intervals: Intervals, rows: list[int]) -> Callable[[str], str]:
    """Finds the line of an interval by the number that names its label."""
    return lambda name: intervals.locate(rows[int(name)])


def _label_by_number(each: list[Any]) -> dict[str, Any]:
    """Names labels by the numbers of their intervals."""
    return {str(i): label for i, label in enumerate(each)}


def _is_one_each(labels: Any, intervals: Intervals) -> bool:
    """Tells labels in the order of the intervals from tables and from labels by id."""
    if isinstance(labels, (str, os.PathLike, Mapping)) or Frame.of(labels) is not None:
        return False
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return not (rows and isinstance(rows[0], os.PathLike))
    index = index_of(labels)
    # A column of the table of intervals has its index.
    is_in_order = index is None or index == intervals.index
    return callable(getattr(labels, "__len__", None)) and is_in_order


def _one_each(labels: Any, intervals: Intervals, kept: NDArray[np.int64]) -> LabelSource:
    """Takes labels in the order of the intervals."""
    if len(labels) != len(intervals):
        raise ArgumentError(
            f"labels must be one for each of {len(intervals):,} intervals, "
            f"got {len(labels):,}"
        )
    values = values_of(labels)
    numbered = {str(i): values[row] for i, row in enumerate(kept.tolist())}
    return replace(dict_source(numbered, ("label",)), what="the labels", is_each=True)


def _as_labelled(ids: list[str], positions: list[str], source: LabelSource) -> list[str]:
    """Chooses which the labels name: what is read, or what the intervals say."""
    # One of the two for all: at a width one interval may be shown where another lies.
    known = {*source.cells, *source.missing}
    named = sum(position in known for position in positions)
    return positions if named > sum(name in known for name in ids) else ids


def _by_id(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    """Joins labels to intervals by their ids, or by the names that a BED file gives."""
    path = labels.source
    if isinstance(path, str) and not Path(path).expanduser().exists():
        known = ", ".join(intervals.columns) or "none besides their position"
        raise MissingFileError(
            f"{path}: no such file, nor a column of the intervals, which have {known}"
        )
    source = labels_by_id(labels)
    names = intervals.columns.get("name", [])
    keys: dict[str, str] = {}
    shown = _as_labelled(ids, [intervals.name(row) for row in kept.tolist()], source)
    for i, (name, row) in enumerate(zip(shown, kept.tolist(), strict=True)):
        for key in (name, names[row] if names else name):
            if key in source.cells or (key in source.missing and str(i) not in keys):
                keys[str(i)] = key
    used = set(keys.values())

    def where(name: str) -> str:
        return source.locate(keys[name])

    numbered = replace(
        source,
        cells={i: source.cells[key] for i, key in keys.items() if key in source.cells},
        tables=[],
        is_each=True,
        missing={
            i: source.missing[key] for i, key in keys.items() if key in source.missing
        },
        where=where,
    )
    return numbered, tuple([key for key in source.cells if key not in used])
