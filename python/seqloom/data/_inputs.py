"""Reads records from files and tables."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._arguments import as_pattern, quote
from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom._text import get_match_text
from seqloom.data.label._labels import is_missing
from seqloom.data.label._table import check_column, column_position
from seqloom.errors import FormatError
from seqloom.io import SequenceBatch, open_sequences
from seqloom.io._records import decode_header
from seqloom.io._settings import TextOptions, check_choice

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from seqloom.io import SequenceReader

# Limits of a batch, so that it remains in the CPU cache while it is copied.
_BATCH_RECORDS = 1 << 13
_BATCH_BYTES = 4 << 20
_IS_BLANK = np.isin(np.arange(256), list(b" \t\n\r\v\f"))
# Valid characters of sequences: printable ASCII except ">".
_IS_RESIDUE = np.isin(np.arange(256), [byte for byte in range(33, 127) if byte != ord(">")])
_Array: Any = np.ndarray
_OPEN_DEFAULTS = {
    "quality": "phred33",
    "comments": "error",
    "whitespace": "error",
    "ids": "error",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions(TextOptions):
    """Options for reading sequences from files and tables.

    Args:
        sequence_column: The column of sequences in tables (CSV, TSV, Parquet).
        id_column: The column of ids in tables.
        id_from_header: A regular expression whose group matches the id in a header;
            "\\|(.+?)\\|" matches the accession in sp|P12345|NAME.
    """

    sequence_column: str = "sequence"
    id_column: str = "id"
    id_from_header: str | re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        for name in _OPEN_DEFAULTS:
            check_choice(name, getattr(self, name))
        check_column("sequence_column", self.sequence_column)
        check_column("id_column", self.id_column)
        if self.id_from_header is not None:
            as_pattern("id_from_header", self.id_from_header)

    @property
    def file_options(self) -> dict[str, Any]:
        """The arguments of ``open_sequences`` that differ from the defaults."""
        options = {name: getattr(self, name) for name in _OPEN_DEFAULTS}
        return {name: it for name, it in options.items() if it != _OPEN_DEFAULTS[name]}

    @property
    def leaves_out(self) -> bool:
        """True if the options change records, so that a file index does not apply."""
        is_changed = bool(self.file_options.keys() & {"comments", "whitespace", "ids"})
        return is_changed or self.id_from_header is not None

    def rename(
        self, batch: SequenceBatch, locate: Callable[[int], tuple[str, int]]
    ) -> SequenceBatch:
        """Prefix each header with the id that the pattern ``id_from_header`` finds."""
        if self.id_from_header is None:
            return batch
        search = as_pattern("id_from_header", self.id_from_header).search
        headers: list[bytes] = []
        for row, header in enumerate(batch.headers.to_list()):
            match = search(decode_header(header))
            name = "" if match is None else get_match_text(match, "id")
            if len(name.split()) != 1:
                path, record = locate(row)
                found = f"{name!r}, expected one word" if name else "nothing"
                raise FormatError(
                    f"{path}: record {record}: id_from_header (--id-from-header) finds "
                    f"{found} in the header {decode_header(header)!r}: put the id in "
                    r"parentheses, as in '\|(.+?)\|' for sp|P12345|NAME",
                    kind="header",
                    path=path,
                    record=record,
                )
            headers.append(name.encode("utf-8", "surrogatepass") + b" " + header)
        return SequenceBatch(Ragged.from_list(headers), batch.sequences, batch.qualities)

    def find_sequences(self, what: str, names: list[str]) -> str:
        """Return the name of the column of sequences; raise if the table lacks it."""
        column_position(
            what, names, self.sequence_column, hint="sequence_column (--sequence-column)"
        )
        return self.sequence_column

    def check_ids(self, what: str, names: list[str]) -> None:
        """Raise if the table lacks a custom column of ids."""
        if self.id_column != "id":
            column_position(what, names, self.id_column)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Sequence files and records in memory, with the options for reading them."""

    paths: tuple[str, ...]
    reading: SourceOptions = field(default_factory=SourceOptions)
    held: Mapping[str, SequenceBatch] = field(default_factory=dict[str, SequenceBatch])

    @property
    def must_be_held(self) -> bool:
        """True if the options prevent reading the files through an index."""
        return bool(self.held) or self.reading.leaves_out

    def batches(self, path: str) -> Iterator[SequenceBatch]:
        """Yield the batches of one file."""
        with ExitStack() as stack:
            if path in self.held:
                batches = iter([self.held[path]])
            else:
                options = self.reading.file_options
                opened = cast("SequenceReader", open_sequences(path, **options))
                reader = stack.enter_context(opened)
                batches = reader.batches(_BATCH_RECORDS, max_bytes=_BATCH_BYTES)
            start = 0
            for batch in batches:
                yield self.reading.rename(
                    batch, lambda row, start=start: (path, start + row)
                )
                start += len(batch)


def join_rows(name: str, ids: list[str], rows: list[Any], *, whitespace: str) -> Ragged:
    """Join sequences; raise if a value is not a sequence or has invalid characters."""
    parts: list[bytes] = []
    for i, row in enumerate(rows):
        part = _row_to_bytes(row)
        if part is None:
            found = "a missing value; remove the record" if is_missing(row) else quote(row)
            message = f"{name}: record {i} ({ids[i]}): expected a sequence, found {found}"
            raise FormatError(message, path=name, record=i)
        parts.append(part)
    letters = Ragged.from_list(parts)
    if whitespace == "strip":
        letters = _remove_characters(letters, _IS_BLANK[letters.data])
    is_invalid = ~_IS_RESIDUE[letters.data]
    if is_invalid.any():
        at = int(is_invalid.argmax())
        record = int(np.searchsorted(letters.offsets, at, side="right")) - 1
        byte = int(letters.data[at])
        hint = '; whitespace="strip" (--whitespace strip) removes blanks'
        raise FormatError(
            f"{name}: record {record} ({ids[record]}), position "
            f"{at - int(letters.offsets[record])}: expected a residue, found "
            f"{bytes([byte])!r}{hint if _IS_BLANK[byte] else ''}",
            path=name,
            record=record,
        )
    return letters


def _row_to_bytes(row: Any) -> bytes | None:
    """Return a string, bytes or Biopython sequence as bytes; None for other values."""
    text = str(row) if type(row).__name__ in {"Seq", "MutableSeq"} else row
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")  # invalid types are rejected later
    if isinstance(row, (bytes, bytearray)):
        return bytes(row)
    if isinstance(row, _Array) and row.dtype.kind in "SuV" and row.dtype.itemsize == 1:
        return row.tobytes()
    return None


def _remove_characters(letters: Ragged, dropped: NDArray[np.bool_]) -> Ragged:
    """Return the sequences without the characters where ``dropped`` is True."""
    if not dropped.any():
        return letters
    before = lengths_to_offsets(dropped.astype(np.int64))
    return Ragged(letters.data[~dropped], letters.offsets - before[letters.offsets])
