"""Where labels come from: tables, a dict, or the headers themselves."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import quote
from seqloom._text import is_decimal
from seqloom._warning import warn_user
from seqloom.data._frame import Frame, index_of, is_array, key_text, values_of
from seqloom.data._paths import tables_of
from seqloom.data.label._labels import (
    MISSING,
    Cells,
    LabelColumn,
    as_cell,
    as_cells,
    is_nothing,
)
from seqloom.data.label._table import (
    LabelTable,
    column_position,
    parquet_frame,
    read_table,
    reading_table,
)
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.data.label._labels import Labels

_EXAMPLES = 3
_CODE = re.compile(r"-9+(\.0+)?")
# What holds several values of one record.
_LISTS: Any = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, slots=True)
class LabelSource:
    """Labels as text, by id."""

    what: str  # name of the source in errors
    names: Cells  # names of the cells of a label
    cells: dict[str, Cells]
    tables: list[LabelTable] = field(
        default_factory=list["LabelTable"]
    )  # to name lines in errors
    is_each: bool = False  # by record number, not by id
    missing: dict[str, Cells] = field(default_factory=dict[str, "Cells"])
    is_of_files: bool = False  # a label belongs to a whole file
    is_of_lists: bool = False  # a label is a list of names
    is_of_index: bool = False  # ids are the index of a series
    where: Callable[[str], str] | None = None  # describes the location of a label
    found: Callable[[int], str] | None = None  # says where a record's label was looked for

    def note(self, record: int) -> str:
        """Say what was found of a record, where the source knows more than its label."""
        return "" if self.found is None else f"; {self.found(record)}"

    def locate(self, name: str) -> str:
        """Say where the label of an id stands."""
        if self.where is not None:
            return self.where(name)
        if self.is_each:
            return f"{self.what}, record {name}"
        for table in self.tables:
            if name in table.ids:
                line = table.lines[table.ids.index(name)]
                return f"{table.path}, line {line}, id {name!r}"
        return f"{self.what}, id {name!r}"


def rows_of(frame: Frame, columns: Cells) -> tuple[list[Cells | None], bool]:
    """Write columns of a table as the cells of each row; tells whether they are lists."""
    parts = [frame.column(name) for name in columns]
    if len(columns) == 1:
        is_of_lists = _are_names(parts[0])
        # Beside lists of names nothing is no label; an empty list is one: none holds.
        return [
            None if is_of_lists and is_nothing(value) else as_cells(value)
            for value in parts[0]
        ], is_of_lists
    for name, part in zip(columns, parts, strict=True):
        if wrong := next((value for value in part if isinstance(value, _LISTS)), None):
            raise LabelError(
                f"{frame.what}: column {name!r} holds {quote(wrong)}: a column of lists "
                "must be the only label_column"
            )
    return [tuple(map(as_cell, row)) for row in zip(*parts, strict=True)], False


def column_names_of(labels: Labels) -> Cells:
    """List the columns of labels, one or several."""
    names = tuple(labels.label_column or ())
    if not names:
        raise ArgumentError("label_column names no column")
    if len(set(names)) < len(names):
        raise ArgumentError(f"label_column names a column twice: {', '.join(names)}")
    return names


def labels_by_id(labels: Labels) -> LabelSource:
    """Take labels from tables, files or in memory, or from a dict."""
    source, id_column, names = (
        labels.source,
        labels.id_column or "id",
        column_names_of(labels),
    )
    frame = frame_of(source, {id_column, *names})
    if frame is not None:
        return _of_tables([_frame_table(frame, id_column, names)], names)
    if isinstance(source, Mapping):
        return dict_source(source, names)  # pyright: ignore[reportUnknownArgumentType]
    if (index := index_of(source)) is not None:
        what = "the series of labels"
        source = dict_source(by_id(what, index, source), names)
        return replace(source, what=what, is_of_index=True)
    return table_source(_as_paths(source), id_column, names)


def frame_of(labels: Any, wanted: set[str]) -> Frame | None:
    """Take a data frame; a dict is one if it has the columns, and else is by id."""
    if isinstance(labels, Mapping) and not wanted.issubset(labels):  # pyright: ignore[reportUnknownArgumentType]
        return None
    return Frame.of(labels)


def _as_paths(labels: Any) -> list[str | os.PathLike[str]]:
    """Take one path or several; labels alone do not say which sequence they are for."""
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        labels = [labels]
    rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
    strange = [row for row in rows if not isinstance(row, (str, os.PathLike))]
    if strange or is_array(labels):
        found = f"an array of {len(rows):,}" if is_array(labels) else repr(strange[0])
        raise ArgumentError(
            "labels must be a table's path, several of them, a data frame, a dict from id "
            f"to label, or a function of the record; got {found}: pass "
            "dict(zip(ids, labels))"
        )
    return rows


def each_source(labels: list[Any], n: int, columns: Cells) -> LabelSource:
    """Take labels in the order of the records."""
    if len(labels) != n:
        raise LabelError(
            f"labels must be one for each of {n:,} sequences, in their order, got "
            f"{len(labels):,}; a dict from id to label may have more or fewer"
        )
    numbered = {str(i): label for i, label in enumerate(labels)}
    source = dict_source(numbered, columns)
    return replace(source, what="the labels", is_each=True)


def _frame_table(frame: Frame, id_column: str, columns: Cells) -> LabelTable:
    """Take labels from a data frame: a column of ids, or the names of its rows."""
    found = frame.ids(id_column)
    wanted = columns if found is not None else (id_column, *columns)
    for name in wanted:
        column_position(frame.what, frame.names, name)
    ids = [id_text(key, f"{frame.what}, row {i}") for i, key in enumerate(found or (), 1)]
    rows, is_of_lists = rows_of(frame, columns)
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
    """Read labels from tables."""
    tables: list[LabelTable] = []
    for path in tables_of("labels", labels):
        with reading_table(path):
            frame = parquet_frame(path, (id_column, *columns))
        tables.append(
            read_table(path, id_column, columns)
            if frame is None
            else _frame_table(frame, id_column, columns)
        )
    return _of_tables(tables, columns)


def _of_tables(tables: list[LabelTable], columns: Cells) -> LabelSource:
    """Join tables, in which an id stands with one label."""
    cells: dict[str, Cells] = {}
    for table in tables:
        cells.update(zip(table.ids, table.rows, strict=True))
    if len(cells) < sum(len(table.ids) for table in tables):
        _check_agreement(tables)
    what = ", ".join(table.path for table in tables)
    is_of_lists = any(table.is_of_lists for table in tables)
    names = wide_names(columns, cells.values())
    return LabelSource(what, names, cells, tables, is_of_lists=is_of_lists)


def _check_agreement(tables: list[LabelTable]) -> None:
    """Find an id that occurs twice with two values; the same value twice is no harm."""
    seen: dict[str, tuple[Cells, str, int]] = {}
    for table in tables:
        for name, row, line in zip(table.ids, table.rows, table.lines, strict=True):
            first, path, where = seen.setdefault(name, (row, table.path, line))
            if first != row:
                raise LabelError(
                    f"{table.path}, line {line}: id {name!r} has the label "
                    f"{', '.join(row)!r}, but {path}, line {where} says "
                    f"{', '.join(first)!r}{_exchange_note(tables)}"
                )


def _exchange_note(tables: list[LabelTable]) -> str:
    """Ask whether ids and labels are exchanged, where each label is another name."""
    rows = [row for table in tables for row in table.rows]
    is_number = any(is_decimal(cell) for row in rows for cell in row)
    if is_number or len(set(rows)) < len(rows):
        return ""
    return (
        "; all labels differ, so the columns may be exchanged: choose with id_column and "
        "label_column (--id-column, --label-column)"
    )


def by_id(what: str, ids: Iterable[Any], values: Any) -> dict[str, Any]:
    """Join values to their ids as text; two that differ are of no one id."""
    found: dict[str, Any] = {}
    for key, value in zip(ids, values_of(values), strict=True):
        name = id_text(key, what)
        first = found.setdefault(name, value)
        if first is not value and as_cells(first) != as_cells(value):
            raise LabelError(
                f"{what}: id {name!r} occurs twice, with {quote(first)} and "
                f"{quote(value)}; give each id one value"
            )
    return found


def id_text(key: Any, where: str) -> str:
    """Write an id as text; nothing is none."""
    if isinstance(key, str) and key and not key.isspace():
        return key
    text = key_text(key)
    if is_nothing(key) or not text.strip():
        raise LabelError(
            f"{where}: an id is missing ({quote(key)}): give each label an id, or leave it "
            "out"
        )
    return text


def dict_source(labels: Mapping[Any, Any], columns: Cells) -> LabelSource:
    """Take labels from a dict."""
    named = by_id("the dict of labels", labels, list(labels.values()))
    missing = {name: ("",) for name, value in named.items() if is_nothing(value)}
    cells = {
        name: as_cells(value) for name, value in named.items() if not is_nothing(value)
    }
    names, is_of_lists = wide_names(columns, cells.values()), _are_names(named.values())
    return LabelSource(
        "the dict of labels", names, cells, missing=missing, is_of_lists=is_of_lists
    )


def wide_names(columns: Cells, rows: Iterable[Cells]) -> Cells:
    """Name the values of labels: as the columns, or by numbers where one holds several."""
    widths = {len(row) for row in rows} or {len(columns)}
    if len(widths) > 1:
        raise LabelError(
            f"labels have {min(widths)} to {max(widths)} values; give all as many"
        )
    width = widths.pop()
    if width == len(columns):
        return columns
    return tuple(f"{columns[0]}_{i}" for i in range(width))


def _are_names(labels: Iterable[Any]) -> bool:
    """Tell lists of names from single labels: somewhere stand several names, or none."""
    lists = [list(label) for label in labels if isinstance(label, _LISTS)]
    has_names = all(isinstance(name, str) for names in lists for name in names)
    has_some = any(lists)
    return has_names and has_some and any(len(names) != 1 for names in lists)


def join(
    source: LabelSource,
    keys: list[str],
    ids: list[str],
    *,
    noun: str | None,  # what labels may be left without; None: they are one for each
    skip: bool,
    refuse: Callable[[list[int]], LabelError],
    left: tuple[str, ...] | None = None,
) -> LabelColumn:
    """Find which records, intervals or samples have a label, each by its key."""
    has_label = np.array([key in source.cells for key in keys], np.bool_)
    bare: list[int] = np.flatnonzero(~has_label).tolist()
    if bare and not (skip and has_label.any()):
        raise refuse(bare)
    report, rows = (
        count_ids("unlabelled", [ids[i] for i in bare]),
        np.flatnonzero(has_label),
    )
    if noun is None:
        return LabelColumn(rows=rows, report=report)
    if left is None:
        known = set(keys)
        left = tuple([key for key in source.cells if key not in known])
    report |= count_ids(f"labels_without_{noun}", left)
    return LabelColumn(rows=rows, unmatched=left, report=report)


def count_ids(name: str, ids: Sequence[str]) -> dict[str, Any]:
    """Count ids, with examples."""
    return {name: len(ids), f"{name}_examples": list(ids[:_EXAMPLES])}


def drop_missing(source: LabelSource, labels: Labels) -> LabelSource:
    """Set labels aside that say nothing; a name among the classes is a class."""
    marks = {"", *(labels.missing or ())} - set(labels.classes or ())
    task = labels.task
    is_multilabel = task == "multilabel" or (task == "auto" and source.is_of_lists)
    if is_multilabel and len(source.names) == 1:
        marks.discard("")
    lost = {key: row for key, row in source.cells.items() if not marks.isdisjoint(row)}
    cells = {key: row for key, row in source.cells.items() if key not in lost}
    if len(source.names) == 1 and not is_multilabel:
        _warn_of_codes(
            source.what, {cell for row in cells.values() for cell in row}, labels
        )
    if not lost:
        return source
    return replace(source, cells=cells, missing={**source.missing, **lost})


def _warn_of_codes(what: str, cells: set[str], labels: Labels) -> None:
    """Warn if the only negative number among labels is a usual code of a missing value."""
    negative = [cell for cell in cells if cell.startswith("-")]
    codes = [cell for cell in negative if _CODE.fullmatch(cell)]
    is_single = len(negative) == 1 and len(cells) > len(negative)
    if is_single and codes and not set(codes) & set(labels.classes or ()):
        warn_user(
            f"{what}: the label {codes[0]!r} looks like a code of a missing value and is "
            f"read as a label; to leave its records out, pass Labels(..., missing=['', "
            f'{codes[0]!r}], unlabelled="skip") (--missing {codes[0]} --unlabelled skip)',
        )


def missing_note(source: LabelSource, name: str) -> str:
    """Say why a label that is written somewhere is none, and how to keep it."""
    cells = source.missing.get(name)
    if cells is None:
        return ""
    if "" in cells:
        return f" ({source.locate(name)}: the label is empty)"
    mark = next((cell for cell in cells if cell in MISSING), cells[0])
    return (
        f" ({source.locate(name)}: {mark!r} is read as missing; where it is a class, name "
        "other marks with missing= of Labels (--missing))"
    )
