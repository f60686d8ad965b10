"""Reads records from tables, and from lists, dicts and arrays in memory."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._files import GZIP_MAGIC
from seqloom._ragged import Ragged
from seqloom._warning import warn_user
from seqloom.data._frame import (
    Frame,
    format_id,
    frame_index,
    is_array,
    is_pandas,
    to_values,
)
from seqloom.data._inputs import join_rows
from seqloom.data._paths import expand_paths
from seqloom.data.label._labels import MISSING_TEXTS, is_missing
from seqloom.data.label._table import header_of, is_parquet, is_utf16, open_text, read_frame
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import SequenceBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data._inputs import SourceOptions


_TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")
_TABLE_HEAD_BYTES = 1 << 16
# The strings of a list that match this pattern are sequences, not paths. Lower case is
# accepted for bases only.
_SEQUENCE_PATTERN = re.compile(r"[A-Z*.-]*|[ACGTUNacgtun*.-]*")
_MISSING_TEXTS = frozenset(MISSING_TEXTS) - {"", "."}
_MAX_CHECKED_ROWS = 100
_MAX_PATH_CHARACTERS = 255
# Number of axes of an array with one character per element.
_CHARACTER_AXES = 2
_CONTAINER_TYPES: Any = (list, tuple, set, frozenset, dict, np.ndarray)
_Array: Any = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """The paths of a dataset's files, and its in-memory records."""

    paths: tuple[str, ...]  # Files, or the names of in-memory sources.
    # In-memory records, by path or name.
    held: dict[str, MemoryRecords] = field(default_factory=dict[str, "MemoryRecords"])

    @property
    def batches(self) -> dict[str, SequenceBatch]:
        """In-memory records, by path or name."""
        return {path: held.batch for path, held in self.held.items()}

    @property
    def frames(self) -> list[Frame | None]:
        """The table of each file; None for a sequence file."""
        return [self.held[path].frame if path in self.held else None for path in self.paths]

    @property
    def has_ids(self) -> bool:
        """True if records have ids; False if they are numbered."""
        return all(held.has_ids for held in self.held.values())

    def count_numbered(self, id_column: str) -> dict[str, Any]:
        """Count the records in tables without ids, and list the tables, for the report."""
        tables = [held for held in self.held.values() if held.is_numbered(id_column)]
        names = [held.name for held in tables]
        count = sum(len(held.batch) for held in tables)
        return {"numbered": count, "numbered_examples": names} if tables else {}


def read_sources(data: Any, options: SourceOptions) -> Sources:
    """Read sequences from memory and from tables, and list the sequence files."""
    held = read_memory_records(data, options)
    if held is not None:
        return Sources((held.name,), {held.name: held})
    paths = expand_paths(data)
    tables = [path for path in paths if is_sequence_table(path, options.sequence_column)]
    wanted = (options.sequence_column,)
    frames = {path: take_frame(path, read_frame(path, wanted), options) for path in tables}
    # Rows without an id are numbered, like the default index of a data frame.
    return Sources(
        paths, {path: replace(held, has_ids=True) for path, held in frames.items()}
    )


def is_sequence_table(path: str | os.PathLike[str], column: str) -> bool:
    """Return whether a file is a table, by its first line or name; False for pipes."""
    path = os.fspath(path)
    if not Path(path).is_file():
        return False
    try:
        return is_parquet(path) or _looks_like_table(path, column)
    except (EOFError, zlib.error):
        return _has_table_suffix(path)  # the reader reports a truncated file
    except (OSError, csv.Error, FormatError):
        return False  # the reader reports the error


def _looks_like_table(path: str, column: str) -> bool:
    """Return whether the first line or the name of a file shows that it is a table."""
    begin = _read_start(path)
    is_named = _has_table_suffix(path)
    if is_utf16(begin):
        return is_named  # the reader reports an invalid text encoding
    if not begin.strip() or begin.lstrip()[:1] in b">@;" or b"\0" in begin:
        return False
    if is_named:
        return True
    with open_text(path) as file:
        return column in header_of(path, file, (column,))


def _has_table_suffix(path: str) -> bool:
    return Path(path.removesuffix(".gz")).suffix.lower() in _TABLE_SUFFIXES


def _read_start(path: str) -> bytes:
    """Return the first bytes of a file, decompressed if it is gzip."""
    with Path(path).open("rb") as file:
        if not file.peek(2).startswith(GZIP_MAGIC):
            return file.read(_TABLE_HEAD_BYTES)
        with gzip.GzipFile(fileobj=file) as unpacked:
            return unpacked.read(_TABLE_HEAD_BYTES)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRecords:
    """In-memory records of a dataset."""

    name: str  # Name that replaces a path in messages, such as <list>.
    batch: SequenceBatch
    frame: Frame | None = None  # The table of the records; may contain labels.
    has_ids: bool = True  # False if the source has neither ids nor an index.

    def is_numbered(self, id_column: str) -> bool:
        """Return whether the records come from a table without ids and row names."""
        frame = self.frame
        return frame is not None and frame.ids(id_column) is None


