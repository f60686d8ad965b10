"""Labels of intervals."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data._frame import Frame, frame_index, to_values
from seqloom.data.label._labels import (
    DEFAULTS,
    Cells,
    LabelColumn,
    Labels,
    labels_by_file,
    to_cells,
)
from seqloom.data.label._numbers import label_rows
from seqloom.data.label._source import (
    LabelSource,
    dict_source,
    drop_missing,
    missing_note,
    read_labels_by_id,
)
from seqloom.errors import ArgumentError, LabelError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from seqloom.data.interval._intervals import Intervals


def check_label_options(labels: Labels) -> None:
    """Raise for options of ``Labels`` that do not apply to the intervals."""
    labels.check_unsupported("label_from_header", of="SequenceDataset")
    labels.check_unsupported("coding", of="GenotypeDataset")
    if labels.source is None and (changed := labels.changes(DEFAULTS)):
        raise ArgumentError(
            f"{' and '.join(changed)}: used only if labels= is given; pass labels, such "
            "as the name of a column of the intervals"
        )


def label_intervals(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> LabelColumn:
    """Return the labels of the intervals that are not dropped."""
    source, unmatched = _label_source(labels, intervals, kept, ids=ids)
    source = drop_missing(source, labels)

    def missing_error(unlabelled: list[int]) -> LabelError:
        remedy = '; pass Labels(..., unlabelled="skip") (--unlabelled skip) to skip records'
        if len(unlabelled) == len(ids):
            remedy = (
                "; no index value is the id of an interval: for labels in interval order "
                "pass labels.to_numpy()"
                if source.is_of_index
                else ""
            )
        return LabelError(
            f"{intervals.locate(int(kept[unlabelled[0]]))}: {len(unlabelled):,} of "
            f"{len(ids):,} intervals have no label in {source.what}: "
            f"{ids[unlabelled[0]]}, ...{remedy}{missing_note(source, str(unlabelled[0]))}"
        )

    keys = list(map(str, range(len(ids))))
    return label_rows(
        source,
        labels,
        keys,
        ids=ids,
        noun="sequence",
        missing_error=missing_error,
        unmatched=unmatched,
    )


def _label_source(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    names = _label_columns(labels.source, intervals)
    if names:
        return _by_columns(names, intervals, kept), ()
    files = list(dict.fromkeys(intervals.files))
    if (classes := labels_by_file(labels.source, files)) is not None:
        return _file_labels(dict(zip(files, classes, strict=True)), intervals, kept), ()
    if _are_in_record_order(labels.source, intervals):
        return _ordered_labels(labels.source, intervals, kept), ()
    return _join_by_id(labels, intervals, kept, ids=ids)


def _label_columns(labels: Any, intervals: Intervals) -> Cells:
    """Return the names of the columns that ``labels`` lists; empty if it lists none."""
    names: Any = (labels,) if isinstance(labels, str) else labels
    if not isinstance(names, (list, tuple)) or not names:
        return ()
    is_each = all(isinstance(it, str) and it in intervals.columns for it in names)  # pyright: ignore[reportUnknownVariableType]
    return tuple(names) if is_each and len(set(names)) == len(names) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _by_columns(names: Cells, intervals: Intervals, kept: NDArray[np.int64]) -> LabelSource:
    rows: list[int] = kept.tolist()
    columns = [[intervals.columns[name][row] for row in rows] for name in names]
    if len(names) == 1:
        source = dict_source(_key_by_number(columns[0]), names)
    else:
        each = [sum(row, ()) for row in zip(*map(to_cells, columns), strict=True)]
        source = LabelSource("", names, _key_by_number(each))
    what = f"column {', '.join(map(repr, names))}"
    return replace(source, what=what, is_each=True, where=_line_finder(intervals, rows))


def _file_labels(
    classes: dict[str, Any], intervals: Intervals, kept: NDArray[np.int64]
) -> LabelSource:
    if not intervals.files:
        raise ArgumentError(
            'labels="file" takes the names of files of intervals, but these are a table '
            "in memory: pass the name of its column of labels"
        )
    rows: list[int] = kept.tolist()
    each = _key_by_number([classes[intervals.files[row]] for row in rows])
    options: Any = {"what": "the labels of files", "is_each": True, "is_of_files": True}
    return replace(
        dict_source(each, ("label",)), **options, where=_line_finder(intervals, rows)
    )


def _line_finder(intervals: Intervals, rows: list[int]) -> Callable[[str], str]:
    """Return a function that finds file and line of an interval from its number."""
    return lambda name: intervals.locate(rows[int(name)])


def _key_by_number(each: list[Any]) -> dict[str, Any]:
    return {str(i): label for i, label in enumerate(each)}


def _are_in_record_order(labels: Any, intervals: Intervals) -> bool:
    """Return whether labels are values in the order of the intervals."""
    if isinstance(labels, (str, os.PathLike, Mapping)) or Frame.of(labels) is not None:
        return False
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return not (rows and isinstance(rows[0], os.PathLike))
    index = frame_index(labels)
    # A series with the index of the intervals is in the order of the intervals.
    is_in_order = index is None or index == intervals.index
    return callable(getattr(labels, "__len__", None)) and is_in_order


def _ordered_labels(
    labels: Any, intervals: Intervals, kept: NDArray[np.int64]
) -> LabelSource:
    """Convert labels in the order of the intervals to numbers."""
    if len(labels) != len(intervals):
        raise ArgumentError(
            f"labels must be one for each of {len(intervals):,} intervals, "
            f"got {len(labels):,}"
        )
    values = to_values(labels)
    numbered = {str(i): values[row] for i, row in enumerate(kept.tolist())}
    return replace(dict_source(numbered, ("label",)), what="the labels", is_each=True)


def _choose_names(ids: list[str], positions: list[str], source: LabelSource) -> list[str]:
    """Return the names that the labels use: interval ids or original positions."""
    # All intervals use the same kind of name: after resizing, the id of one interval
    # may equal the original position of another.
    labelled = {*source.cells, *source.missing}
    named = sum(position in labelled for position in positions)
    return positions if named > sum(name in labelled for name in ids) else ids


def _join_by_id(
    labels: Labels, intervals: Intervals, kept: NDArray[np.int64], *, ids: list[str]
) -> tuple[LabelSource, Cells]:
    """Join labels to intervals by id, or by the names in a BED file."""
    path = labels.source
    if isinstance(path, str) and not Path(path).expanduser().exists():
        known = ", ".join(intervals.columns) or "only positions"
        raise MissingFileError(
            f"{path}: no such file, nor a column of the intervals, which have {known}"
        )
    source = read_labels_by_id(labels)
    names = intervals.columns.get("name", [])
    keys: dict[str, str] = {}
    shown = _choose_names(ids, [intervals.name(row) for row in kept.tolist()], source)
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
