"""Individuals of a .fam, and tables with their phenotypes or covariates."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom.data._frame import Frame, frame_index, is_array, to_values
from seqloom.data._paths import expand_table_paths
from seqloom.data.label._labels import Cells, to_cells
from seqloom.data.label._source import id_to_text
from seqloom.data.label._table import (
    LabelTable,
    add_table_to_errors,
    column_position,
    error_at,
    make_csv_reader,
    open_text,
    read_first_row,
)
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from _csv import Reader
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.errors import FormatError

    Key = tuple[str, str] | str

_FID, _IID = "FID", "IID"
_MAX_SHOWN_CHARACTERS = 60
_Array: Any = np.ndarray


@dataclass(frozen=True, eq=False)
class People:
    """The individuals of a .fam."""

    path: str
    fids: NDArray[Any]
    iids: NDArray[Any]
    phenotypes: NDArray[Any] | None = field(default=None)

    def __len__(self) -> int:
        return len(self.iids)

    @cached_property
    def names(self) -> list[str]:
        """The IIDs, or FID:IID if IIDs are not unique."""
        iids: list[str] = self.iids.tolist()
        if self._is_unique:
            return iids
        pairs = zip(self.fids.tolist(), iids, strict=True)
        return [f"{fid}:{iid}" for fid, iid in pairs]

    @cached_property
    def _is_unique(self) -> bool:
        return len(set(self.iids.tolist())) == len(self.iids)

    @cached_property
    def _row_by_pair(self) -> dict[Key, int]:
        """Row of each (FID, IID)."""
        return self._number_keys(
            list(zip(self.fids.tolist(), self.iids.tolist(), strict=True))
        )

    def _number_keys(self, keys: Sequence[Key]) -> dict[Key, int]:
        """Return the row of each key; raise if a key occurs twice."""
        numbers = {key: number for number, key in enumerate(keys)}
        if len(numbers) == len(keys):
            return numbers
        first: dict[Key, int] = {}
        double = next(key for at, key in enumerate(keys) if first.setdefault(key, at) != at)
        is_pair = isinstance(double, tuple)
        shown = " ".join(double) if is_pair else double
        advice = "" if is_pair else "; use a table with FID and IID"
        raise LabelError(
            f"{self.path}: the id {shown!r} occurs twice, so rows of a table cannot be "
            f"assigned by it{advice}"
        )

    def check_unique(self) -> None:
        """Raise if two individuals have the same FID and IID."""
        if not self._is_unique:
            _ = self._row_by_pair

    def find(self, keys: Sequence[Key]) -> list[int | None]:
        """Return the row of each (FID, IID), or IID; None for unknown ids."""
        if not keys:
            return []
        is_pair = isinstance(keys[0], tuple)
        rows = self._row_by_pair if is_pair else self._number_keys(self.iids.tolist())
        return [rows.get(key) for key in keys]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read from a table."""

    id_column: str | None = None  # None reads FID and IID, or only IID.
    wanted: Cells | None = None  # None reads all columns except the ids.
    what: str = "phenotype"  # Column name if there is no header.


@dataclass(frozen=True, slots=True)
class PersonTable:
    """A table of values as text, with one row per individual."""

    path: str
    names: Cells
    keys: list[Key]  # (FID, IID) or IID of each row
    rows: list[Cells]
    lines: list[int]  # line number of each row, from 1


def read_person_table(path: str, columns: Columns, people: People) -> PersonTable:
    """Read a table of values: TSV, CSV or white space, plain or gzip."""
    # The first line is a header if it contains FID, IID or the name of a wanted column.
    # Without a header, the first cells must be the ids of an individual, as in PLINK
    # files.
    with add_table_to_errors(path), open_text(path) as file:
        wanted = (columns.id_column or _IID,)
        has_one_word_ids = columns.id_column is None
        reader = make_csv_reader(path, file, wanted, has_one_word_ids=has_one_word_ids)
        try:
            return _read_rows(path, reader, columns, people=people)
        except csv.Error as error:
            fault: FormatError = error_at(path, reader.line_num, str(error))
            raise fault from error


def frame_table(frame: Frame, columns: Columns) -> PersonTable:
    """Return a table from a data frame; the ids are FID and IID, IID, or the index."""
    names, index = frame.names, frame.ids(columns.id_column or "id")
    has_column = {_FID, _IID, columns.id_column} & {*names, *map(str.upper, names)}
    if index is None or has_column:
        ids, values = _find_columns(frame.what, names, columns)
        parts = [_id_column(frame, names[at]) for at in ids]
        keys = [_ids_to_key(list(row)) for row in zip(*parts, strict=True)]
    else:
        keys = [to_key(key, frame.what) for key in index]
        wanted = columns.wanted or names
        values = [column_position(frame.what, names, name) for name in wanted]
    cells = [map(_cell_text, frame.column(names[at])) for at in values]
    rows = list(zip(*cells, strict=True))
    lines = list(range(1, len(rows) + 1))
    return PersonTable(frame.what, tuple(names[at] for at in values), keys, rows, lines)


