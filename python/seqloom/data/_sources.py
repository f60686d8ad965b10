"""Where records come from: files of sequences, tables of sequences, or memory."""

from __future__ import annotations

import csv
import gzip
import os
import zlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqloom.data._memory import MemoryRecords, from_frame, take_records
from seqloom.data._paths import expand
from seqloom.data.label._table import header_of, is_parquet, is_utf16, open_text, read_frame
from seqloom.errors import FormatError

if TYPE_CHECKING:
    from seqloom.data._frame import Frame
    from seqloom.data._inputs import SourceOptions

_GZIP = b"\x1f\x8b"
_SUFFIXES = (".csv", ".tsv", ".parquet")
_LONGEST = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Sources:
    """Names of files, and the records of those that are in memory."""

    paths: tuple[str, ...]  # files, or the names of sources in memory, in order
    # Records in memory, by name.
    held: dict[str, MemoryRecords] = field(default_factory=dict[str, MemoryRecords])

    @property
    def frames(self) -> list[Frame | None]:
        """The table of each file; None where it is none."""
        return [self.held[path].frame if path in self.held else None for path in self.paths]

    @property
    def has_ids(self) -> bool:
        """Whether records have ids, and not their numbers for want of any."""
        return all(held.has_ids for held in self.held.values())

    def count_numbered(self, id_column: str) -> dict[str, Any]:
        """Counts the records of tables without ids, which have numbers instead."""
        tables = [held for held in self.held.values() if held.is_numbered(id_column)]
        names = [held.name for held in tables]
        count = sum(len(held.batch) for held in tables)
        return {"numbered": count, "numbered_examples": names} if tables else {}


def sources_of(data: Any, options: SourceOptions) -> Sources:
    """Tells sequences in memory, tables of sequences, and sequence files apart."""
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
    """Tells a table by its first line, or else by its name; a pipe is never one."""
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
    """Looks at the first line."""
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
    """Tells a table by its name."""
    return Path(path.removesuffix(".gz")).suffix.lower() in _SUFFIXES


def _begin(path: str) -> bytes:
    """Reads the first bytes of a file, unpacked if it is gzip."""
    with Path(path).open("rb") as file:
        if not file.peek(2).startswith(_GZIP):
            return file.read(_LONGEST)
        with gzip.GzipFile(fileobj=file) as unpacked:
            return unpacked.read(_LONGEST)