def read_memory_records(data: Any, options: SourceOptions) -> MemoryRecords | None:
    """Return the records of data in memory; None for paths."""
    if isinstance(data, (str, os.PathLike, bytes)) or hasattr(data, "read"):
        return None
    name = f"<{type(data).__name__}>"
    frame = Frame.of(data)
    is_dict = isinstance(data, Mapping)
    if frame is not None and (not is_dict or options.sequence_column in frame.names):
        return take_frame(name, frame, options)
    if isinstance(data, Mapping):
        by_id: dict[Any, Any] = dict(data)  # pyright: ignore[reportUnknownArgumentType]
        if any(Frame.of(value) is not None for value in by_id.values()):
            parts = ", ".join(map(str, by_id))
            raise ArgumentError(f"sequences are in {parts}: pass only one of them")
        _check_unique_first_words(name, _make_ids(name, list(by_id), options))
        return _make_records(name, zip(by_id, by_id.values(), strict=True), options)
    rows = _list_rows(data)
    has_no_records = not rows or _are_paths(rows)
    return None if has_no_records else _read_rows(name, rows, data, options=options)


def take_frame(name: str, frame: Frame, options: SourceOptions) -> MemoryRecords:
    """Return the sequences of a table, with their ids if the table has a column of ids."""
    letters = frame.column(options.find_sequences(name, frame.names))
    table_ids = frame.ids(options.id_column)
    if table_ids is None:
        options.check_ids(name, frame.names)
    ids = _make_ids(
        name, list(range(len(letters))) if table_ids is None else table_ids, options
    )
    _check_unique_first_words(name, ids)
    _warn_of_missing_marks(name, ids, letters)
    pairs = zip(ids, letters, strict=True)
    has_ids = table_ids is not None or is_pandas(frame.table)
    return MemoryRecords(name, _make_records(name, pairs, options).batch, frame, has_ids)


def _warn_of_missing_marks(name: str, ids: list[str], letters: list[Any]) -> None:
    """Warn if a column of sequences contains marks of missing values, such as NA."""
    texts = enumerate(letters)
    rows = [i for i, it in texts if isinstance(it, str) and it in _MISSING_TEXTS]
    if rows:
        first, more = rows[0], f" and of {len(rows) - 1:,} more" if len(rows) > 1 else ""
        warn_user(
            f"{name}: the sequence {letters[first]!r} of the record {ids[first]!r}{more} "
            "looks like a missing value but is read as a sequence; delete such rows if "
            "they have no sequence"
        )


def _make_ids(name: str, ids: list[Any], options: SourceOptions) -> list[str]:
    """Return ids as text; with ``ids="number"`` the index replaces a missing id."""
    return [
        each
        if isinstance(each, str) and each and not each.isspace()
        else _format_id(each, (name, record), options.ids)
        for record, each in enumerate(ids)
    ]


def _format_id(each: Any, position: tuple[str, int], ids: str) -> str:
    text = format_id(each)
    if not (is_missing(each) or not text.strip() or isinstance(each, _CONTAINER_TYPES)):
        return text
    name, record = position
    is_absent = not isinstance(each, _CONTAINER_TYPES)
    if ids == "number" and is_absent:
        return str(record)
    hint = 'ids="number" (--ids number) numbers records without an id'
    raise FormatError(
        f"{name}: record {record}: expected an id, found {quote(each)}; "
        f"{hint if is_absent else 'pass a string or a number'}",
        kind="header",
        path=name,
        record=record,
    )


def _check_unique_first_words(name: str, ids: list[str]) -> None:
    """Raise if ids differ only after a blank, because an id ends at the first blank."""
    whole: dict[str, str] = {}
    for i, text in enumerate(ids):
        word = text.split(None, 1)[0] if text.strip() else text
        if (first := whole.setdefault(word, text)) != text:
            raise FormatError(
                f"{name}: record {i}: the ids {quote(first)} and {quote(text)} have the "
                "same first word, and an id ends at a blank: write ids without blanks",
                path=name,
                record=i,
            )


def _list_rows(data: Any) -> list[Any]:
    if isinstance(data, _Array) and data.ndim == _CHARACTER_AXES:
        if data.dtype.itemsize == 1:
            return [row.tobytes() for row in data]
        if _has_single_characters(data):
            return ["".join(row) for row in data.tolist()]
    if is_array(data) and getattr(data, "ndim", 1) <= _CHARACTER_AXES:
        return to_values(data)
    if not isinstance(data, Iterable) or isinstance(data, (set, frozenset, _Array)):
        raise ArgumentError(
            "sequences must be one or more files, a list, a dict, an array of strings or "
            f"a data frame, got {quote(cast('Any', data))}"
        )
    return list(data)  # pyright: ignore[reportUnknownArgumentType]


def _has_single_characters(data: NDArray[Any]) -> bool:
    """Return whether the rows of an array are characters, not pairs of id and sequence."""
    if data.dtype.kind == "U":
        return data.dtype == np.dtype("U1")
    return data.size > 0 and all(
        isinstance(value, str) and len(value) <= 1 for value in data.ravel().tolist()
    )


