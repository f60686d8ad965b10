"""The tables of a .bed as columns and back: .fam (individuals) and .bim (variants)."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from seqloom._rust import _native
from seqloom._text import count_of, parse_decimal
from seqloom._warning import warn_user
from seqloom.errors import (
    FileError,
    FormatError,
    MissingFileError,
    NumberRangeError,
)
from seqloom.io.plink._header_line import check_rows
from seqloom.io.plink._properties import PROPERTIES, Suffix, names_of

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

# In the order of the files.
COLUMNS: Final[dict[Suffix, tuple[str, ...]]] = {
    "fam": tuple(names_of("fam")),
    "bim": tuple(names_of("bim")),
}

_GZIP = b"\x1f\x8b"
# What a line looks like: a look at the first one.
_FIELDS, _LONGEST_LINE = 6, 1 << 16
_ALLELES = frozenset("ACGTNacgtn")
_SEXES = {"M": 1, "F": 2}
_SHOWN = 3

# One long allele widens the rows of all others in an array of equal widths. Where it takes
# more bytes than this, and more than so many times its text, strings have any length.
_MOST_BYTES = 64 << 20
_MOST_WASTE = 16
_ROWS = 1 << 12  # that are converted to such strings at the same time
_PIECE_BYTES = 1 << 20  # of memory for that
_LINES = 1 << 14  # that are written at a time


def count_lines(source: Path | bytes, suffix: Suffix) -> int:
    """Counts the lines of a table, without blank lines at its end."""
    if isinstance(source, bytes) or _is_gzip(source):
        name = _name_of(source, suffix)
        text = _decompress(source, name) if isinstance(source, bytes) else _read(source)
        check_rows(io.BytesIO(text), suffix, name)
        return _native.count_lines_of(text)
    _check_regular(source)
    count = _native.count_lines_in(source)
    with _name_errors(source), source.open("rb") as file:
        check_rows(file, suffix, str(source))
    return count


def _name_of(source: Path | bytes, suffix: Suffix) -> str:
    """Names a table for errors."""
    return f"the .{suffix}" if isinstance(source, bytes) else str(source)


def check_places(fam: Path, bim: Path) -> None:
    """Refuses tables that changed places; the first line of each tells."""
    person, variant = _first_fields(fam), _first_fields(bim)
    if _has_allele(person) and _has_sex(variant):
        raise FormatError(
            f"{fam}: the tables changed places: it lists variants, and {bim} lists "
            "individuals; rename them, or pass fam_filepath= and bim_filepath=",
            path=str(fam),
        )


def _first_fields(path: Path) -> list[str]:
    """Splits the first line of a table; gives nothing where it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.readline(_LONGEST_LINE).decode("utf-8", "replace").split()
    except OSError:
        return []


def _has_allele(fields: list[str]) -> bool:
    """Says whether a line has a position and letters, as that of a variant has."""
    return len(fields) == _FIELDS and fields[3].isdigit() and set(fields[4]) <= _ALLELES


def _has_sex(fields: list[str]) -> bool:
    """Says whether a line has a sex, as that of an individual has."""
    return len(fields) == _FIELDS and fields[4] in {"0", "1", "2"}


