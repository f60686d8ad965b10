"""Reads labels from tables, dicts and series, and joins them by id."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom._text import MAX_EXAMPLES, is_decimal
from seqloom._warning import warn_user
from seqloom.data._frame import Frame, format_id, frame_index, is_array, to_values
from seqloom.data._paths import expand_table_paths
from seqloom.data.label._labels import (
    MISSING_TEXTS,
    Cells,
    LabelColumn,
    is_missing,
    label_to_cells,
    value_to_cell,
)
from seqloom.data.label._table import (
    LabelTable,
    add_table_to_errors,
    column_position,
    parquet_frame,
    read_table,
)
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.data.label._labels import Labels

_MISSING_CODE = re.compile(r"-9+(\.0+)?")
# Types of labels with several values.
_LIST_TYPES: Any = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, slots=True)
class LabelSource:
    """Labels as text, by id."""

    what: str  # Name of the source in error messages.
    names: Cells  # Column names of the labels.
    cells: dict[str, Cells]
    tables: list[LabelTable] = field(
        default_factory=list["LabelTable"]
    )  # Tables, for line numbers in errors.
    is_each: bool = False  # If True, keys are record numbers, not ids.
    missing: dict[str, Cells] = field(default_factory=dict[str, "Cells"])
    is_of_files: bool = False  # If True, each file is a class.
    is_of_lists: bool = False  # If True, labels are lists of names.
    is_of_index: bool = False  # If True, keys are the index of a series.
    where: Callable[[str], str] | None = None  # id -> location of the label
    found: Callable[[int], str] | None = None  # record -> details of the search

    def note(self, record: int) -> str:
        """Return details of the search for a record's label, for messages."""
        return "" if self.found is None else f"; {self.found(record)}"

    def locate(self, name: str) -> str:
        """Return the location of the label of an id, for messages."""
        if self.where is not None:
            return self.where(name)
        if self.is_each:
            return f"{self.what}, record {name}"
        for table in self.tables:
            if name in table.ids:
                line = table.lines[table.ids.index(name)]
                return f"{table.path}, line {line}, id {name!r}"
        return f"{self.what}, id {name!r}"


def label_rows_of_frame(frame: Frame, columns: Cells) -> tuple[list[Cells | None], bool]:
    """Return the cells of each row, and whether they are lists of names."""
    parts = [frame.column(name) for name in columns]
    if len(columns) == 1:
        is_of_lists = _are_names(parts[0])
        # In a column of lists, None is a missing label, and an empty list is a label.
        return [
            None if is_of_lists and is_missing(value) else label_to_cells(value)
            for value in parts[0]
        ], is_of_lists
    for name, part in zip(columns, parts, strict=True):
        if wrong := next((value for value in part if isinstance(value, _LIST_TYPES)), None):
            raise LabelError(
                f"{frame.what}: column {name!r} has {quote(wrong)}: a column of lists "
                "must be the only label_column"
            )
    return [tuple(map(value_to_cell, row)) for row in zip(*parts, strict=True)], False


def list_label_columns(labels: Labels) -> Cells:
    """Return the names of the columns of labels; raise if a name occurs twice."""
    names = tuple(labels.label_column or ())
    if not names:
        raise ArgumentError("label_column is empty")
    if len(set(names)) < len(names):
        raise ArgumentError(f"label_column contains a column twice: {', '.join(names)}")
    return names


def read_labels_by_id(labels: Labels) -> LabelSource:
    """Return labels by id, from tables, a data frame, a series or a dict."""
    source, id_column, names = (
        labels.source,
        labels.id_column or "id",
        list_label_columns(labels),
    )
    frame = as_label_frame(source, {id_column, *names})
    if frame is not None:
        return _table_labels([_frame_table(frame, id_column, names)], names)
    if isinstance(source, Mapping):
        return dict_source(source, names)  # pyright: ignore[reportUnknownArgumentType]
    if (index := frame_index(source)) is not None:
        what = "the series of labels"
        source = dict_source(index_by_id(what, index, source), names)
        return replace(source, what=what, is_of_index=True)
    return table_source(_as_paths(source), id_column, names)


def as_label_frame(labels: Any, wanted: set[str]) -> Frame | None:
    """Return labels as a `Frame`; None if they are not a table with the columns."""
    if isinstance(labels, Mapping) and not wanted.issubset(labels):  # pyright: ignore[reportUnknownArgumentType]
        return None
    return Frame.of(labels)


