"""Reads intervals as columns, from files and from tables in memory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_path, quote
from seqloom.data._frame import Frame, frame_index
from seqloom.data.interval._bed import ALIASES, as_whole_number, read_bed, to_zero_based
from seqloom.data.label._labels import MISSING_TEXTS, is_missing
from seqloom.data.label._table import format_column_names, suggest_name
from seqloom.errors import ArgumentError, FormatError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_STRAND_BY_TEXT = {"+": 1, "-": -1, ".": 0, "": 0, "1": 1, "-1": -1, "0": 0, "*": 0}
STRAND_SIGNS = {1: "+", -1: "-", 0: "."}
# With this limit, start + summit + width + jitter fits into 64 bits.
MAX_POSITION = 1 << 60


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """Intervals of chromosomes, zero-based and half-open."""

    what: str  # name of the table in error messages
    chroms: list[str]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    strands: NDArray[np.int64]  # 1 for plus, -1 for minus, 0 without a strand.
    summits: NDArray[np.int64]  # Offset of each summit; -1 without a summit.
    lines: list[int] = field(default_factory=list[int])  # Line numbers in files.
    # Other columns of the table.
    columns: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    files: list[str] = field(default_factory=list[str])  # File of each interval, if any.
    index: list[Any] | None = None  # The index of a pandas data frame.

    def __len__(self) -> int:
        return len(self.chroms)

    def name(self, row: int) -> str:
        """Return the position of an interval as text."""
        sign = STRAND_SIGNS[int(self.strands[row])]
        return f"{self.chroms[row]}:{self.starts[row]}-{self.stops[row]}({sign})"

    def locate(self, row: int) -> str:
        """Return file and line of an interval, or its row, for messages."""
        if self.lines:
            return f"{self.files[row]}, line {self.lines[row]}"
        return f"{self.what}, row {row}"

    def error(self, row: int, message: str) -> FormatError:
        """Return an error with the file and line, or the row, of an interval."""
        if not self.lines:
            return FormatError(f"{self.locate(row)}: {message}", record=row)
        line, path = self.lines[row], self.files[row]
        return FormatError(f"{self.locate(row)}: {message}", path=path, line=line)


def read_intervals(intervals: Any, *, may_be_empty: bool = False) -> Intervals:
    """Return intervals from one or more files, or from a table, which may be empty."""
    if isinstance(intervals, Intervals):
        return intervals
    if isinstance(intervals, (str, os.PathLike)):
        return _read_file(intervals)
    if isinstance(intervals, (list, tuple)):
        return _join_intervals([_read_file(path) for path in intervals])  # pyright: ignore[reportUnknownVariableType]
    found = _make_intervals("the table of intervals", _read_columns(intervals), [])
    found = replace(found, index=frame_index(intervals))
    return found if may_be_empty and not len(found) else _check_intervals(found)


def _read_file(path: Any) -> Intervals:
    name = str(as_path("each of intervals", path, expected="the path of a BED file"))
    columns, lines = read_bed(name)
    return _check_intervals(_make_intervals(name, columns, lines))


def _join_intervals(parts: list[Intervals]) -> Intervals:
    """Concatenate the intervals of several files, with their common columns."""
    if not parts:
        raise ArgumentError("no file of intervals was given")
    names = [n for n in parts[0].columns if all(n in part.columns for part in parts)]
    return Intervals(
        ", ".join(part.what for part in parts),
        list(chain.from_iterable(part.chroms for part in parts)),
        np.concatenate([part.starts for part in parts]),
        np.concatenate([part.stops for part in parts]),
        np.concatenate([part.strands for part in parts]),
        np.concatenate([part.summits for part in parts]),
        list(chain.from_iterable(part.lines for part in parts)),
        {n: list(chain.from_iterable(part.columns[n] for part in parts)) for n in names},
        list(chain.from_iterable(part.files for part in parts)),
    )


def _read_columns(intervals: Any) -> dict[str, list[Any]]:
    frame = Frame.of(intervals)
    if frame is None:
        raise ArgumentError(
            "intervals must be one or more paths, a dict of columns (with a value for each "
            f"interval) or a data frame, got {quote(intervals)}"
        )
    if double := [name for i, name in enumerate(frame.names) if name in frame.names[:i]]:
        raise FormatError(f"{frame.what}: two columns are named {double[0]!r}")
    return {name: frame.column(name) for name in frame.names}


def _make_intervals(
    what: str, columns: dict[str, list[Any]], lines: list[int]
) -> Intervals:
    """Return intervals from columns; raise if a required column is missing."""
    found = {name: _find_column(what, columns, name) for name in ALIASES}
    missing = [name for name in ("chrom", "start", "stop") if found[name] is None]
    if missing:
        raise FormatError(
            f"{what}: no column {missing[0]!r}; found {format_column_names(columns)}"
            f"{suggest_name(missing[0], columns)}"
        )
    sizes = {len(column) for column in columns.values()}
    if len(sizes) > 1:
        raise FormatError(f"{what}: columns must have equal lengths, got {sorted(sizes)}")
    columns = to_zero_based(what, columns, found)
    found["summit"] = _find_column(what, columns, "summit")
    none = [-1] * sizes.pop()
    reader = _CellReader(what, columns, lines)
    strand, summit = found["strand"], found["summit"]
    return Intervals(
        what,
        [_name_text(name) for name in columns[str(found["chrom"])]],
        reader.whole_numbers(str(found["start"])),
        reader.whole_numbers(str(found["stop"])),
        reader.strands(strand) if strand else np.zeros(len(none), np.int64),
        reader.summits(summit) if summit else np.array(none, np.int64),
        lines,
        {name: rows for name, rows in columns.items() if name not in found.values()},
        [what] * len(lines),
    )


def _find_column(what: str, columns: dict[str, list[Any]], wanted: str) -> str | None:
    """Return the name of the column for ``wanted``; None if the table lacks it."""
    by_name: dict[str, list[str]] = {}
    for name in columns:
        by_name.setdefault(name.strip().lstrip("#").lower(), []).append(name)
    none: list[str] = []
    found = next((by_name[name] for name in ALIASES[wanted] if name in by_name), none)
    if len(found) > 1:
        raise FormatError(
            f"{what}: {' and '.join(map(repr, found))} may both be the column {wanted!r}: "
            "rename one"
        )
    return found[0] if found else None


@dataclass(frozen=True, slots=True)
class _CellReader:
    """Converts columns of text; errors report the line of an invalid cell."""

    what: str
    columns: dict[str, list[Any]]
    lines: list[int]

    def whole_numbers(self, name: str) -> NDArray[np.int64]:
        """Return a column of integers."""
        cells = self.columns[name]
        try:
            numbers = np.array([as_whole_number(cell) for cell in cells], np.int64)
        except (ValueError, OverflowError, TypeError):
            row = next(i for i, cell in enumerate(cells) if not _is_whole_number(cell))
            raise self._error_at(row, f"{name} must be an integer", cells[row]) from None
        is_out_of_range = (numbers > MAX_POSITION) | (numbers < -MAX_POSITION)
        if is_out_of_range.any():
            row = int(is_out_of_range.argmax())
            expected = (
                f"{name} must be a position from {-MAX_POSITION:,} to {MAX_POSITION:,}"
            )
            raise self._error_at(row, expected, cells[row])
        return numbers

    def summits(self, name: str) -> NDArray[np.int64]:
        """Return a column of summits; -1 for a missing summit."""
        cells = [-1 if _is_missing(cell) else cell for cell in self.columns[name]]
        return replace(self, columns={name: cells}).whole_numbers(name)

    def strands(self, name: str) -> NDArray[np.int64]:
        """Return a column of strands; 0 for a missing strand."""
        cells = [_strand_text(cell) for cell in self.columns[name]]
        try:
            return np.array([_STRAND_BY_TEXT[cell] for cell in cells], np.int64)
        except KeyError:
            row = next(i for i, cell in enumerate(cells) if cell not in _STRAND_BY_TEXT)
            raise self._error_at(row, "strand must be +, - or .", cells[row]) from None

    def _error_at(self, row: int, expected: str, found: Any) -> FormatError:
        """Return an error with the line of an invalid cell."""
        if not self.lines:
            return FormatError(f"{self.what}, row {row}: {expected}, found {found!r}")
        line = self.lines[row]
        message = f"{self.what}, line {line}: {expected}, found {found!r}"
        return FormatError(message, path=self.what, line=line)


def _name_text(name: Any) -> str:
    return (
        name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)
    )


def _is_missing(cell: Any) -> bool:
    """Return whether a cell is missing: None, NaN, empty or "."."""
    return is_missing(cell) or (isinstance(cell, str) and cell.strip() in MISSING_TEXTS)


def _strand_text(cell: Any) -> str:
    """Return a strand as text; pandas reads 1 as 1.0 if other strands are missing."""
    if _is_missing(cell):
        return "."
    is_whole = isinstance(cell, float) and cell.is_integer()
    return str(int(cell)) if is_whole else _name_text(cell).strip()


def _is_whole_number(cell: Any) -> bool:
    try:
        return abs(as_whole_number(cell)) < 1 << 63
    except (ValueError, OverflowError, TypeError):
        return False


def _check_intervals(intervals: Intervals) -> Intervals:
    """Raise for an empty table or interval; chromosome ends are checked later."""
    if not len(intervals):
        raise FormatError(f"{intervals.what}: expected intervals, found none")
    wrong = np.flatnonzero(intervals.stops <= intervals.starts)
    if wrong.size:
        row = int(wrong[0])
        is_point = (intervals.starts[wrong] == intervals.stops[wrong]).all()
        hint = "; if positions count from 1, as in GFF, subtract 1 from each start"
        raise intervals.error(
            row,
            f"expected 0 <= start < stop, found start {intervals.starts[row]} and stop "
            f"{intervals.stops[row]}{hint if is_point else ''}",
        )
    return intervals
