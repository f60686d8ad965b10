"""Where labels come from: tables, a dict, or the headers themselves."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_pattern, quote
from seqloom._text import match_text, parse_decimal
from seqloom.data._frame import Frame, index_of, is_array, key_text, values_of
from seqloom.data._path import tables_of
from seqloom.data.label._by_file import labels_of_files
from seqloom.data.label._cells import Cells, as_cell, as_cells, is_nothing
from seqloom.data.label._header_line import column_position
from seqloom.data.label._parquet import parquet_frame
from seqloom.data.label._table import LabelTable, read_table, reading_table
from seqloom.errors import ArgumentError, LabelError
from seqloom.io._records import decode_header, parse_id

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

    from seqloom.data._records import Records
    from seqloom.data.label._labels import Labels
    from seqloom.io import SequenceRecord

# What holds several values of one record.
_LISTS: Any = (list, tuple, set, frozenset, np.ndarray)


@dataclass(frozen=True, slots=True)
class Source:
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
        """Says what was found of a record, where the source knows more than its label."""
        return "" if self.found is None else f"; {self.found(record)}"

    def locate(self, name: str) -> str:
        """Says where the label of an id stands."""
        if self.where is not None:
            return self.where(name)
        if self.is_each:
            return f"{self.what}, record {name}"
        for table in self.tables:
            if name in table.ids:
                line = table.lines[table.ids.index(name)]
                return f"{table.path}, line {line}, id {name!r}"
        return f"{self.what}, id {name!r}"


def choose_source(
    records: Records,
    labels: Labels,
    frames: Sequence[Frame | None] = (),
    *,
    has_ids: bool = True,
) -> Source | None:
    """Takes labels from where the caller says, or from the tables that sequences are in."""
    source, names = labels.source, _names(labels)
    if labels.label_from_header is not None:
        return header_source(labels.label_from_header, records, names)
    tables = [frame for frame in frames if frame is not None]
    if isinstance(source, str) and any(source in frame.names for frame in tables):
        source, names = None, (source,)
    if source is None and tables:
        return own_source(tables, records, names)
    if source is None or source is False:
        return None
    if not has_ids:
        _refuse_index(labels)
    labels = replace(labels, source=source)
    index = index_of(source) if is_array(source) else None
    if index is not None and index in [frame.index() for frame in tables]:
        # A column of the table of sequences.
        labels = replace(labels, source=np.array(values_of(source), object))
    return _source_of(labels, records)


def _refuse_index(labels: Labels) -> None:
    """Refuses to join an index to the numbers of sequences that have no ids."""
    frame = _frame_of(labels.source, set())
    has_column = frame is not None and (labels.id_column or "id") in frame.names
    if not has_column and index_of(labels.source) is not None:
        raise LabelError(
            "labels have an index, but the sequences have no ids to join it to: for "
            "labels in the order of the sequences give labels.to_numpy()"
        )


def own_source(tables: list[Frame], records: Records, columns: Cells) -> Source | None:
    """Takes labels from the tables that sequences are in, if they have some."""
    has = [set(columns) <= set(frame.names) for frame in tables]
    if not any(has) and columns == ("label",):
        return None
    for frame, name in itertools.product(tables, columns):
        column_position(frame.what, frame.names, name)
    if len(tables) < len(records.paths):
        raise LabelError(
            f"{tables[0].what}: has labels, but not all files are tables: give labels= for "
            "all, or labels=False"
        )
    what = ", ".join(frame.what for frame in tables)
    parts = [_rows_of(frame, columns) for frame in tables]
    rows = [row for part, _ in parts for row in part]
    cells = {str(i): row for i, row in enumerate(rows) if row is not None}
    is_of_lists = any(is_lists for _, is_lists in parts)
    names = _wide(columns, cells.values())
    return Source(what, names, cells, is_each=True, is_of_lists=is_of_lists)


def _rows_of(frame: Frame, columns: Cells) -> tuple[list[Cells | None], bool]:
    """Writes columns of a table as the cells of each row; tells whether they are lists."""
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


def _names(labels: Labels) -> Cells:
    """Lists the columns of labels, one or several."""
    names = tuple(labels.label_column or ())
    if not names:
        raise ArgumentError("label_column names no column")
    if len(set(names)) < len(names):
        raise ArgumentError(f"label_column names a column twice: {', '.join(names)}")
    return names


def labels_by_id(labels: Labels) -> Source:
    """Takes labels from tables, files or in memory, or from a dict."""
    source, id_column, names = labels.source, labels.id_column or "id", _names(labels)
    frame = _frame_of(source, {id_column, *names})
    if frame is not None:
        return _of_tables([_frame_table(frame, id_column, names)], names)
    if isinstance(source, Mapping):
        return dict_source(source, names)  # pyright: ignore[reportUnknownArgumentType]
    if (index := index_of(source)) is not None:
        what = "the series of labels"
        source = dict_source(by_id(what, index, source), names)
        return replace(source, what=what, is_of_index=True)
    return table_source(_as_paths(source), id_column, names)


def _frame_of(labels: Any, wanted: set[str]) -> Frame | None:
    """Takes a data frame; a dict is one if it has the columns, and else is by id."""
    if isinstance(labels, Mapping) and not wanted.issubset(labels):  # pyright: ignore[reportUnknownArgumentType]
        return None
    return Frame.of(labels)


def _source_of(labels: Labels, records: Records) -> Source:
    """Tells files, one label each, a function, and labels by id apart."""
    source, names = labels.source, _names(labels)
    files = labels_of_files(source, records.paths)
    if files is not None:
        return file_source(files, records, names)
    if callable(source):
        return call_source(source, records, names)
    if _is_one_each(source):
        return each_source(values_of(source), len(records), names)
    try:
        return labels_by_id(labels)
    except LabelError as error:
        if note := _data_note(error.columns, records):
            raise LabelError(f"{error}{note}") from None
        raise


def _data_note(columns: Cells, records: Records) -> str:
    """Says that the first line of a table is data, where it holds the id of a record."""
    ids = records.store.ids(np.arange(len(records))) if columns else []
    data = next((name for name in ids if name in columns), None)
    if data is None:
        return ""
    return (
        f"; {data!r} is the id of a record, so the first line is data: add a line before "
        "it that names the columns"
    )


def _is_one_each(labels: Any) -> bool:
    """Tells labels in the order of the records from tables and from labels by id."""
    if isinstance(labels, (list, tuple)):
        rows: list[Any] = list(labels)  # pyright: ignore[reportUnknownArgumentType]
        return bool(rows) and not isinstance(rows[0], (str, os.PathLike))
    return is_array(labels) and Frame.of(labels) is None and index_of(labels) is None


def _as_paths(labels: Any) -> list[str | os.PathLike[str]]:
    """Takes one path or several; labels alone do not say which sequence they are for."""
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


def each_source(labels: list[Any], n: int, columns: Cells) -> Source:
    """Takes labels in the order of the records."""
    if len(labels) != n:
        raise LabelError(
            f"labels must be one for each of {n:,} sequences, in their order, got "
            f"{len(labels):,}; a dict from id to label may have more or fewer"
        )
    numbered = {str(i): label for i, label in enumerate(labels)}
    source = dict_source(numbered, columns)
    return replace(source, what="the labels", is_each=True)


def file_source(labels: list[Any], records: Records, columns: Cells) -> Source:
    """Gives each record the label of its file."""
    each = np.repeat(np.arange(len(labels)), np.diff(records.starts)).tolist()
    source = each_source([labels[number] for number in each], len(each), columns)
    return replace(source, what="the labels of files", is_of_files=True)


def _frame_table(frame: Frame, id_column: str, columns: Cells) -> LabelTable:
    """Takes labels from a data frame: a column of ids, or the names of its rows."""
    found = frame.ids(id_column)
    wanted = columns if found is not None else (id_column, *columns)
    for name in wanted:
        column_position(frame.what, frame.names, name)
    ids = [id_text(key, f"{frame.what}, row {i}") for i, key in enumerate(found or (), 1)]
    rows, is_of_lists = _rows_of(frame, columns)
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
) -> Source:
    """Reads labels from tables."""
    paths = tables_of("labels", labels)
    return _of_tables([_read_table(path, id_column, columns) for path in paths], columns)


def _read_table(path: str, id_column: str, columns: Cells) -> LabelTable:
    """Reads a table of text, or the columns of one that holds values."""
    with reading_table(path):
        frame = parquet_frame(path, (id_column, *columns))
    if frame is None:
        return read_table(path, id_column, columns)
    return _frame_table(frame, id_column, columns)


def _of_tables(tables: list[LabelTable], columns: Cells) -> Source:
    """Joins tables, in which an id stands with one label."""
    cells: dict[str, Cells] = {}
    for table in tables:
        cells.update(zip(table.ids, table.rows, strict=True))
    if len(cells) < sum(len(table.ids) for table in tables):
        _check_agreement(tables)
    what = ", ".join(table.path for table in tables)
    is_of_lists = any(table.is_of_lists for table in tables)
    names = _wide(columns, cells.values())
    return Source(what, names, cells, tables, is_of_lists=is_of_lists)


def _check_agreement(tables: list[LabelTable]) -> None:
    """Finds an id that occurs twice with two values; the same value twice is no harm."""
    seen: dict[str, tuple[Cells, str, int]] = {}
    for table in tables:
        for name, row, line in zip(table.ids, table.rows, table.lines, strict=True):
            first, path, where = seen.setdefault(name, (row, table.path, line))
            if first != row:
                raise LabelError(
                    f"{table.path}, line {line}: id {name!r} has the label {_quote(row)}, "
                    f"but {path}, line {where} says {_quote(first)}{_exchange_note(tables)}"
                )


def _exchange_note(tables: list[LabelTable]) -> str:
    """Asks whether ids and labels are exchanged, where each label is another name."""
    rows = [row for table in tables for row in table.rows]
    is_number = any(_is_number(cell) for row in rows for cell in row)
    if is_number or len(set(rows)) < len(rows):
        return ""
    return (
        "; all labels differ, so the columns may be exchanged: choose with id_column and "
        "label_column (--id-column, --label-column)"
    )


def _is_number(cell: str) -> bool:
    """Tells a text that is a number."""
    try:
        parse_decimal(cell)
    except ValueError:
        return False
    return True


def _quote(cells: Cells) -> str:
    """Quotes a label."""
    return repr(", ".join(cells))


def by_id(what: str, ids: Iterable[Any], values: Any) -> dict[str, Any]:
    """Joins values to their ids as text; two that differ are of no one id."""
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
    """Writes an id as text; nothing is none."""
    if isinstance(key, str) and key and not key.isspace():
        return key
    text = key_text(key)
    if is_nothing(key) or not text.strip():
        raise LabelError(
            f"{where}: an id is missing ({quote(key)}): give each label an id, or leave it "
            "out"
        )
    return text


def dict_source(labels: Mapping[Any, Any], columns: Cells) -> Source:
    """Takes labels from a dict."""
    named = by_id("the dict of labels", labels, list(labels.values()))
    missing = {name: ("",) for name, value in named.items() if is_nothing(value)}
    cells = {
        name: as_cells(value) for name, value in named.items() if not is_nothing(value)
    }
    names, is_of_lists = _wide(columns, cells.values()), _are_names(named.values())
    return Source(
        "the dict of labels", names, cells, missing=missing, is_of_lists=is_of_lists
    )


def _wide(columns: Cells, rows: Iterable[Cells]) -> Cells:
    """Names the values of labels: as the columns, or by numbers where one holds several."""
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
    """Tells lists of names from single labels: somewhere stand several names, or none."""
    lists = [list(label) for label in labels if isinstance(label, _LISTS)]
    has_names = all(isinstance(name, str) for names in lists for name in names)
    has_some = any(lists)
    return has_names and has_some and any(len(names) != 1 for names in lists)


def call_source(
    label: Callable[[SequenceRecord], Any], records: Records, columns: Cells
) -> Source:
    """Asks a function for the label of each record; None is no label."""
    values = {str(i): label(record) for i, record in enumerate(records.each())}
    found = {key: value for key, value in values.items() if value is not None}
    what = f"the function {getattr(label, '__name__', label)!s}"
    return replace(dict_source(found, columns), what=what, is_each=True)


def header_source(pattern: str | re.Pattern[str], records: Records, names: Cells) -> Source:
    """Takes labels out of the headers of the sequences."""
    found_by = as_pattern("label_from_header", pattern)
    text, search = found_by.pattern, found_by.search
    headers = list(records.headers())
    ids = (decode_header(parse_id(header)) for header in headers)
    found = zip(ids, map(search, map(decode_header, headers)), strict=True)
    cells = {name: (match_text(match, "label"),) for name, match in found if match}
    what, found_in = f"headers searched for '{text}'", partial(_found_in, search, headers)
    return Source(what, names[:1], cells, found=found_in)


def _found_in(
    search: Callable[[str], re.Match[str] | None], headers: Sequence[bytes], record: int
) -> str:
    """Says what a pattern finds in a header, and how a pattern is written."""
    header = decode_header(headers[record])
    match = search(header)
    text = "" if match is None else match_text(match, "label")
    found = "nothing" if match is None else repr(text)
    if not text:
        advice = r"write \| for a bar and \. for a point, and the label in parentheses"
    else:
        advice = 'the label is what stands in parentheses, as in "class=(\\w+)"'
    return f"in the header {header!r} it finds {found}: {advice}"
