"""The tables beside a .bed, as columns and back: .fam (individuals) and .bim (variants)."""

from __future__ import annotations

import gzip
import stat
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import numpy as np

from seqloom._rust import _native
from seqloom.errors import FileError, FormatError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from numpy.typing import NDArray

Suffix: TypeAlias = Literal["fam", "bim"]

# In the order of the files.
COLUMNS: Final[dict[Suffix, tuple[str, ...]]] = {
    "fam": ("fid", "iid", "father", "mother", "sex", "pheno"),
    "bim": ("chromosome", "sid", "cm_position", "bp_position", "allele_1", "allele_2"),
}
INTEGERS: Final = frozenset({"sex", "bp_position"})
FLOATS: Final = frozenset({"cm_position"})

_GZIP = b"\x1f\x8b"

# An array of equal widths that is larger than this, and than so many times its text, is
# made of texts of any length instead: one long allele would widen the rows of all others.
_MOST_BYTES = 64 << 20
_MOST_WASTE = 16
# Rows that are turned into such texts at the same time, and the memory that takes.
_ROWS = 1 << 12
_PIECE_BYTES = 1 << 20
# Lines that are written at a time.
_LINES = 1 << 14


def count_lines(source: Path | bytes, suffix: Suffix) -> int:
    """Counts the lines of a table; blank lines at its end are none."""
    if isinstance(source, bytes):
        return _native.count_lines_of(_unpacked(source, f"the .{suffix}"))
    _check_regular(source)
    if _is_packed(source):
        return _native.count_lines_of(_read(source))
    return _native.count_lines_in(source)


def read_columns(
    source: Path | bytes,
    suffix: Suffix,
    names: Collection[str],
    *,
    name: str | None = None,
) -> dict[str, NDArray[Any]]:
    """Reads some columns of a table, and checks all its lines.

    Args:
        source: The file, or all its bytes; gzipped or not.
        suffix: Which of the two tables it is.
        names: The columns, such as ``"iid"`` or ``"bp_position"``.
        name: What errors call the file, where ``source`` is bytes.

    Returns:
        An array for each name: sex and bp_position of int32, cm_position of float32, the
        others of text. Text is ``<U{n}``; or ``numpy.dtypes.StringDType()``, where a few
        long values would make that many times as large as the file.

    Raises:
        MissingFileError: There is no such file.
        FileError: It cannot be read.
        FormatError: It is not such a table, or a field is no number.
        NumberRangeError: A number does not fit its type.
    """
    known = name or (f"the .{suffix}" if isinstance(source, bytes) else str(source))
    text = _unpacked(source, known) if isinstance(source, bytes) else _read(source)
    table = _native.PlinkTable(text, suffix, list(names), known)
    return {each: _column(table, each) for each in names}


def _check_regular(path: Path) -> None:
    """Refuses a pipe, which can be read only once, and is waited for without a writer."""
    try:
        seen = path.stat()
    except OSError:
        return  # reading it says why
    if not stat.S_ISREG(seen.st_mode):
        raise FileError(
            f"{path}: is not a regular file; expected the name of a table to read"
        )


def _read(path: Path) -> bytes:
    """Reads a whole file."""
    _check_regular(path)
    try:
        return _unpacked(path.read_bytes(), str(path))
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror or error}") from error


def _is_packed(path: Path) -> bool:
    """Says whether a file begins as gzip does; what cannot be read does not."""
    try:
        with path.open("rb") as file:
            return file.read(2) == _GZIP
    except OSError:
        return False


def _unpacked(text: bytes, name: str) -> bytes:
    """Unpacks a table that is gzipped; a table of text begins otherwise."""
    if not text.startswith(_GZIP):
        return text
    try:
        return gzip.decompress(text)
    except (EOFError, OSError, zlib.error) as error:
        raise FormatError(
            f"{name}: gzip: {error}; the file is damaged or cut: get it anew",
            kind="compression",
            path=name,
        ) from error


def _column(table: _native.PlinkTable, name: str) -> NDArray[Any]:
    """Makes the array of one column."""
    if name in INTEGERS:
        integers = np.empty(table.rows, np.int32)
        table.write_integers(name, integers)
        return integers
    if name in FLOATS:
        floats = np.empty(table.rows, np.float32)
        table.write_floats(name, floats)
        return floats
    return _Texts(table, name).array()


@dataclass(frozen=True, slots=True)
class _Texts:
    """A column of text, on its way into an array."""

    table: _native.PlinkTable
    name: str

    def array(self) -> NDArray[Any]:
        """Makes the array, of equal widths unless that wastes too much."""
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
        """Makes an array whose texts take as much memory as they need."""
        texts = np.empty(self.table.rows, np.dtypes.StringDType())
        for first in range(0, len(texts), _ROWS):
            self._fill(texts, range(first, min(first + _ROWS, len(texts))))
        return texts

    def _fill(self, texts: NDArray[Any], rows: range) -> None:
        """Fills some rows by way of equal widths; fewer at a time where a text is long."""
        width = self.table.longest(self.name, rows.start, len(rows))
        if len(rows) > 1 and _bytes(len(rows), width) > _PIECE_BYTES:
            half = len(rows) // 2
            self._fill(texts, rows[:half])
            self._fill(texts, rows[half:])
        else:
            texts[rows.start : rows.stop] = self._even(rows, width)


def _bytes(rows: int, width: int) -> int:
    """Says how large an array of equal widths is."""
    return rows * width * np.dtype("U1").itemsize


def write_table(path: Path, suffix: Suffix, columns: Mapping[str, NDArray[Any]]) -> None:
    """Writes a table that reads back as the same columns; what is there is written over.

    Args:
        path: The file.
        suffix: Which of the two tables it is: blanks separate a .fam, tabs a .bim.
        columns: All six, of the types that `read_columns` gives.

    Raises:
        ArgumentError: A text is empty or holds white space, or the lengths differ.
    """
    every = [columns[name] for name in COLUMNS[suffix]]
    rows = max(len(column) for column in every)
    with path.open("wb") as file:
        for first in range(0, rows, _LINES):
            cells = [_cells(column[first : first + _LINES]) for column in every]
            file.write(_native.render_table(suffix, cells, first))


def _cells(values: NDArray[Any]) -> NDArray[Any] | list[str]:
    """Gives some values of a column as the extension takes them."""
    if values.dtype.kind in "if":
        return np.ascontiguousarray(values)
    if values.dtype.kind != "U":
        return values.tolist()
    native = np.ascontiguousarray(values, values.dtype.newbyteorder("="))
    return native.view(np.uint32).reshape(len(native), -1)