def to_key(key: Any, what: str) -> Key:
    """Return the key of an individual from an IID, or a tuple of FID and IID."""
    parts: tuple[Any, ...] = key if isinstance(key, tuple) else (key,)  # pyright: ignore[reportUnknownVariableType]
    return _ids_to_key([id_to_text(part, what).strip() for part in parts])


def _id_column(frame: Frame, column: str) -> list[str]:
    cells = enumerate(frame.column(column), 1)
    return [id_to_text(cell, f"{frame.what}, row {row}").strip() for row, cell in cells]


def _cell_text(value: Any) -> str:
    """Return a cell of a data frame as text; raise unless it is one value."""
    cells = to_cells([value])[0]
    if len(cells) != 1:
        raise LabelError(f"a cell has {quote(value)}: expected one value")
    return cells[0]


def _read_rows(
    path: str, reader: Reader, columns: Columns, *, people: People
) -> PersonTable:
    """Read the ids and the wanted columns of a table."""
    first = [cell.strip() for cell in read_first_row(path, reader)]
    names = [first[0].lstrip("#").strip(), *first[1:]]
    named_ids = {name.upper() for name in names} & {_FID, _IID}
    is_asked = columns.id_column is not None or set(names) & set(columns.wanted or ())
    if named_ids or is_asked:
        ids, values = _find_columns(path, names, columns)
        table = PersonTable(path, tuple(names[at] for at in values), [], [], [])
    else:
        ids, values = _headerless_columns(path, first, columns, people=people)
        named = default_column_names(columns.what, len(values))
        chosen = [column_position(path, [*named], name) for name in columns.wanted or named]
        values = [values[at] for at in chosen]
        table = PersonTable(path, tuple(named[at] for at in chosen), [], [], [])
        _append_row(table, first, (ids, values), line=reader.line_num)
    for row in reader:
        if not any(map(str.strip, row)):
            continue  # a line that is empty or contains only separators
        if len(row) == len(first):
            _append_row(table, row, (ids, values), line=reader.line_num)
        else:
            message = f"expected {len(first)} cells, found {len(row)}"
            raise error_at(path, reader.line_num, message)
    return table


def _append_row(
    table: PersonTable, row: list[str], positions: tuple[list[int], list[int]], *, line: int
) -> None:
    """Append the ids and the wanted cells of a line to the table."""
    ids, values = positions
    key = [row[at].strip() for at in ids]
    if "" in key:
        raise error_at(table.path, line, "expected an id, found an empty cell")
    table.keys.append(_ids_to_key(key))
    table.rows.append(tuple(row[at].strip() for at in values))
    table.lines.append(line)


def format_key(key: Key) -> str:
    """Return the key of an individual as text."""
    return key if isinstance(key, str) else ":".join(key)


def _ids_to_key(ids: list[str]) -> Key:
    return (ids[0], ids[1]) if len(ids) > 1 else ids[0]


def _find_columns(
    path: str, names: list[str], columns: Columns
) -> tuple[list[int], list[int]]:
    upper = [name.upper() for name in names]
    if columns.id_column is not None:
        ids = [column_position(path, names, columns.id_column)]
    else:
        ids = [upper.index(name) for name in (_FID, _IID) if name in upper]
        if _IID not in upper:
            raise LabelError(
                f"{path}: the first line has no column IID; choose with id_column "
                "(--id-column)"
            )
    if columns.wanted is not None:
        return ids, [column_position(path, names, name) for name in columns.wanted]
    is_id = {*ids, *(at for at, name in enumerate(upper) if name in {_FID, _IID})}
    values = [at for at in range(len(names)) if at not in is_id]
    if not values:
        raise LabelError(f"{path}: expected a column of values, found only ids")
    return ids, values


def _headerless_columns(
    path: str, first: list[str], columns: Columns, *, people: People
) -> tuple[list[int], list[int]]:
    """Return the columns of ids and of values of a table without a header."""
    for ids in ([0, 1], [0]):
        is_wide = len(first) > len(ids)
        if is_wide and people.find([_ids_to_key([first[at] for at in ids])])[0] is not None:
            return ids, list(range(len(ids), len(first)))
    shown = " ".join(first[:2])[:_MAX_SHOWN_CHARACTERS]
    raise LabelError(
        f"{path}: the first line has no column IID, and {shown!r} is not an individual of "
        f"{people.path}: expected a header with IID, or lines FID IID {columns.what}"
    )


@dataclass(frozen=True, slots=True)
class PersonValues:
    """Phenotypes or covariates of individuals, as text."""

    what: str  # name of the source in error messages
    names: Cells
    cells: dict[int, Cells]  # (row in the .fam) -> cells of the table
    unmatched: Cells  # Ids that are not in the .fam.
    tables: list[LabelTable]  # Tables, for line numbers in errors.


