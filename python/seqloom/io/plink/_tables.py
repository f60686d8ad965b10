"""Read and write the tables of a .bed: .fam (individuals) and .bim (variants)."""

from __future__ import annotations

import gzip
import io
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn

import numpy as np

from seqloom._files import GZIP_MAGIC, reading
from seqloom._rust import _native
from seqloom._text import (
    format_count,
    is_decimal,
    join_first_names,
    parse_decimal,
    printable,
)
from seqloom._warning import warn_user
from seqloom.errors import FileError, FormatError, NumberRangeError
from seqloom.io.plink._properties import PROPERTIES, Suffix, property_names

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

# Columns in the order of the file.
FAM_BIM_COLUMNS: Final[dict[Suffix, tuple[str, ...]]] = {
    "fam": tuple(property_names("fam")),
    "bim": tuple(property_names("bim")),
}

_FAM_FIELDS, _MIN_BIM_FIELDS = 6, 5
_MAX_LINE_BYTES = 1 << 16
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
# Column names that programs write, in lower case and without punctuation.
_HEADER_NAMES: Final[dict[Suffix, str]] = {
    "fam": "fid family familyid famid iid individual individualid id sample sampleid "
    "withinfamilyid pat paternal paternalid father fatherid pid mat maternal maternalid "
    "mother motherid mid sex gender pheno phenotype pheno1 phen trait status affection",
    "bim": "chr chrom chromosome snp snpid sid id rsid rs variant variantid varid marker "
    "markername name cm cmposition morgan morgans gd geneticdistance genpos bp bpposition "
    "pos position basepair coordinate a0 a1 a2 allele0 allele1 allele2 ref alt counted",
}
_MIN_HEADER_NAMES = 2
_ROW_NOUNS: Final[dict[Suffix, str]] = {"fam": "an individual", "bim": "a variant"}
_MAX_LINE_CHARACTERS = 60
_ALLELES = frozenset("ACGTNacgtn")
_SEX_BY_LETTER = {"M": 1, "F": 2}

# In an array of fixed-width strings, one long allele widens all rows. Strings get a
# variable length if the fixed-width array would exceed both `_MAX_TEXT_BYTES` and
# `_MAX_PADDING_FACTOR` times the size of the text.
_MAX_TEXT_BYTES = 64 << 20
_MAX_PADDING_FACTOR = 16
_ROWS_PER_BLOCK = 1 << 12  # number of rows converted to variable-length strings at a time
_READ_BYTES = 1 << 20  # number of bytes read or converted at a time
_WRITE_LINES = 1 << 14  # number of lines written at a time


def count_lines(source: Path | bytes, suffix: Suffix) -> int:
    """Count the lines of a table, ignoring trailing blank lines."""
    if isinstance(source, bytes) or _is_gzip(source):
        name = _table_name(source, suffix)
        text = _decompress(source, name) if isinstance(source, bytes) else _read_all(source)
        _check_no_header(io.BytesIO(text), suffix, name)
        return _native.count_lines_of(text)
    _check_regular(source)
    count = _native.count_lines_in(source)
    with reading(source), source.open("rb") as file:
        _check_no_header(file, suffix, str(source))
    return count


def _table_name(source: Path | bytes, suffix: Suffix) -> str:
    """Return the name of a table for error messages."""
    return f"the .{suffix}" if isinstance(source, bytes) else str(source)


def check_not_exchanged(fam: Path, bim: Path) -> None:
    """Raise if the first lines show that the .fam and the .bim are exchanged."""
    person, variant = _read_first_fields(fam), _read_first_fields(bim)
    if len(person) != _FAM_FIELDS or len(variant) != _FAM_FIELDS:
        return
    has_allele = person[3].isdigit() and set(person[4]) <= _ALLELES
    if has_allele and variant[4] in {"0", "1", "2"}:
        raise FormatError(
            f"{fam}: the tables are exchanged: this file lists variants, and {bim} lists "
            "individuals; rename them, or pass fam_location= and bim_location=",
            path=str(fam),
        )


def _read_first_fields(path: Path) -> list[str]:
    """Split the first line of a table; return no fields if it cannot be read."""
    try:
        with path.open("rb") as file:
            return _split_fields(file.readline(_MAX_LINE_BYTES))
    except OSError:
        return []


