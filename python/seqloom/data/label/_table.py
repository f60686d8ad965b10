"""Read tables (TSV, CSV, columns separated by white space, and Parquet)."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import re
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO, TypeAlias

from seqloom._arguments import quote
from seqloom._files import GZIP_MAGIC, reading
from seqloom._rust import _native
from seqloom.data._frame import Frame
from seqloom.errors import ArgumentError, FormatError, LabelError, MissingExtraError

if TYPE_CHECKING:
    from _csv import Reader
    from collections.abc import Generator

_PARQUET_MAGIC = b"PAR1"
_COLUMN_OPTIONS = "id_column and label_column of Labels (--id-column, --label-column)"
_TWO_COLUMNS = "a column of ids, and a column of labels or sequences"
_MAX_COLUMN_NAMES = 80
_MIN_SIMILARITY = 0.7
_MIN_NAME_PART = 3

_MAX_CELL_CHARACTERS = (1 << 31) - 1
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_TWO_UTF16_CHARACTERS = 4  # size in bytes
Purpose: TypeAlias = Literal["table", "intervals"]
_EXPECTED_TEXTS = {"table": "a table of text", "intervals": "intervals as text (BED)"}
_SAVE_AS_UTF8 = (
    'is UTF-16, such as "Unicode Text" of Excel; expected UTF-8: save it as "CSV '
    'UTF-8", or convert it with iconv -f UTF-16 -t UTF-8 FILE > NEW.tsv'
)


@dataclass(frozen=True, slots=True)
class LabelTable:
    """Ids and requested cells of the rows of a table."""

    path: str
    ids: list[str]
    rows: list[tuple[str, ...]]  # The wanted cells of each row.
    lines: list[int]  # Line number of each row, from 1.
    is_of_lists: bool = False  # If True, labels are lists of names.


def read_table(path: str, id_column: str, columns: tuple[str, ...]) -> LabelTable:
    """Read some columns of a table with a header line."""
    with add_table_to_errors(path), open_text(path) as file:
        table = _parse_table(path, file, (id_column, *columns))
    if "" in table.ids:
        line = table.lines[table.ids.index("")]
        raise error_at(path, line, f"the cell of {id_column!r} is empty, expected an id")
    return table


def read_frame(path: str, wanted: Iterable[str] = ()) -> Frame:
    """Read all columns of a table with a header line, as text."""
    with add_table_to_errors(path):
        frame = parquet_frame(path)
        if frame is not None:
            return frame
        with open_text(path) as file:
            return _read_columns(path, file, wanted)


def _read_columns(path: str, file: TextIO, wanted: Iterable[str]) -> Frame:
    names = header_of(path, file, wanted)
    file.seek(0)
    # Two columns with the same name raise an error only if that name is requested.
    unique = [name for name in names if name and names.count(name) == 1] or [names[0]]
    table = _parse_table(path, file, (unique[0], *unique[1:]))
    columns = dict(zip(unique[1:], zip(*table.rows, strict=True), strict=False))
    cells = {name: list(columns.get(name, ())) for name in unique[1:]}
    return Frame(path, names, {unique[0]: table.ids, **cells})


def header_of(path: str, file: TextIO, wanted: Iterable[str]) -> list[str]:
    """Return the names of the columns."""
    reader = make_csv_reader(path, file, wanted)
    try:
        return _clean_names(read_first_row(path, reader))
    except csv.Error as error:
        raise error_at(path, reader.line_num, str(error)) from error


def read_first_row(path: str, reader: Reader) -> list[str]:
    """Return the first line that is not empty."""
    row = next(filter(any, reader), None)
    if row is None:
        reason = f"{path}: expected a table of labels, found empty cells only"
        raise FormatError(reason, path=path)
    return row


def _clean_names(cells: list[str]) -> list[str]:
    """Return column names without surrounding blanks and without a leading #."""
    names = [name.strip() for name in cells]
    names[0] = names[0].lstrip("#").strip()
    return names


@contextmanager
def add_table_to_errors(path: str) -> Generator[None]:
    """Add the path of a table to errors while the table is read."""
    with reading(path):
        try:
            yield
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise FormatError(
                f"{path}: the gzip stream is truncated or corrupt ({error}); "
                "fetch or copy it again",
                path=path,
            ) from error


