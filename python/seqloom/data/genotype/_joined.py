"""Rows of tables, dicts and arrays, given to the individuals they are of."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.data._frame import Frame, index_of, is_array, values_of
from seqloom.data._paths import tables_of
from seqloom.data.genotype._people import (
    Columns,
    PersonTable,
    format_key,
    frame_table,
    key_of,
    read_person_table,
)
from seqloom.data.label._cells import Cells, cells_of
from seqloom.data.label._table import LabelTable
from seqloom.errors import ArgumentError, LabelError

if TYPE_CHECKING:
    from seqloom.data.genotype._people import Key, People


_Array: Any = np.ndarray


@dataclass(frozen=True, slots=True)
class PersonValues:
    """Values as text, by individual."""

    what: str  # name of the source in errors
    names: Cells
    cells: dict[int, Cells]  # by position of the individual
    unmatched: Cells  # ids of rows without an individual
    tables: list[LabelTable]  # to name lines in errors


def join_people(values: Any, people: People, columns: Columns) -> PersonValues:
    """Finds the row of each individual."""
    tables = _tables(values, people, columns)
    names = tables[0].names
    cells: dict[int, Cells] = {}
    lines: dict[int, str] = {}
    left: list[str] = []
    for table in tables:
        _check_names(table, names, tables[0].path)
        rows = zip(
            people.find(table.keys), table.keys, table.rows, table.lines, strict=True
        )
        for person, key, row, line in rows:
            if person is None:
                left.append(format_key(key))
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
    return PersonValues(what, names, cells, tuple(dict.fromkeys(left)), shown)


def _tables(values: Any, people: People, columns: Columns) -> list[PersonTable]:
    """Tells tables, data frames, dicts and arrays apart."""
    if isinstance(values, Mapping):
        by_key: dict[Any, Any] = dict(values)  # pyright: ignore[reportUnknownArgumentType]
        what = f"the dict of {columns.what}s"
        return [_of_rows(what, list(by_key), list(by_key.values()), columns=columns)]
    frame = Frame.of(values)
    if frame is not None:
        return [frame_table(frame, columns)]
    if (index := index_of(values)) is not None:
        what = f"the series of {columns.what}s"
        return [_of_rows(what, index, values_of(values), columns=columns)]
    is_each = _is_one_each(values, people)
    return (
        [_of_array(values, people, columns)] if is_each else _files(values, people, columns)
    )


def _files(values: Any, people: People, columns: Columns) -> list[PersonTable]:
    """Reads one table or several."""
    is_many = isinstance(values, Iterable) and not isinstance(values, (str, os.PathLike))
    paths: list[Any] = list(cast("Iterable[Any]", values)) if is_many else [values]
    if strange := [path for path in paths if not isinstance(path, (str, os.PathLike))]:
        raise ArgumentError(
            f"{columns.what} must be a table's path, several of them, a data frame, a dict "
            "from IID to value, or an array in the order of the .fam; got "
            f"{strange[0]!r}"
        )
    found = tables_of(f"{columns.what}s", paths)
    return [read_person_table(path, columns, people) for path in found]


def _is_one_each(values: Any, people: People) -> bool:
    """Tells an array or a list of values from one of paths, which few are."""
    if isinstance(values, (list, tuple)):
        rows: list[Any] = list(values)  # pyright: ignore[reportUnknownArgumentType]
        return bool(rows) and not isinstance(rows[0], (str, os.PathLike))
    is_text = isinstance(values, _Array) and values.dtype.kind in "UT"
    return is_array(values) and not (is_text and len(values) != len(people))


def _of_rows(
    what: str, ids: list[Any], values: list[Any], *, columns: Columns
) -> PersonTable:
    """Takes values by IID, or by (FID, IID); an id may stand twice, as in a table."""
    rows = cells_of(values)
    widths = {len(row) for row in rows if row != ("",)}
    if len(widths) != 1:
        raise LabelError(f"{what} must have as many values for each")
    width = widths.pop()
    rows = [row if len(row) == width else ("",) * width for row in rows]
    lines = list(range(1, len(rows) + 1))
    keys = [key_of(key, what) for key in ids]
    return PersonTable(what, _names(columns, width), keys, rows, lines)


def _of_array(values: Any, people: People, columns: Columns) -> PersonTable:
    """Takes values from an array whose rows are the individuals."""
    rows = cells_of(values_of(values))
    widths = {len(row) for row in rows if row != ("",)} or {1}
    if len(rows) != len(people) or len(widths) > 1:
        shape = getattr(values, "shape", (len(rows),))
        raise ArgumentError(
            f"an array of {columns.what}s must have a row for each of the {len(people):,} "
            f"individuals of {people.path}, got shape {tuple(shape)}"
        )
    width = widths.pop()
    rows = [row if len(row) == width else ("",) * width for row in rows]
    keys: list[Key] = list(zip(people.fids.tolist(), people.iids.tolist(), strict=True))
    lines = list(range(1, len(rows) + 1))
    what = f"the array of {columns.what}s"
    return PersonTable(what, _names(columns, width), keys, rows, lines)


def _names(columns: Columns, width: int) -> Cells:
    """Names values that come without a header."""
    if columns.wanted is not None and len(columns.wanted) == width:
        return columns.wanted
    what = columns.what
    return (what,) if width == 1 else tuple(f"{what}{at}" for at in range(1, width + 1))


def _check_names(table: PersonTable, names: Cells, first: str) -> None:
    """Refuses tables of other values than the first one has."""
    if table.names != names:
        raise LabelError(
            f"{table.path}: expected the columns {', '.join(names)} as in {first}, found "
            f"{', '.join(table.names)}"
        )


def _to_label_table(table: PersonTable, people: People) -> LabelTable:
    """Shows a table by the ids of the individuals."""
    found = people.find(table.keys)
    ids = [
        format_key(key) if person is None else people.names[person]
        for key, person in zip(table.keys, found, strict=True)
    ]
    return LabelTable(table.path, ids, table.rows, table.lines)
