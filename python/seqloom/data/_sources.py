"""Where records come from: files, tables, or lists, dicts and arrays in memory."""

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
from seqloom._ragged import Ragged
from seqloom._warning import warn_user
from seqloom.data._frame import Frame, has_index, index_of, is_array, key_text, values_of
from seqloom.data._inputs import letters_of_rows
from seqloom.data._paths import expand
from seqloom.data.label._labels import MISSING, is_nothing
from seqloom.data.label._table import header_of, is_parquet, is_utf16, open_text, read_frame
from seqloom.errors import ArgumentError, FormatError
from seqloom.io import SequenceBatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.data._inputs import SourceOptions


_GZIP = b"\x1f\x8b"
_SUFFIXES = (".csv", ".tsv", ".parquet")
_LONGEST = 1 << 16
# A text of a list is a sequence, not a path, if it has letters only: in upper case, or of
# nucleotides where some are soft-masked.
_SEQUENCE = re.compile(r"[A-Z*.-]*|[ACGTUNacgtun*.-]*")
_MARKS = frozenset(MISSING) - {"", "."}
_LOOKED_AT = 100
_LONGEST_PATH = 255
# The axes of an array that has a byte for each letter.
_OF_LETTERS = 2
_NO_IDS: Any = (list, tuple, set, frozenset, dict, np.ndarray)
_Array: Any = np.ndarray


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Names of files, and the records of those that are in memory."""

    paths: tuple[str, ...]  # files, or the names of sources in memory, in order
    # Records in memory, by name.
    held: dict[str, MemoryRecords] = field(default_factory=dict[str, "MemoryRecords"])

    @property
    def batches(self) -> dict[str, SequenceBatch]:
        """The records in memory, by name."""
        return {path: held.batch for path, held in self.held.items()}

    @property
    def frames(self) -> list[Frame | None]:
        """The table of each file; None where it is none."""
        return [self.held[path].frame if path in self.held else None for path in self.paths]

    @property
    def has_ids(self) -> bool:
        """Whether records have ids, and not their numbers for want of any."""
        return all(held.has_ids for held in self.held.values())

    def count_numbered(self, id_column: str) -> dict[str, Any]:
        """Count the records of tables without ids, which have numbers instead."""
        tables = [held for held in self.held.values() if held.is_numbered(id_column)]
        names = [held.name for held in tables]
        count = sum(len(held.batch) for held in tables)
        return {"numbered": count, "numbered_examples": names} if tables else {}


def sources_of(data: Any, options: SourceOptions) -> Sources:
    """Tell sequences in memory, tables of sequences, and sequence files apart."""
    held = take_records(data, options)
    if held is not None:
        return Sources((held.name,), {held.name: held})
    paths = expand(data)
    tables = [path for path in paths if is_sequence_table(path, options.sequence_column)]
    wanted = (options.sequence_column,)
    frames = {path: from_frame(path, read_frame(path, wanted), options) for path in tables}
    # A record without an id has the number of its row, as the index of a frame has it.
    return Sources(
        paths, {path: replace(held, has_ids=True) for path, held in frames.items()}
    )


def is_sequence_table(path: str | os.PathLike[str], column: str) -> bool:
    """Tell a table by its first line, or else by its name; a pipe is never one."""
    path = os.fspath(path)
    if not Path(path).is_file():
        return False
    try:
        return is_parquet(path) or _begins_as_table(path, column)
    except (EOFError, zlib.error):
        return _is_named(path)  # its reader says that it is cut
    except (OSError, csv.Error, FormatError):
        return False  # what is wrong with the file, its reader says


def _begins_as_table(path: str, column: str) -> bool:
    """Look at the first line."""
    begin = _begin(path)
    is_named = _is_named(path)
    if is_utf16(begin):
        return is_named  # its reader says what is wrong
    if not begin.strip() or begin.lstrip()[:1] in b">@;" or b"\0" in begin:
        return False
    if is_named:
        return True
    with open_text(path) as file:
        return column in header_of(path, file, (column,))


def _is_named(path: str) -> bool:
    """Tell a table by its name."""
    return Path(path.removesuffix(".gz")).suffix.lower() in _SUFFIXES


def _begin(path: str) -> bytes:
    """Read the first bytes of a file, unpacked if it is gzip."""
    with Path(path).open("rb") as file:
        if not file.peek(2).startswith(_GZIP):
            return file.read(_LONGEST)
        with gzip.GzipFile(fileobj=file) as unpacked:
            return unpacked.read(_LONGEST)


@dataclass(frozen=True, slots=True, eq=False)
class MemoryRecords:
    """Records in memory."""

    name: str  # what stands for the name of a file
    batch: SequenceBatch  # the records
    frame: Frame | None = None  # the table they come from, with labels perhaps
    has_ids: bool = True  # False: a list or a table without ids and without an index

    def is_numbered(self, id_column: str) -> bool:
        """Return whether the labels come from a table without ids or row names."""
        frame = self.frame
        return frame is not None and frame.ids(id_column) is None


def take_records(data: Any, options: SourceOptions) -> MemoryRecords | None:
    """Take records from memory."""
    if isinstance(data, (str, os.PathLike, bytes)) or hasattr(data, "read"):
        return None
    name = f"<{type(data).__name__}>"
    frame = Frame.of(data)
    is_dict = isinstance(data, Mapping)
    if frame is not None and (not is_dict or options.sequence_column in frame.names):
        return from_frame(name, frame, options)
    if isinstance(data, Mapping):
        by_id: dict[Any, Any] = dict(data)  # pyright: ignore[reportUnknownArgumentType]
        if any(Frame.of(value) is not None for value in by_id.values()):
            parts = ", ".join(map(str, by_id))
            raise ArgumentError(f"sequences are the parts {parts}: give one of them")
        _check_first_words(name, _ids(name, list(by_id), options))
        return _make_records(name, zip(by_id, by_id.values(), strict=True), options)
    rows = _rows(data)
    is_none = not rows or _are_paths(rows)
    return None if is_none else _from_rows(name, rows, data, options=options)


def from_frame(name: str, frame: Frame, options: SourceOptions) -> MemoryRecords:
    """Take the records of a table: sequences, and ids if it has such a column."""
    letters = frame.column(options.find_sequences(name, frame.names))
    found = frame.ids(options.id_column)
    if found is None:
        options.check_ids(name, frame.names)
    ids = _ids(name, list(range(len(letters))) if found is None else found, options)
    _check_first_words(name, ids)
    _warn_of_marks(name, ids, letters)
    pairs = zip(ids, letters, strict=True)
    has_ids = found is not None or has_index(frame.table)
    return MemoryRecords(name, _make_records(name, pairs, options).batch, frame, has_ids)


def _warn_of_marks(name: str, ids: list[str], letters: list[Any]) -> None:
    """Warn of texts such as NA in a column of sequences, which are letters of proteins."""
    rows = [i for i, text in enumerate(letters) if isinstance(text, str) and text in _MARKS]
    if rows:
        first, more = rows[0], f" and of {len(rows) - 1:,} more" if len(rows) > 1 else ""
        warn_user(
            f"{name}: the sequence {letters[first]!r} of the record {ids[first]!r}{more} "
            "looks like a missing value and is read as a sequence; delete such rows if "
            "they have none",
        )


def _ids(name: str, ids: list[Any], options: SourceOptions) -> list[str]:
    """Write ids as text; one that is missing is the record's number where asked."""
    return [
        each
        if isinstance(each, str) and each and not each.isspace()
        else _id(each, (name, record), options.ids)
        for record, each in enumerate(ids)
    ]