@contextmanager
def open_text(path: str, purpose: Purpose = "table") -> Generator[TextIO]:
    """Open plain or compressed text; raise for another file type, such as VCF."""
    # Bytes that are not UTF-8 are read as escapes such as \xff.
    with Path(path).open("rb") as file:
        packed = file.peek(2).startswith(GZIP_MAGIC)
        raw = gzip.GzipFile(fileobj=file) if packed else file
        start = raw.peek(_TWO_UTF16_CHARACTERS)
        if kind := _native.foreign_content(start, purpose):
            reason = f"{path}: expected {_EXPECTED_TEXTS[purpose]}, found {kind}"
            raise FormatError(reason, path=path)
        if is_utf16(start):
            raise FormatError(f"{path}: {_SAVE_AS_UTF8}", path=path)
        yield io.TextIOWrapper(raw, "utf-8-sig", "backslashreplace", newline="")


def is_utf16(begin: bytes) -> bool:
    """Return whether text is UTF-16, by its byte order mark or its zero bytes."""
    high, low = begin[0:_TWO_UTF16_CHARACTERS:2], begin[1:_TWO_UTF16_CHARACTERS:2]
    is_marked = begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return is_marked or (b"\0\0" in {high, low} and any(begin[:_TWO_UTF16_CHARACTERS]))


def _parse_table(path: str, file: TextIO, columns: tuple[str, ...]) -> LabelTable:
    """Read the wanted columns; errors report the line."""
    reader = make_csv_reader(path, file, columns)
    # A sequence may exceed the csv module's default limit of 128 KiB for a cell.
    before = csv.field_size_limit(_MAX_CELL_CHARACTERS)
    try:
        return _read_cells(path, reader, columns)
    except csv.Error as error:
        raise error_at(path, reader.line_num, str(error)) from error
    finally:
        csv.field_size_limit(before)


def make_csv_reader(
    path: str, file: TextIO, wanted: Iterable[str] = (), *, has_one_word_ids: bool = False
) -> Reader:
    """Return a reader for cells separated by tabs, commas, semicolons or white space."""
    # Excel may write the separator on a separate first line: sep=;
    begin = file.readline()
    declared = _SEPARATOR_LINE.fullmatch(begin)
    text = file if declared else itertools.chain([begin], file)
    # Comment lines may precede the header line.
    before, (first, *rest) = _first_lines(text, set(wanted))
    if not first.strip() or "\0" in first:
        found = "binary data" if first.strip() else "nothing"
        raise FormatError(f"{path}: expected a table of labels, found {found}", path=path)
    before += declared is not None
    lines = itertools.chain(itertools.repeat("\n", before), [first, *rest], text)
    separator = declared[1] if declared else _find_mark(first)
    if separator == "\t" and _mixes_blanks(
        first, wanted, has_one_word_ids=has_one_word_ids
    ):
        separator = None
    if separator:
        # The csv module rejects blanks between a closing quote and the separator.
        blanks = re.compile(f'" +(?={re.escape(separator)}|\r?\n|$)')
        lines = (blanks.sub('"', line) if '" ' in line else line for line in lines)
        return csv.reader(lines, delimiter=separator, skipinitialspace=True, strict=True)
    # Keep line ends, because cells in quotation marks may contain them.
    words = (" ".join(line.split()) + "\n" for line in lines)
    return csv.reader(words, delimiter=" ", strict=True)


def _find_mark(line: str) -> str | None:
    return next((mark for mark in "\t,;" if mark in line), None)


def _mixes_blanks(line: str, wanted: Iterable[str], *, has_one_word_ids: bool) -> bool:
    """Return whether a line is separated by both tabs and blanks."""
    names = {name.casefold() for name in wanted}
    cells = {cell.strip('"# \r\n').casefold() for cell in line.split("\t")}
    words = {word.strip('"#').casefold() for word in line.split()}
    id_ = line.partition("\t")[0].lstrip("# ").rstrip()
    is_id_cut = has_one_word_ids and len(id_.split()) > 1
    return is_id_cut or (bool(names) and names <= words and not names <= cells)


