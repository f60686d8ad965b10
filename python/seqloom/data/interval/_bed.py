"""Reads BED, narrowPeak and tables of intervals with a header."""

from __future__ import annotations

import csv
import gzip
import zlib
from itertools import chain
from typing import TYPE_CHECKING, Any

from seqloom._text import parse_integer
from seqloom.data.label._table import open_text
from seqloom.errors import FileError, FormatError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    Rows = tuple[dict[str, list[str]], list[int]]
    from collections.abc import Iterable

# `length` in tables of MACS and featureCounts, `width` in tables of GRanges.
_SIZE_COLUMNS = ("length", "width")
_SAF_COLUMNS = ["geneid", "chr", "start", "end", "strand"]
_ONE_BASED_CHROMS = {"seqname", "seqnames"}  # column names of GTF and GRanges
_HOMER_STRANDS = {"0": "+", "1": "-"}
Columns = dict[str, list[Any]]

# Accepted names of the columns, in lower case.
ALIASES = {
    "chrom": ("chrom", "chr", "chromosome", "seqname", "seqnames", "contig"),
    "start": ("start", "chromstart", "begin", "txstart", "tx_start"),
    "stop": ("stop", "end", "chromend", "txend", "tx_end"),
    "strand": ("strand",),
    "summit": ("summit", "peak"),
}
_REQUIRED_NAMES = tuple(frozenset(ALIASES[name]) for name in ("chrom", "start", "stop"))
_SEPARATORS = ("\t", ",", ";", None)
_BED6 = ("chrom", "start", "stop", "name", "score", "strand")
_NARROW_PEAK = (*_BED6, "signal", "p_value", "q_value", "summit")
_BROWSER_LINES = {"track", "browser"}
_CHROM_TITLES = {"chrom", "chr", "chromosome", "seqname"}
_STRAND_SIGNS = {"+", "-", "."}
_MIN_COLUMNS = 3


def read_bed(path: str) -> Rows:
    """Read the columns of a file of intervals, and the line number of each row."""
    try:
        with open_text(path, "intervals") as file:
            return _parse_rows(path, file)
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(
            f"{path}: the gzip stream is truncated or corrupt ({error}); copy it again",
            path=path,
        ) from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error


def _parse_rows(path: str, file: TextIO) -> Rows:
    lines = _read_lines(file)
    number, first = next(lines, (1, ""))
    is_header = _is_header(first)
    cells = _split_table_line(first, first) if is_header else _split_cells(first)
    if is_header:
        names = [cells[0].lstrip("#").strip(), *cells[1:]]
    else:
        names = _bed_column_names(path, number, cells)
    if double := [name for i, name in enumerate(names) if name in names[:i]]:
        message = f"{path}, line {number}: two columns are named {double[0]!r}"
        raise FormatError(message, path=path, line=number)
    rows: list[list[str]] = [] if is_header else [cells]
    numbers = [] if is_header else [number]
    for number, line in lines:
        if is_header and line == first:
            continue  # a repeated header, from concatenated files
        cells = _split_table_line(line, first) if is_header else _split_cells(line)
        if len(cells) != len(names):
            raise FormatError(
                f"{path}, line {number}: expected {len(names)} columns, found {len(cells)}",
                path=path,
                line=number,
            )
        rows.append(cells)
        numbers.append(number)
    if not is_header:
        names = _name_columns_by_cells(path, names, rows, line=numbers[0])
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return columns, numbers


def _read_lines(file: TextIO) -> Iterator[tuple[int, str]]:
    """Yield the lines of a BED file without empty lines, comments and browser lines."""
    for number, line in enumerate(file, 1):
        text = line.rstrip("\r\n")
        words = text.split(None, 1)
        # Skip track and browser lines, but not a chromosome that is called track_1.
        is_skippable = bool(words) and (
            words[0].startswith("#") or words[0] in _BROWSER_LINES
        )
        if words and (not is_skippable or _has_position_names(text)):
            yield number, text