def _id(each: Any, position: tuple[str, int], ids: str) -> str:
    """Write one id as text."""
    text = key_text(each)
    if not (is_nothing(each) or not text.strip() or isinstance(each, _NO_IDS)):
        return text
    name, record = position
    is_missing = not isinstance(each, _NO_IDS)
    if ids == "number" and is_missing:
        return str(record)
    hint = 'ids="number" (--ids number) gives records without one their number'
    raise FormatError(
        f"{name}: record {record}: expected an id, found {quote(each)}; "
        f"{hint if is_missing else 'give a text or a number'}",
        kind="header",
        path=name,
        record=record,
    )


def _check_first_words(name: str, ids: list[str]) -> None:
    """Refuse ids that differ behind a blank alone: the first word is the id."""
    whole: dict[str, str] = {}
    for i, text in enumerate(ids):
        word = text.split(None, 1)[0] if text.strip() else text
        if (first := whole.setdefault(word, text)) != text:
            raise FormatError(
                f"{name}: record {i}: the ids {quote(first)} and {quote(text)} have the "
                "same first word, which alone is the id: write ids without blanks",
                path=name,
                record=i,
            )


def _rows(data: Any) -> list[Any]:
    """List the rows of an array, a series, or whatever else can be gone through."""
    if isinstance(data, _Array) and data.ndim == _OF_LETTERS:
        if data.dtype.itemsize == 1:
            return [row.tobytes() for row in data]
        if _is_of_letters(data):
            return ["".join(row) for row in data.tolist()]
    if is_array(data) and getattr(data, "ndim", 1) <= _OF_LETTERS:
        return values_of(data)
    if not isinstance(data, Iterable) or isinstance(data, (set, frozenset, _Array)):
        raise ArgumentError(
            "sequences must be a file, several files, a list, a dict, an array of texts or "
            f"a data frame, got {quote(cast('Any', data))}"
        )
    return list(data)  # pyright: ignore[reportUnknownArgumentType]


def _is_of_letters(data: NDArray[Any]) -> bool:
    """Tell an array of single letters from one of pairs of id and sequence."""
    if data.dtype.kind == "U":
        return data.dtype == np.dtype("U1")
    return data.size > 0 and all(
        isinstance(value, str) and len(value) <= 1 for value in data.ravel().tolist()
    )