def read_columns(
    source: Path | bytes, suffix: Suffix, names: Collection[str], *, name: str | None = None
) -> dict[str, NDArray[Any]]:
    """Read the requested columns of a table, and check all lines."""
    # Text columns have the dtype ``<U{n}``, or ``StringDType()`` if a few long values
    # would make a fixed-width array much larger than the file. `name` is the file name
    # in error messages.
    known = name or _table_name(source, suffix)
    text = _decompress(source, known) if isinstance(source, bytes) else _read_all(source)
    _check_no_header(io.BytesIO(text), suffix, known)
    table = _native.PlinkTable(text, suffix, list(names), known)
    return {column: _read_column(table, column, known) for column in names}


def _check_no_header(file: BinaryIO, suffix: Suffix, name: str) -> None:
    """Raise if the first line is a header, or if a line is a comment.

    A header read as a row would shift the genotypes of all rows by one. The size of the
    .bed often does not reveal the extra row, because rows of the .bed are padded to whole
    bytes.
    """
    first = file.readline(_MAX_LINE_BYTES).removeprefix(_BYTE_ORDER_MARK)
    if _is_header(_split_fields(first), suffix):
        _raise_line_error("line 1 is a header", first, suffix, name=name)
    if first.startswith(b"#") and not _is_data_row(_split_fields(first), suffix):
        _raise_line_error("line 1 is a comment", first, suffix, name=name)
    for start in _find_comments(file):
        file.seek(start)
        line = file.readline(_MAX_LINE_BYTES)
        if not _is_data_row(_split_fields(line), suffix):
            file.seek(0)
            number = file.read(start).count(b"\n") + 1
            _raise_line_error(f"line {number} is a comment", line, suffix, name=name)


def _split_fields(line: bytes) -> list[str]:
    """Split a line into fields."""
    return line.decode("utf-8", "replace").split()


def _is_header(fields: list[str], suffix: Suffix) -> bool:
    """Return True if a line contains column names or column numbers instead of values."""
    # Compare column names without case, quotes and punctuation.
    names = ["".join(filter(str.isalnum, field.casefold())) for field in fields]
    if len(names) >= _FAM_FIELDS and any(
        names == [f"{prefix}{at + first}" for at in range(len(names))]
        for prefix, first in (("", 0), ("v", 1), ("column", 0), ("column", 1))
    ):
        return True
    has_number = any(is_decimal(field) for field in fields)
    return (
        not has_number
        and len({*_HEADER_NAMES[suffix].split()} & {*names}) >= _MIN_HEADER_NAMES
    )


def _find_comments(file: BinaryIO) -> Generator[int]:
    """Yield the offsets of lines after the first that start with "#"."""
    offset, piece = 0, b""
    file.seek(0)
    while True:
        more = file.read(_READ_BYTES)
        if not more:
            return
        piece = piece[-1:] + more
        start = offset + len(more) - len(piece)
        at = piece.find(b"\n#")
        while at >= 0:
            yield start + at + 1
            at = piece.find(b"\n#", at + 1)
        offset += len(more)
        file.seek(offset)


def _is_data_row(fields: list[str], suffix: Suffix) -> bool:
    """Return True if a line contains a valid sex (.fam) or a valid position (.bim)."""
    number = {"fam": fields[4:5], "bim": fields[-3:-2]}[suffix]
    return len(fields) >= _MIN_BIM_FIELDS and all(map(is_decimal, number))


def _raise_line_error(fault: str, line: bytes, suffix: Suffix, *, name: str) -> NoReturn:
    """Raise an error that quotes the invalid line, with the advice to delete this line."""
    shown = printable(" ".join(_split_fields(line)))
    if len(shown) > _MAX_LINE_CHARACTERS:
        shown = f"{shown[:_MAX_LINE_CHARACTERS]}..."
    raise FormatError(
        f"{name}: {fault} ({shown}); delete this line: a .{suffix} has only rows, and "
        f"reading it as {_ROW_NOUNS[suffix]} would shift all genotypes by one",
        kind="header",
        path=name,
    )


def _check_regular(path: Path) -> None:
    """Raise for a pipe, which can only be read once, and may block while it is opened."""
    try:
        status = path.stat()
    except OSError:
        return  # ignore the error here, because a later read raises it
    if not stat.S_ISREG(status.st_mode):
        raise FileError(
            f"{path}: is not a regular file; expected the path of a .fam or .bim"
        )


def _read_all(path: Path) -> bytes:
    """Read all bytes of a file."""
    _check_regular(path)
    with reading(path):
        return _decompress(path.read_bytes(), str(path))