def _is_header(line: str) -> bool:
    words = line.lower().split()
    # In some genomes, the only sequence is called Chromosome.
    is_titled = (
        len(words) >= _MIN_COLUMNS and words[0] in _CHROM_TITLES and not words[1].isdigit()
    )
    return is_titled or _has_position_names(line)


def _has_position_names(line: str) -> bool:
    """Return whether a line contains column names for chromosome, start and stop."""
    return _find_separator(line) != ""


def _find_separator(line: str) -> str | None:
    """Return the separator of a header; None for blanks, "" without a header."""
    for mark in _SEPARATORS:
        names = {cell.strip('"# ').lower() for cell in line.split(mark)}
        if all(names & wanted for wanted in _REQUIRED_NAMES):
            return mark
    return ""


def _split_table_line(line: str, header: str) -> list[str]:
    """Split a line with the separator and the quotation marks of the header."""
    mark = _find_separator(header)
    if not (mark in (",", ";") or '"' in header):
        return _split_cells(line)
    text = line if mark else " ".join(line.split())
    rows = csv.reader([text], delimiter=mark or " ", skipinitialspace=True)
    return [cell.strip() for cell in chain.from_iterable(rows)]


def _split_cells(line: str) -> list[str]:
    """Split a line at tabs, or at blanks if it has no tab."""
    parts = line.split("\t") if "\t" in line else line.split()
    return [part.strip() for part in parts]


def _bed_column_names(path: str, number: int, cells: list[str]) -> list[str]:
    """Return the column names of a BED file with the given number of columns."""
    if not all(cell.isprintable() for cell in cells):
        raise FormatError(
            f"{path}: expected intervals as text, found other data", path=path
        )
    if len(cells) < _MIN_COLUMNS:
        raise FormatError(
            f"{path}, line {number}: expected chrom, start and stop between tabs, "
            f"found {len(cells)} columns",
            path=path,
            line=number,
        )
    if [cell.isdecimal() for cell in cells[1:4]] == [False, True, True]:
        raise FormatError(
            f"{path}, line {number}: expected chrom, start and stop, found id, chrom, "
            "start and end, which HOMER and featureCounts count from 1; add a first line "
            "with the names of the columns: PeakID, chr, start, end, strand",
            path=path,
            line=number,
        )
    return _number_columns(
        _NARROW_PEAK if len(cells) == len(_NARROW_PEAK) else _BED6, len(cells)
    )


def _number_columns(standard: tuple[str, ...], n: int) -> list[str]:
    """Return n column names: standard names, then names such as ``column_7``."""
    return [*standard[:n], *(f"column_{i + 1}" for i in range(len(standard), n))]


def _name_columns_by_cells(
    path: str, names: list[str], rows: list[list[str]], *, line: int
) -> list[str]:
    """Return the column names of a BED file, corrected by the contents of its rows."""
    if len(names) == len(_NARROW_PEAK) and not any(map(_may_be_narrow_peak, rows)):
        return _number_columns(_BED6, len(names))
    strand = len(names) - 1
    if _MIN_COLUMNS <= strand < len(_BED6) - 1:
        cells = {row[strand] for row in rows}
        if cells <= _STRAND_SIGNS and cells != {"."}:
            raise FormatError(
                f"{path}, line {line}: column {strand + 1} contains strands (+, - "
                f"or .), but in BED it is the {names[strand]}, and the strand is column 6; "
                f"add a first line with the names of the columns, such as "
                f"{', '.join((*names[:-1], 'strand'))}",
                path=path,
                line=line,
            )
    return names


