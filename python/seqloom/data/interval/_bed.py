"""BED, narrowPeak and tables with a header, line by line."""

from __future__ import annotations

import csv
import gzip
import zlib
from itertools import chain
from typing import TYPE_CHECKING

from seqloom.data.label._table import open_text
from seqloom.errors import FileError, FormatError, MissingFileError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TextIO

    Rows = tuple[dict[str, list[str]], list[int]]

# What the columns of a table are called elsewhere, in lower case.
NAMES = {
    "chrom": ("chrom", "chr", "chromosome", "seqname", "seqnames", "contig"),
    "start": ("start", "chromstart", "begin"),
    "stop": ("stop", "end", "chromend"),
    "strand": ("strand",),
    "summit": ("summit", "peak"),
}
_NEEDED = tuple(frozenset(NAMES[name]) for name in ("chrom", "start", "stop"))
_MARKS = ("\t", ",", ";", None)
_BED = ("chrom", "start", "stop", "name", "score", "strand")
_PEAK = (*_BED, "signal", "p_value", "q_value", "summit")
_BESIDES = {"track", "browser"}
_TITLES = {"chrom", "chr", "chromosome", "seqname"}
_SIGNS = {"+", "-", "."}
_LEAST = 3


def read_rows(path: str) -> Rows:
    """Reads the columns of a file of intervals, and the number of each row's line."""
    try:
        with open_text(path, "intervals") as file:
            return _parse(path, file)
    except FileNotFoundError as error:
        raise MissingFileError(f"{path}: no such file") from error
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise FormatError(
            f"{path}: the gzip stream is cut or damaged ({error}); fetch or copy it again",
            path=path,
        ) from error
    except OSError as error:
        raise FileError(f"{path}: cannot be read: {error.strerror}") from error


def _parse(path: str, file: TextIO) -> Rows:
    """Reads line by line, the names of columns first where there are any."""
    lines = _lines(file)
    number, first = next(lines, (1, ""))
    is_header = _is_header(first)
    cells = _cells_of_table(first, first) if is_header else _cells(first)
    names = _header(cells) if is_header else _names(path, number, cells)
    if double := [name for i, name in enumerate(names) if name in names[:i]]:
        message = f"{path}, line {number}: two columns are named {double[0]!r}"
        raise FormatError(message, path=path, line=number)
    rows: list[list[str]] = [] if is_header else [cells]
    numbers = [] if is_header else [number]
    for number, line in lines:
        if is_header and line == first:
            continue  # files with a header were put behind each other
        cells = _cells_of_table(line, first) if is_header else _cells(line)
        if len(cells) != len(names):
            raise FormatError(
                f"{path}, line {number}: expected {len(names)} columns, found {len(cells)}",
                path=path,
                line=number,
            )
        rows.append(cells)
        numbers.append(number)
    if not is_header:
        names = _names_by_cells(path, names, rows, line=numbers[0])
    columns = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return columns, numbers


def _lines(file: TextIO) -> Iterator[tuple[int, str]]:
    """Goes through lines that hold something; a comment may only name columns."""
    for number, line in enumerate(file, 1):
        text = line.rstrip("\r\n")
        words = text.split(None, 1)
        if words and (not _is_beside(words[0]) or _names_positions(text)):
            yield number, text


def _is_beside(word: str) -> bool:
    """Tells comments and what a browser reads; a sequence may be called track_1."""
    return word.startswith("#") or word in _BESIDES


def _is_header(line: str) -> bool:
    """Tells a line that names columns."""
    words = line.lower().split()
    # Some genomes have one sequence, called Chromosome.
    is_titled = len(words) >= _LEAST and words[0] in _TITLES and not words[1].isdigit()
    return is_titled or _names_positions(line)


def _names_positions(line: str) -> bool:
    """Says whether a line names columns of chromosome, start and stop."""
    return _mark_of(line) != ""


def _mark_of(line: str) -> str | None:
    """Finds what stands between the names of columns: None for blanks, "" if none are."""
    for mark in _MARKS:
        names = {cell.strip('"# ').lower() for cell in line.split(mark)}
        if all(names & wanted for wanted in _NEEDED):
            return mark
    return ""


def _cells_of_table(line: str, header: str) -> list[str]:
    """Cuts a line as the header says: at commas too, and with quotation marks."""
    mark = _mark_of(header)
    if not (mark in (",", ";") or '"' in header):
        return _cells(line)
    text = line if mark else " ".join(line.split())
    rows = csv.reader([text], delimiter=mark or " ", skipinitialspace=True)
    return [cell.strip() for cell in chain.from_iterable(rows)]


def _header(cells: list[str]) -> list[str]:
    """Takes the names of columns."""
    return [cells[0].lstrip("#").strip(), *cells[1:]]


def _cells(line: str) -> list[str]:
    """Cuts a line at tabs; at blanks where there is no tab."""
    parts = line.split("\t") if "\t" in line else line.split()
    return [part.strip() for part in parts]


def _names(path: str, number: int, cells: list[str]) -> list[str]:
    """Names the columns of BED by their number."""
    if not all(cell.isprintable() for cell in cells):
        raise FormatError(
            f"{path}: expected intervals as text, found other data", path=path
        )
    if len(cells) < _LEAST:
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
    return _number_columns(_PEAK if len(cells) == len(_PEAK) else _BED, len(cells))


def _number_columns(usual: tuple[str, ...], n: int) -> list[str]:
    """Return the usual names of columns, and numbered names for the other columns."""
    return [*usual[:n], *(f"column_{i + 1}" for i in range(len(usual), n))]


def _names_by_cells(
    path: str, names: list[str], rows: list[list[str]], *, line: int
) -> list[str]:
    """Return the names of the columns of BED, corrected by the cells of all rows."""
    if len(names) == len(_PEAK) and not any(map(_may_be_peak, rows)):
        return _number_columns(_BED, len(names))
    strand = len(names) - 1
    if _LEAST <= strand < len(_BED) - 1:
        cells = {row[strand] for row in rows}
        if cells <= _SIGNS and cells != {"."}:
            raise FormatError(
                f"{path}, line {line}: column {strand + 1} contains strands (+, - "
                f"or .), but in BED it is the {names[strand]}, and the strand is column 6; "
                f"add a first line with the names of the columns, such as "
                f"{', '.join((*names[:-1], 'strand'))}",
                path=path,
                line=line,
            )
    return names


def _may_be_peak(row: list[str]) -> bool:
    """Return whether columns 7 to 9 of a row can be the numbers of a narrowPeak.

    Other files of ten columns are BED12 without its last two, and BED6 with a BED3 and an
    overlap or a distance, as bedtools writes it.
    """
    try:
        signal, *_ = (float(cell) for cell in row[len(_BED) : -1])
        start, stop = int(row[1]), int(row[2])
    except ValueError:
        return False
    thick = row[len(_BED) : len(_BED) + 2]
    is_thick = all(map(str.isdecimal, thick)) and (
        start <= signal <= float(thick[1]) <= stop
    )
    return not is_thick and row[len(_BED)] != row[0]