def _is_gzip(path: Path) -> bool:
    """Return whether a file starts with the gzip signature; False if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(2) == GZIP_MAGIC
    except OSError:
        return False


def _decompress(text: bytes, name: str) -> bytes:
    """Decompress a table if it starts with the gzip signature, which no text does."""
    if not text.startswith(GZIP_MAGIC):
        return text
    try:
        return gzip.decompress(text)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            f"{name}: gzip: {error}; the file is corrupt or truncated: get it again",
            kind="compression",
            path=name,
        ) from error


def _read_column(table: _native.PlinkTable, name: str, path: str) -> NDArray[Any]:
    """Convert the bytes of one column to an array."""
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
    """Read the sex of individuals like PLINK 2: text other than M and F is unknown."""
    codes = np.empty(table.rows, np.int32)
    try:
        table.write_integers("sex", codes)
    except (FormatError, NumberRangeError):
        texts: list[str] = _TextColumn(table, "sex").array().tolist()
        meanings = {text: _to_sex_code(text) for text in dict.fromkeys(texts)}
        codes[:] = [meanings[text] or 0 for text in texts]
        if strange := [text for text, code in meanings.items() if code is None]:
            shown = join_first_names(list(map(repr, strange)))
            who = format_count(sum(meanings[text] is None for text in texts), "individuals")
            warn_user(
                f"{path}: the sex of {who} is {shown} and is read as unknown (0), as "
                "PLINK does; expected 1 or M for male, 2 or F for female, or 0"
            )
    return codes


def _to_sex_code(text: str) -> int | None:
    """Return the code of a sex, or None for other text."""
    try:
        code = parse_decimal(text)
    except ValueError:
        return _SEX_BY_LETTER.get(text.upper())
    limits = np.iinfo(np.int32)
    return int(code) if code.is_integer() and limits.min <= code <= limits.max else None


@dataclass(frozen=True, slots=True)
class _TextColumn:
    """Converter of one text column to an array."""

    table: _native.PlinkTable
    name: str

    def array(self) -> NDArray[Any]:
        """Return the array; strings have a fixed width unless it wastes too much memory."""
        longest, size = self.table.size(self.name)
        rows = self.table.rows
        if _text_size(rows, longest) > max(_MAX_TEXT_BYTES, _MAX_PADDING_FACTOR * size):
            # Variable-length strings are converted from blocks of fixed-width strings.
            texts = np.empty(rows, np.dtypes.StringDType())
            for first in range(0, rows, _ROWS_PER_BLOCK):
                self._fill_rows(texts, range(first, min(first + _ROWS_PER_BLOCK, rows)))
            return texts
        return self._make_fixed_width(range(rows), longest)

    def _make_fixed_width(self, rows: range, width: int) -> NDArray[np.str_]:
        """Return a fixed-width array of some rows."""
        width = max(width, 1)
        texts = np.empty(len(rows), f"U{width}")
        self.table.write_points(self.name, rows.start, width, texts.view(np.uint32))
        return texts

    def _fill_rows(self, texts: NDArray[Any], rows: range) -> None:
        """Fill the array from fixed-width blocks; long strings need smaller blocks."""
        width = self.table.max_field_length(self.name, rows.start, len(rows))
        if len(rows) > 1 and _text_size(len(rows), width) > _READ_BYTES:
            half = len(rows) // 2
            self._fill_rows(texts, rows[:half])
            self._fill_rows(texts, rows[half:])
        else:
            texts[rows.start : rows.stop] = self._make_fixed_width(rows, width)


def _text_size(rows: int, width: int) -> int:
    """Return the size of a fixed-width array in bytes."""
    return rows * width * np.dtype("U1").itemsize


def write_table(path: Path, suffix: Suffix, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write a table, replacing an existing table."""
    # The columns of a .fam are separated by spaces, those of a .bim by tabs.
    ordered = [columns[name] for name in FAM_BIM_COLUMNS[suffix]]
    rows = max(len(column) for column in ordered)
    with path.open("wb") as file:
        for first in range(0, rows, _WRITE_LINES):
            cells = [
                _to_native_cells(column[first : first + _WRITE_LINES]) for column in ordered
            ]
            file.write(_native.render_table(suffix, cells, first))


def _to_native_cells(values: NDArray[Any]) -> NDArray[Any] | list[str]:
    """Convert values of a column to the types that the extension accepts."""
    if values.dtype.kind in "if":
        return np.ascontiguousarray(values)
    if values.dtype.kind != "U":
        return values.tolist()
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return native.view(np.uint32).reshape(len(native), -1)