def _are_paths(rows: list[Any]) -> bool:
    """Tell names of files from sequences."""
    if any(isinstance(row, os.PathLike) for row in islice(rows, _LOOKED_AT)):
        return True
    texts = [row for row in rows if isinstance(row, str)]
    if len(texts) < len(rows):
        return False
    if not any(texts) or not all(map(_SEQUENCE.fullmatch, texts)):
        return True
    return any(
        0 < len(text) <= _LONGEST_PATH and Path(text).exists()
        for text in islice(texts, _LOOKED_AT)
    )


def _from_rows(
    name: str, rows: list[Any], data: Any, *, options: SourceOptions
) -> MemoryRecords:
    """Take sequences, pairs of id and sequence, records, or dicts of columns."""
    first = rows[0]
    _check_alike(name, rows)
    if isinstance(first, Mapping):
        names = list(dict.fromkeys(key for row in rows for key in row))
        columns = {key: [row.get(key) for row in rows] for key in names}
        features = getattr(data, "features", None)
        return from_frame(name, Frame(name, names, columns, features), options)
    if hasattr(first, "sequence"):
        return _from_records(name, rows, options)
    is_seq = hasattr(first, "seq")
    if is_seq or isinstance(first, (tuple, list)):
        pairs = ((row.id, row.seq) if is_seq else _pair(name, row) for row in rows)
        return _make_records(name, pairs, options)
    index = index_of(data)
    ids = _ids(name, list(range(len(rows))) if index is None else index, options)
    _check_first_words(name, ids)
    held = _make_records(name, zip(ids, rows, strict=True), options)
    return replace(held, has_ids=has_index(data))


def _check_alike(name: str, rows: list[Any]) -> None:
    """Refuse records among sequences, and dicts of columns among either."""
    kind = _kind(rows[0])
    if {str} == set(map(type, rows)):
        return
    strange = next((i for i, row in enumerate(rows) if _kind(row) != kind), None)
    if strange is not None:
        raise FormatError(
            f"{name}: record {strange} is {quote(rows[strange])}, but record 0 is "
            f"{quote(rows[0])}: give all as sequences, as pairs of id and sequence, as "
            "dicts or as records",
            path=name,
            record=strange,
        )


def _kind(row: Any) -> str:
    """Tell how a row gives id and sequence."""
    if isinstance(row, (str, bytes)):
        return "alone"
    if isinstance(row, Mapping):
        return "dict"
    if isinstance(row, (tuple, list)):
        return "pair"
    names = (name for name in ("sequence", "seq") if hasattr(row, name))
    return next(names, "alone")


def _pair(name: str, row: Any) -> tuple[Any, Any]:
    """Take id and sequence."""
    is_row = isinstance(row, (tuple, list))
    cells: list[Any] = list(row) if is_row else []  # pyright: ignore[reportUnknownArgumentType]
    if len(cells) != 2:  # noqa: PLR2004 - a pair
        raise ArgumentError(
            f"{name}: expected pairs of id and sequence, got {quote(row)}; for more "
            'columns give dicts such as {"sequence": "ACGT", "label": 1}'
        )
    return cells[0], cells[1]


def _from_records(name: str, rows: list[Any], options: SourceOptions) -> MemoryRecords:
    """Take records as `sl.io.open_sequences` gives them, qualities and all."""
    held = _make_records(name, ((row.id, row.sequence) for row in rows), options)
    # The record's own header, or its id, which may be a number, and the rest.
    headers = [
        row.header or given.split(None, 1)[0] + f" {row.description}".rstrip().encode()
        for row, given in zip(rows, held.batch.headers.to_list(), strict=True)
    ]
    qualities = [row.quality for row in rows if row.quality is not None]
    column = Ragged.from_list(qualities) if len(qualities) == len(rows) else None
    batch = SequenceBatch(Ragged.from_list(headers), held.batch.sequences, column)
    _check_qualities(name, batch)
    return MemoryRecords(name, batch)


def _check_qualities(name: str, batch: SequenceBatch) -> None:
    """Refuse a record that has more letters than qualities, or fewer."""
    if batch.qualities is None:
        return
    differs = batch.qualities.lengths != batch.sequences.lengths
    if differs.any():
        row = int(differs.argmax())
        raise FormatError(
            f"{name}: record {row} ({batch.ids[row]}): "
            f"{batch.qualities.lengths[row]:,} qualities for "
            f"{batch.sequences.lengths[row]:,} letters",
            path=name,
            record=row,
        )


def _make_records(
    name: str, pairs: Iterable[tuple[Any, Any]], options: SourceOptions
) -> MemoryRecords:
    """Put ids and letters into columns."""
    listed = list(pairs)
    if not listed:
        raise FormatError(f"{name}: expected sequences, found none", path=name)
    ids = _ids(name, [value for value, _ in listed], options)
    rows = [letters for _, letters in listed]
    sequences = letters_of_rows(name, ids, rows, whitespace=options.whitespace)
    headers = Ragged.from_list([each.encode("utf-8", "surrogatepass") for each in ids])
    return MemoryRecords(name, SequenceBatch(headers, sequences))