def _are_paths(rows: list[Any]) -> bool:
    """Return whether rows are paths of files, not sequences."""
    if any(isinstance(row, os.PathLike) for row in islice(rows, _MAX_CHECKED_ROWS)):
        return True
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) < len(rows):
        return False
    if not any(texts) or not all(map(_SEQUENCE_PATTERN.fullmatch, texts)):
        return True
    return any(
        0 < len(text) <= _MAX_PATH_CHARACTERS and Path(text).exists()
        for text in islice(texts, _MAX_CHECKED_ROWS)
    )


def _read_rows(
    name: str, rows: list[Any], data: Any, *, options: SourceOptions
) -> MemoryRecords:
    first = rows[0]
    _check_row_types(name, rows)
    if isinstance(first, Mapping):
        names = list(dict.fromkeys(key for row in rows for key in row))
        columns = {key: [row.get(key) for row in rows] for key in names}
        features = getattr(data, "features", None)
        return take_frame(name, Frame(name, names, columns, features), options)
    if hasattr(first, "sequence"):
        return _convert_records(name, rows, options)
    is_seq = hasattr(first, "seq")
    if is_seq or isinstance(first, (tuple, list)):
        pairs = ((row.id, row.seq) if is_seq else _split_pair(name, row) for row in rows)
        return _make_records(name, pairs, options)
    index = frame_index(data)
    ids = _make_ids(name, list(range(len(rows))) if index is None else index, options)
    _check_unique_first_words(name, ids)
    held = _make_records(name, zip(ids, rows, strict=True), options)
    return replace(held, has_ids=is_pandas(data))


def _check_row_types(name: str, rows: list[Any]) -> None:
    """Raise if a list mixes types of rows, such as records and sequences."""
    kind = _row_type(rows[0])
    if {str} == set(map(type, rows)):
        return
    strange = next((i for i, row in enumerate(rows) if _row_type(row) != kind), None)
    if strange is not None:
        raise FormatError(
            f"{name}: record {strange} is {quote(rows[strange])}, but record 0 is "
            f"{quote(rows[0])}: pass all as sequences, as pairs of id and sequence, as "
            "dicts or as records",
            path=name,
            record=strange,
        )


def _row_type(row: Any) -> str:
    """Return the type of a row: a pair, a dict, an object or a sequence alone."""
    if isinstance(row, (str, bytes)):
        return "alone"
    if isinstance(row, Mapping):
        return "dict"
    if isinstance(row, (tuple, list)):
        return "pair"
    names = (name for name in ("sequence", "seq") if hasattr(row, name))
    return next(names, "alone")


def _split_pair(name: str, row: Any) -> tuple[Any, Any]:
    is_row = isinstance(row, (tuple, list))
    cells: list[Any] = list(row) if is_row else []  # pyright: ignore[reportUnknownArgumentType]
    if len(cells) != 2:  # noqa: PLR2004 - a pair
        raise ArgumentError(
            f"{name}: expected pairs of id and sequence, got {quote(row)}; for more "
            'columns pass dicts such as {"sequence": "ACGT", "label": 1}'
        )
    return cells[0], cells[1]


def _convert_records(name: str, rows: list[Any], options: SourceOptions) -> MemoryRecords:
    """Return the records of `SequenceRecord` objects, with their qualities."""
    held = _make_records(name, ((row.id, row.sequence) for row in rows), options)
    # The header of the record or, without a header, its id and description.
    headers = [
        row.header or header.split(None, 1)[0] + f" {row.description}".rstrip().encode()
        for row, header in zip(rows, held.batch.headers.to_list(), strict=True)
    ]
    qualities = [row.quality for row in rows if row.quality is not None]
    column = Ragged.from_list(qualities) if len(qualities) == len(rows) else None
    batch = SequenceBatch(Ragged.from_list(headers), held.batch.sequences, column)
    _check_qualities(name, batch)
    return MemoryRecords(name, batch)


def _check_qualities(name: str, batch: SequenceBatch) -> None:
    """Raise if the numbers of qualities and residues of a record differ."""
    if batch.qualities is None:
        return
    differs = batch.qualities.lengths != batch.sequences.lengths
    if differs.any():
        row = int(differs.argmax())
        raise FormatError(
            f"{name}: record {row} ({batch.ids[row]}): {batch.qualities.lengths[row]:,} "
            f"qualities for {batch.sequences.lengths[row]:,} residues",
            path=name,
            record=row,
        )


def _make_records(
    name: str, pairs: Iterable[tuple[Any, Any]], options: SourceOptions
) -> MemoryRecords:
    listed = list(pairs)
    if not listed:
        raise FormatError(f"{name}: expected sequences, found none", path=name)
    ids = _make_ids(name, [value for value, _ in listed], options)
    rows = [letters for _, letters in listed]
    sequences = join_rows(name, ids, rows, whitespace=options.whitespace)
    headers = Ragged.from_list([each.encode("utf-8", "surrogatepass") for each in ids])
    return MemoryRecords(name, SequenceBatch(headers, sequences))