def join_people(values: Any, people: People, columns: Columns) -> PersonValues:
    """Join tables, dicts or arrays of values to individuals."""
    tables = _make_tables(values, people, columns)
    names = tables[0].names
    cells: dict[int, Cells] = {}
    lines: dict[int, str] = {}
    unmatched: list[str] = []
    for table in tables:
        if table.names != names:
            raise LabelError(
                f"{table.path}: expected the columns {', '.join(names)} as in "
                f"{tables[0].path}, found {', '.join(table.names)}"
            )
        rows = zip(
            people.find(table.keys), table.keys, table.rows, table.lines, strict=True
        )
        for person, key, row, line in rows:
            if person is None:
                unmatched.append(format_key(key))
                continue
            where = f"{table.path}, line {line}"
            if cells.setdefault(person, row) != row:
                raise LabelError(
                    f"{where}: id {people.names[person]!r} has {', '.join(row)!r}, but "
                    f"{lines[person]} differs"
                )
            lines.setdefault(person, where)
    what = ", ".join(table.path for table in tables)
    shown = [_to_label_table(table, people) for table in tables]
    return PersonValues(what, names, cells, tuple(dict.fromkeys(unmatched)), shown)


def _make_tables(values: Any, people: People, columns: Columns) -> list[PersonTable]:
    """Return tables from files, a data frame, a dict, a series or an array."""
    if isinstance(values, Mapping):
        by_key: dict[Any, Any] = dict(values)  # pyright: ignore[reportUnknownArgumentType]
        what = f"the dict of {columns.what}s"
        return [_rows_to_table(what, list(by_key), list(by_key.values()), columns=columns)]
    frame = Frame.of(values)
    if frame is not None:
        return [frame_table(frame, columns)]
    if (index := frame_index(values)) is not None:
        what = f"the series of {columns.what}s"
        return [_rows_to_table(what, index, to_values(values), columns=columns)]
    is_each = _are_in_fam_order(values, people)
    return (
        [_table_from_array(values, people, columns)]
        if is_each
        else _read_tables(values, people, columns)
    )


def _read_tables(values: Any, people: People, columns: Columns) -> list[PersonTable]:
    is_many = isinstance(values, Iterable) and not isinstance(values, (str, os.PathLike))
    paths: list[Any] = list(cast("Iterable[Any]", values)) if is_many else [values]
    if strange := [path for path in paths if not isinstance(path, (str, os.PathLike))]:
        raise ArgumentError(
            f"{columns.what}s must be paths of tables, a data frame, a dict from IID "
            f"to value, or an array in the order of the .fam; got {strange[0]!r}"
        )
    names = expand_table_paths(f"{columns.what}s", paths)
    return [read_person_table(path, columns, people) for path in names]


def _are_in_fam_order(values: Any, people: People) -> bool:
    """Return whether the argument has values in the order of the .fam, not paths."""
    if isinstance(values, (list, tuple)):
        rows: list[Any] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        return bool(rows) and not isinstance(rows[0], (str, os.PathLike))
    is_text = isinstance(values, _Array) and values.dtype.kind in "UT"
    return is_array(values) and not (is_text and len(values) != len(people))


def _rows_to_table(
    what: str, ids: list[Any], values: list[Any], *, columns: Columns
) -> PersonTable:
    """Return a table from a list of ids and a list of values; ids may repeat."""
    rows = to_cells(values)
    widths = {len(row) for row in rows if row != ("",)}
    if len(widths) != 1:
        raise LabelError(f"{what} must have the same number of values for each id")
    return _make_table(what, [to_key(key, what) for key in ids], rows, columns=columns)


def _table_from_array(values: Any, people: People, columns: Columns) -> PersonTable:
    """Return a table from an array with one row for each individual."""
    rows = to_cells(to_values(values))
    widths = {len(row) for row in rows if row != ("",)}
    if len(rows) != len(people) or len(widths) > 1:
        shape = getattr(values, "shape", (len(rows),))
        raise ArgumentError(
            f"an array of {columns.what}s must have a row for each of the {len(people):,} "
            f"individuals of {people.path}, got shape {tuple(shape)}"
        )
    keys: list[Key] = list(zip(people.fids.tolist(), people.iids.tolist(), strict=True))
    return _make_table(f"the array of {columns.what}s", keys, rows, columns=columns)


def _make_table(
    what: str, keys: list[Key], rows: list[Cells], *, columns: Columns
) -> PersonTable:
    """Return a table from ids and rows; a missing row becomes a row of empty cells."""
    width = max((len(row) for row in rows), default=1)
    rows = [row if len(row) == width else ("",) * width for row in rows]
    names = columns.wanted
    if names is None or len(names) != width:
        names = default_column_names(columns.what, width)
    return PersonTable(what, names, keys, rows, list(range(1, len(rows) + 1)))


def default_column_names(what: str, count: int) -> Cells:
    """Return column names for a table without a header."""
    return (what,) if count == 1 else tuple(f"{what}{at}" for at in range(1, count + 1))


def _to_label_table(table: PersonTable, people: People) -> LabelTable:
    rows = people.find(table.keys)
    ids = [
        format_key(key) if person is None else people.names[person]
        for key, person in zip(table.keys, rows, strict=True)
    ]
    return LabelTable(table.path, ids, table.rows, table.lines)