def _first_lines(file: Iterable[str], wanted: set[str]) -> tuple[int, list[str]]:
    """Return the number of lines before the header, and all lines from the header on."""
    lines: list[str] = []
    for line in file:
        lines.append(line)
        # "# " may begin a comment or the header line.
        is_comment = line.startswith(("# ", "#\t")) or line.rstrip() == "#"
        if line.strip() and not is_comment:
            break
    # Split the lines into cells, without quotation marks.
    rows = [
        {cell.strip('"# \r\n') for cell in line.split(_find_mark(line))} for line in lines
    ]
    naming = [at for at, names in enumerate(rows) if wanted and wanted <= names]
    filled = [at for at, line in enumerate(lines) if line.strip()]
    before = naming[-1] if naming else (filled or [0])[0]
    return before, lines[before:] or [""]


def _read_cells(path: str, reader: Reader, columns: tuple[str, ...]) -> LabelTable:
    names = _clean_names(read_first_row(path, reader))
    key, *wanted = [column_position(path, names, name) for name in columns]
    table = LabelTable(path, [], [], [])
    for row in reader:
        if not any(map(str.strip, row)):
            continue  # a line that is empty or contains only separators
        if len(row) == len(names):
            table.ids.append(row[key].strip())
            table.rows.append(tuple([row[i].strip() for i in wanted]))
            table.lines.append(reader.line_num)
        else:
            message = f"expected {len(names)} cells, found {len(row)}"
            raise error_at(path, reader.line_num, message)
    return table


def error_at(path: str, line: int, message: str) -> FormatError:
    """Return an error with a path and a line number."""
    return FormatError(f"{path}, line {line}: {message}", path=path, line=line)


def is_parquet(path: str) -> bool:
    """Return whether a file is Parquet, by its first bytes."""
    with Path(path).open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def parquet_frame(path: str, columns: tuple[str, ...] | None = None) -> Frame | None:
    """Read columns (by default all) of a Parquet file; None if it is not Parquet."""
    if not is_parquet(path):
        return None
    table = _read_parquet_table(path, columns)
    return Frame(path, list(table.column_names), table)


def _read_parquet_table(path: str, columns: tuple[str, ...] | None) -> Any:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError(
            f"{path}: Parquet needs pyarrow: pip install pyarrow"
        ) from error
    # pyarrow has no type annotations.
    read: Any = parquet.ParquetFile
    try:
        with read(path) as file:
            names: list[str] = list(file.schema_arrow.names)
            columns = tuple(names) if columns is None else columns
            wanted = [names[column_position(path, names, name)] for name in columns]
            return file.read(columns=list(dict.fromkeys(wanted))).select(wanted)
    except pa.ArrowInvalid as error:
        raise FormatError(
            f"{path}: not a complete Parquet file: {error}", path=path
        ) from error


def check_column(option: str, name: Any) -> None:
    """Raise if a value is not the name of a column."""
    if not isinstance(name, str):
        raise ArgumentError(f"{option} must be the name of a column, got {quote(name)}")


def column_names(option: str, names: Any) -> tuple[str, ...] | None:
    """Return one or more column names as a tuple; None without names."""
    if names is None:
        return None
    is_one = isinstance(names, (str, bytes)) or not isinstance(names, Iterable)
    several: Any = (names,) if is_one else tuple(names)  # pyright: ignore[reportUnknownArgumentType]
    for name in several:
        check_column(option, name)
    return several


def column_position(
    path: str, names: list[str], name: str, *, hint: str = _COLUMN_OPTIONS
) -> int:
    """Return the index of a column; raise if its name is missing or not unique."""
    if names.count(name) > 1:
        raise LabelError(f"{path}: {names.count(name)} columns are named {name!r}")
    if name in names:
        return names.index(name)
    remedy = f"choose with {hint}" if len(names) > 1 else f"a table needs {_TWO_COLUMNS}"
    raise LabelError(
        f"{path}: no column {name!r}; the columns are {format_column_names(names)}"
        f"{suggest_name(name, names)}; {remedy}",
        columns=tuple(names),
    )


def format_column_names(names: Iterable[str]) -> str:
    """Return column names for a message, truncated to 80 characters."""
    return ", ".join(map(repr, filter(None, names)))[:_MAX_COLUMN_NAMES] or "nothing"


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar name; empty if no name is similar."""
    folded = {candidate.casefold(): candidate for candidate in names if candidate}
    near = get_close_matches(name.casefold(), folded, n=1, cutoff=_MIN_SIMILARITY)
    for key in folded:
        short, long = sorted((name.casefold(), key), key=len)
        near += [key] if len(short) >= _MIN_NAME_PART and short in long else []
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""