def _may_be_narrow_peak(row: list[str]) -> bool:
    """Return whether columns 7 to 9 of a row may be the numbers of a narrowPeak file.

    BED12 without its last two columns also has ten columns. A join of BED6 and BED3 by
    bedtools has ten columns too; the last column is an overlap or a distance.
    """
    try:
        signal, *_ = (float(cell) for cell in row[len(_BED6) : -1])
        start, stop = int(row[1]), int(row[2])
    except ValueError:
        return False
    thick = row[len(_BED6) : len(_BED6) + 2]
    is_thick = all(map(str.isdecimal, thick)) and (
        start <= signal <= float(thick[1]) <= stop
    )
    return not is_thick and row[len(_BED6)] != row[0]


def to_zero_based(what: str, columns: Columns, found: dict[str, str | None]) -> Columns:
    """Convert 1-based closed positions in a table to 0-based half-open positions.

    Args:
        what: The name of the table in errors.
        columns: The columns of the table.
        found: The names of the columns of ``start``, ``stop``, ``strand`` and ``summit``.

    Returns:
        The columns, with starts, strands and summits converted if the header or the sizes
        of the intervals prove that positions count from 1.

    Raises:
        FormatError: The column names are those of GTF or GRanges, but no column contains
            the sizes of the intervals.
    """
    names = [name.strip().lstrip("#").lower() for name in columns]
    is_homer = names[0].split(" ")[0] == "peakid"
    chrom, start, stop = (str(found[name]) for name in ("chrom", "start", "stop"))
    starts, stops = _to_integers(columns[start]), _to_integers(columns[stop])
    # Cells that are not integers are reported later.
    if not starts or not stops:
        return columns
    if not (
        is_homer or names == _SAF_COLUMNS or _sizes_match(columns, starts, stops, end=1)
    ):
        if names[list(columns).index(chrom)] in _ONE_BASED_CHROMS and not _sizes_match(
            columns, starts, stops, end=0
        ):
            raise FormatError(
                f"{what}: the column {chrom!r} is used by GTF and GRanges, which count "
                "positions from 1 and include the end; for such positions subtract 1 from "
                f"each start, and rename {chrom!r} to 'chrom' (with a column 'width' of "
                "end - start + 1 they are converted)"
            )
        return columns
    changed: Columns = {start: [position - 1 for position in starts]}
    if is_homer and (strand := found["strand"]):
        cells = columns[strand]
        changed[strand] = [_HOMER_STRANDS.get(str(cell).strip(), cell) for cell in cells]
    return columns | changed | _summit_offsets(columns, starts, names)


def _sizes_match(
    columns: Columns, starts: list[int], stops: list[int], *, end: int
) -> bool:
    """Return whether a column of sizes equals ``stop - start + end`` in every row."""
    expected = [stop - start + end for start, stop in zip(starts, stops, strict=False)]
    sizes = [
        cells for name, cells in columns.items() if name.strip().lower() in _SIZE_COLUMNS
    ]
    return any(_to_integers(cells) == expected for cells in sizes)


def _summit_offsets(columns: Columns, starts: list[int], names: list[str]) -> Columns:
    """Return the summits of MACS as offsets from the starts."""
    by_name = dict(zip(names, columns, strict=True))
    if "abs_summit" in by_name:
        summits = _to_integers(columns[by_name["abs_summit"]])
        new_offsets = [at - start for at, start in zip(summits, starts, strict=False)]
        return {"summit": new_offsets} if new_offsets and "summit" not in by_name else {}
    if "summit" in by_name and "tags" in by_name:  # in MACS 1.4, offsets count from 1
        summits = _to_integers(columns[by_name["summit"]])
        return {by_name["summit"]: [at - 1 for at in summits]} if summits else {}
    return {}


def _to_integers(cells: Iterable[Any]) -> list[int]:
    try:
        return [as_whole_number(cell) for cell in cells]
    except (ValueError, OverflowError, TypeError):
        return []


def as_whole_number(cell: Any) -> int:
    """Return a cell as an integer; raise ValueError for a number such as 1.5."""
    if isinstance(cell, str):
        return parse_integer(cell)
    number = int(cell)
    if number != cell or isinstance(cell, bool):
        raise ValueError
    return number