def _as_paths(labels: Any) -> list[str | os.PathLike[str]]:
    """Return one or more paths as a list; raise for labels without ids."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        labels = [labels]
    rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
    strange = [row for row in rows if not isinstance(row, (str, os.PathLike))]
    if strange or is_array(labels):
        argument = f"an array of {len(rows):,}" if is_array(labels) else repr(strange[0])
        raise ArgumentError(
            "labels must be one or more paths of tables, a data frame, a dict from id to "
            f"label, or a function of the record; got {argument}: pass "
            "dict(zip(ids, labels))"
        )
    return rows


def ordered_source(labels: list[Any], n: int, columns: Cells) -> LabelSource:
    """Return labels that are in the order of the records."""
    if len(labels) != n:
        raise LabelError(
            f"labels must be one for each of {n:,} sequences, in their order, got "
            f"{len(labels):,}; a dict from id to label may have more or fewer"
        )
    numbered = {str(i): label for i, label in enumerate(labels)}
    source = dict_source(numbered, columns)
    return replace(source, what="the labels", is_each=True)


def _frame_table(frame: Frame, id_column: str, columns: Cells) -> LabelTable:
    keys = frame.ids(id_column)
    wanted = columns if keys is not None else (id_column, *columns)
    for name in wanted:
        column_position(frame.what, frame.names, name)
    ids = [id_to_text(key, f"{frame.what}, row {i}") for i, key in enumerate(keys or (), 1)]
    rows, is_of_lists = label_rows_of_frame(frame, columns)
    table = LabelTable(frame.what, [], [], [], is_of_lists=is_of_lists)
    for line, (name, row) in enumerate(zip(ids, rows, strict=True), 1):
        if row is not None:
            table.ids.append(name)
            table.rows.append(row)
            table.lines.append(line)
    return table


def table_source(
    labels: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    id_column: str,
    columns: Cells,
) -> LabelSource:
    """Return the labels in table files."""
    tables: list[LabelTable] = []
    for path in expand_table_paths("labels", labels):
        with add_table_to_errors(path):
            frame = parquet_frame(path, (id_column, *columns))
        tables.append(
            read_table(path, id_column, columns)
            if frame is None
            else _frame_table(frame, id_column, columns)
        )
    return _table_labels(tables, columns)


def _table_labels(tables: list[LabelTable], columns: Cells) -> LabelSource:
    """Return the labels of several tables; raise if an id has different labels."""
    cells: dict[str, Cells] = {}
    for table in tables:
        cells.update(zip(table.ids, table.rows, strict=True))
    if len(cells) < sum(len(table.ids) for table in tables):
        _check_agreement(tables)
    what = ", ".join(table.path for table in tables)
    is_of_lists = any(table.is_of_lists for table in tables)
    names = value_names(columns, cells.values())
    return LabelSource(what, names, cells, tables, is_of_lists=is_of_lists)


def _check_agreement(tables: list[LabelTable]) -> None:
    seen: dict[str, tuple[Cells, str, int]] = {}
    for table in tables:
        for name, row, line in zip(table.ids, table.rows, table.lines, strict=True):
            first, path, where = seen.setdefault(name, (row, table.path, line))
            if first != row:
                raise LabelError(
                    f"{table.path}, line {line}: id {name!r} has the label "
                    f"{', '.join(row)!r}, but {path}, line {where} has "
                    f"{', '.join(first)!r}{_exchange_note(tables)}"
                )


def _exchange_note(tables: list[LabelTable]) -> str:
    """Return a hint that the columns may be exchanged, if all labels differ."""
    rows = [row for table in tables for row in table.rows]
    is_number = any(is_decimal(cell) for row in rows for cell in row)
    if is_number or len(set(rows)) < len(rows):
        return ""
    return (
        "; all labels differ, so the columns may be exchanged: choose with id_column and "
        "label_column (--id-column, --label-column)"
    )


def index_by_id(what: str, ids: Iterable[Any], values: Any) -> dict[str, Any]:
    """Return a dict from id to value; raise if an id has different values."""
    found: dict[str, Any] = {}
    for key, value in zip(ids, to_values(values), strict=True):
        name = id_to_text(key, what)
        first = found.setdefault(name, value)
        if first is not value and label_to_cells(first) != label_to_cells(value):
            raise LabelError(
                f"{what}: id {name!r} occurs twice, with {quote(first)} and "
                f"{quote(value)}; an id must have one value"
            )
    return found


def id_to_text(key: Any, where: str) -> str:
    """Return an id as text; raise if it is missing."""
    if isinstance(key, str) and key and not key.isspace():
        return key
    text = format_id(key)
    if is_missing(key) or not text.strip():
        raise LabelError(
            f"{where}: an id is missing ({quote(key)}): add the id, or remove the label"
        )
    return text


def dict_source(labels: Mapping[Any, Any], columns: Cells) -> LabelSource:
    """Return labels from a dict."""
    named = index_by_id("the dict of labels", labels, list(labels.values()))
    missing = {name: ("",) for name, value in named.items() if is_missing(value)}
    cells = {
        name: label_to_cells(value)
        for name, value in named.items()
        if not is_missing(value)
    }
    names, is_of_lists = value_names(columns, cells.values()), _are_names(named.values())
    return LabelSource(
        "the dict of labels", names, cells, missing=missing, is_of_lists=is_of_lists
    )


def value_names(columns: Cells, rows: Iterable[Cells]) -> Cells:
    """Return names for the values of a label: column names, or numbers for a list."""
    widths = {len(row) for row in rows} or {len(columns)}
    if len(widths) > 1:
        raise LabelError(
            f"labels have {min(widths)} to {max(widths)} values; give all the same number"
        )
    width = widths.pop()
    if width == len(columns):
        return columns
    return tuple(f"{columns[0]}_{i}" for i in range(width))


def _are_names(labels: Iterable[Any]) -> bool:
    """Return whether labels are lists of names; False if each has exactly one name."""
    lists = [list(label) for label in labels if isinstance(label, _LIST_TYPES)]
    has_names = all(isinstance(name, str) for names in lists for name in names)
    has_some = any(lists)
    return has_names and has_some and any(len(names) != 1 for names in lists)


def join_labels_by_key(
    source: LabelSource,
    keys: list[str],
    ids: list[str],
    *,
    noun: str | None,  # None if labels are in record order
    skip: bool,
    missing_error: Callable[[list[int]], LabelError],
    unmatched: tuple[str, ...] | None = None,
) -> LabelColumn:
    """Join records, intervals or samples to labels by key."""
    has_label = np.array([key in source.cells for key in keys], np.bool_)
    unlabelled: list[int] = np.flatnonzero(~has_label).tolist()
    if unlabelled and not (skip and has_label.any()):
        raise missing_error(unlabelled)
    report, rows = (
        count_ids("unlabelled", [ids[i] for i in unlabelled]),
        np.flatnonzero(has_label),
    )
    if noun is None:
        return LabelColumn(rows=rows, report=report)
    if unmatched is None:
        key_set = set(keys)
        unmatched = tuple([key for key in source.cells if key not in key_set])
    report |= count_ids(f"labels_without_{noun}", unmatched)
    return LabelColumn(rows=rows, unmatched=unmatched, report=report)


def count_ids(name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return the number of ids, and examples, for a report."""
    return {name: len(ids), f"{name}_examples": list(ids[:MAX_EXAMPLES])}