def read_columns(
    source: Path | bytes,
    suffix: Suffix,
    names: Collection[str],
    *,
    name: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Reads some columns of a table, and checks all its lines."""
    # Text is ``<U{n}``; or ``StringDType()`` where a few long values would make an array of
    # equal widths that many times as large as the file. `name` is for errors, of bytes.
    known = name or _name_of(source, suffix)
    text = _decompress(source, known) if isinstance(source, bytes) else _read(source)
    check_rows(io.BytesIO(text), suffix, known)
    table = _native.PlinkTable(text, suffix, list(names), known)
    return {column: _read_column(table, column, known) for column in names}


def _check_regular(path: Path) -> None:
    """Refuses a pipe: it can be read only once, and opening it may block."""
    try:
        status = path.stat()
    except OSError:
        return  # reading it says why
    if not stat.S_ISREG(status.st_mode):
        raise FileError(
            f"{path}: is not a regular file; expected the path of a .fam or .bim"
        )


def _read(path: Path) -> bytes:
    """Reads a whole file."""
    _check_regular(path)
    with _name_errors(path):
        return _decompress(path.read_bytes(), str(path))


@contextmanager
def _name_errors(path: Path) -> Generator[None]:
    """Raises errors of the system as errors that name the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _is_gzip(path: Path) -> bool:
    """Says whether a file begins as gzip; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(2) == _GZIP
    except OSError:
        return False


def _decompress(text: bytes, name: str) -> bytes:
    """Decompresses a table that is gzip; a table of text never begins so."""
    if not text.startswith(_GZIP):
        return text
    try:
        return gzip.decompress(text)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            f"{name}: gzip: {error}; the file is damaged or cut: get it again",
            kind="compression",
            path=name,
        ) from error


def _read_column(table: _native.PlinkTable, name: str, path: str) -> NDArray[Any]:
    """Makes the array of one column."""
    kind = PROPERTIES[name].kind
    if name == "sex":
        return _read_sex(table, path)
    if kind is np.int32:
        integers = np.empty(table.rows, np.int32)
        table.write_integers(name, integers)
        return integers
    if kind is np.float32:
        floats = np.empty(table.rows, np.float32)
        table.write_floats(name, floats)
        return floats
    return _TextColumn(table, name).array()


def _read_sex(table: _native.PlinkTable, path: str) -> NDArray[np.int32]:
    """Read the sex of individuals as PLINK 2 does: other text than M and F is unknown."""
    codes = np.empty(table.rows, np.int32)
    try:
        table.write_integers("sex", codes)
    except (FormatError, NumberRangeError):
        texts: list[str] = _TextColumn(table, "sex").array().tolist()
        meanings = {text: _sex_code(text) for text in dict.fromkeys(texts)}
        codes[:] = [meanings[text] or 0 for text in texts]
        if strange := [text for text, code in meanings.items() if code is None]:
            _warn_of_sexes(path, strange, sum(meanings[text] is None for text in texts))
    return codes


def _sex_code(text: str) -> int | None:
    """Return the number for a sex; None for text without a meaning."""
    try:
        code = parse_decimal(text)
    except ValueError:
        return _SEXES.get(text.upper())
    limits = np.iinfo(np.int32)
    return int(code) if code.is_integer() and limits.min <= code <= limits.max else None


def _warn_of_sexes(path: str, strange: list[str], count: int) -> None:
    """Warn of individuals whose sex is read as unknown."""
    shown = ", ".join(map(repr, strange[:_SHOWN]))
    more = ", ..." if len(strange) > _SHOWN else ""
    who = count_of(count, "individuals")
    warn_user(
        f"{path}: the sex of {who} is {shown}{more} and is read as unknown (0), as PLINK "
        "does; expected 1 or M for male, 2 or F for female, or 0"
    )


@dataclass(frozen=True, slots=True)
class _TextColumn:
    """A column of text, to be converted to an array."""

    table: _native.PlinkTable
    name: str

    def array(self) -> NDArray[Any]:
        """Makes the array: of equal widths unless that wastes too much."""
        longest, size = self.table.size(self.name)
        rows = self.table.rows
        if _bytes(rows, longest) > max(_MOST_BYTES, _MOST_WASTE * size):
            return self._uneven()
        return self._even(range(rows), longest)

    def _even(self, rows: range, width: int) -> NDArray[np.str_]:
        """Makes an array of equal widths of some rows."""
        width = max(width, 1)
        texts = np.empty(len(rows), f"U{width}")
        self.table.write_points(self.name, rows.start, width, texts.view(np.uint32))
        return texts

    def _uneven(self) -> NDArray[Any]:
        """Makes an array of strings of any length."""
        texts = np.empty(self.table.rows, np.dtypes.StringDType())
        for first in range(0, len(texts), _ROWS):
            self._fill(texts, range(first, min(first + _ROWS, len(texts))))
        return texts

    def _fill(self, texts: NDArray[Any], rows: range) -> None:
        """Fills some rows by way of equal widths; fewer at once where a string is long."""
        width = self.table.longest(self.name, rows.start, len(rows))
        if len(rows) > 1 and _bytes(len(rows), width) > _PIECE_BYTES:
            half = len(rows) // 2
            self._fill(texts, rows[:half])
            self._fill(texts, rows[half:])
        else:
            texts[rows.start : rows.stop] = self._even(rows, width)


def _bytes(rows: int, width: int) -> int:
    """Computes the size of an array of equal widths."""
    return rows * width * np.dtype("U1").itemsize


def write_table(path: Path, suffix: Suffix, columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes a table that reads back as the same columns; replaces an old one."""
    # Blanks separate the columns of a .fam, tabs those of a .bim.
    ordered = [columns[name] for name in COLUMNS[suffix]]
    rows = max(len(column) for column in ordered)
    with path.open("wb") as file:
        for first in range(0, rows, _LINES):
            cells = [_cells(column[first : first + _LINES]) for column in ordered]
            file.write(_native.render_table(suffix, cells, first))


def _cells(values: NDArray[Any]) -> NDArray[Any] | list[str]:
    """Converts some values of a column to what the extension takes."""
    if values.dtype.kind in "if":
        return np.ascontiguousarray(values)
    if values.dtype.kind != "U":
        return values.tolist()
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return native.view(np.uint32).reshape(len(native), -1)