def drop_missing(source: LabelSource, labels: Labels) -> LabelSource:
    """Move missing labels from ``cells`` to ``missing``, but never names of classes."""
    marks = {"", *(labels.missing or ())} - set(labels.classes or ())
    task = labels.task
    is_multilabel = task == "multilabel" or (task == "auto" and source.is_of_lists)
    if is_multilabel and len(source.names) == 1:
        marks.discard("")
    missing = {key: row for key, row in source.cells.items() if not marks.isdisjoint(row)}
    cells = {key: row for key, row in source.cells.items() if key not in missing}
    if len(source.names) == 1 and not is_multilabel:
        _warn_of_codes(
            source.what, {cell for row in cells.values() for cell in row}, labels
        )
    if not missing:
        return source
    return replace(source, cells=cells, missing={**source.missing, **missing})


def _warn_of_codes(what: str, cells: set[str], labels: Labels) -> None:
    """Warn if the only negative label is a common code for missing values, such as -9."""
    negative = [cell for cell in cells if cell.startswith("-")]
    codes = [cell for cell in negative if _MISSING_CODE.fullmatch(cell)]
    is_single = len(negative) == 1 and len(cells) > len(negative)
    if is_single and codes and not set(codes) & set(labels.classes or ()):
        warn_user(
            f"{what}: the label {codes[0]!r} looks like a code for a missing value and is "
            f"read as a label; to leave its records out, pass Labels(..., missing=['', "
            f'{codes[0]!r}], unlabelled="skip") (--missing {codes[0]} --unlabelled skip)'
        )


def missing_note(source: LabelSource, name: str) -> str:
    """Return the reason that a label is treated as missing, and the way to keep it."""
    cells = source.missing.get(name)
    if cells is None:
        return ""
    if "" in cells:
        return f" ({source.locate(name)}: the label is empty)"
    mark = next((cell for cell in cells if cell in MISSING_TEXTS), cells[0])
    return (
        f" ({source.locate(name)}: {mark!r} is read as missing; if it is a class, pass "
        "other marks as missing= of Labels (--missing))"
    )
