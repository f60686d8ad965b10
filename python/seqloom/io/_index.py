"""Random access to the records of a sequence file by index or id."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, SupportsIndex, cast

import numpy as np

from seqloom._arguments import as_bool, quote
from seqloom._files import write_atomic
from seqloom._ragged import Ragged
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, IdError
from seqloom.io._index_file import open_index, reopen_index
from seqloom.io._records import SequenceBatch, decode_header, parse_id
from seqloom.io._settings import as_integers, check_rereadable

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom._rust import _native
    from seqloom.io._records import SequenceRecord

_IDS_PER_BLOCK = 1 << 16


class SequenceIndex:
    """Random access to the records of a FASTA or FASTQ file, or to ranges of residues.

    The file may be uncompressed, or compressed with bgzip or gzip. The index is built
    once and saved next to the file (``reads.fq.gz.sli``). If there is no ``.sli`` file,
    a samtools ``.fai`` file (with ``.gzi`` for bgzip) is used. Every read raises an
    error if the file has changed since the index was opened. An index that was built
    for another file is rebuilt, with a warning.

    Many threads can share a `SequenceIndex`. In a forked process or after unpickling, a
    `SequenceIndex` opens the file again.

    Args:
        path: The path of the file.
        index: The path of the index file; a path that ends in ``.fai`` means a samtools
            index.
        build: If True, build the index if it is missing or belongs to another file.
        num_threads: Number of threads; None or 0 uses all cores.

    Raises:
        MissingFileError: The file does not exist, or it has no index and ``build`` is
            False.
        FileError: The file cannot be read, or is a pipe or standard input.
        FormatError: The file is not a sequence file, or was truncated since it was indexed.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
        >>> index = SequenceIndex("two.fa")
        >>> len(index), index[0].sequence, index["b"].sequence, index.fetch("a", 3, 5)
        (2, b'ACGTAC', b'GG', b'TA')
    """

    path: str
    format: str
    compression: str
    note: str | None
    """Message for the user if the index was rebuilt or could not be written, else None."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: str | os.PathLike[str] | None = None,
        build: bool = True,
        num_threads: int | None = None,
    ) -> None:
        check_rereadable(path)
        build = as_bool("build", build)
        self.path = os.fspath(path)
        self._num_threads = num_threads
        threads = count_threads(num_threads)
        opened = open_index(self.path, index, build=build, threads=threads)
        self._set_native(opened.native)
        self._side, self.note = opened.side, opened.note
        self.format = opened.native.format
        self.compression = opened.native.compression
        self._content = opened.native.content

        self._content_of_index: bytes | None = None

    def _set_native(self, native: _native.SequenceIndex) -> None:
        """Store the Rust index that this process has opened."""
        self._native: _native.SequenceIndex | None = native
        self._process = os.getpid()
        self._lengths: NDArray[np.int64] | None = None
        self._rows: dict[str | bytes, int] = {}

    def _open_native(self) -> _native.SequenceIndex:
        """Return the Rust index of this process."""
        if self._native is None or self._process != os.getpid():
            saved = (
                self._content_of_index
                if self._native is None
                else self._native.index_bytes()
            )
            self._set_native(
                reopen_index(
                    self.path, self._side or saved, self._content, threads=self._threads
                )
            )
        assert self._native is not None  # noqa: S101 - set above
        return self._native

    @property
    def native(self) -> _native.SequenceIndex:
        """Rust index of this process, for code that runs without the GIL."""
        return self._open_native()

    @property
    def _threads(self) -> int:
        """Number of threads that read records."""
        return count_threads(self._num_threads)

    def __getstate__(self) -> dict[str, object]:
        """Return the state for pickling, with the index if it exists only in memory."""
        state = {k: v for k, v in vars(self).items() if k not in _UNPICKLED_FIELDS}
        state["_content_of_index"] = (
            None if self._side else self._open_native().index_bytes()
        )
        return state

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self._native, self._process = None, 0
        self._rows, self._lengths = {}, None

    def __len__(self) -> int:
        return len(self._open_native())

    def __getitem__(self, key: int | str | bytes) -> SequenceRecord:
        row = self.row(key) if isinstance(key, (str, bytes)) else _to_record_index(key)
        return self.fetch_many([row], num_threads=1)[0]

    def __iter__(self) -> Iterator[SequenceRecord]:
        for start in range(0, len(self), _IDS_PER_BLOCK >> 4):
            stop = min(start + (_IDS_PER_BLOCK >> 4), len(self))
            yield from self.fetch_many(np.arange(start, stop))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and bool(
            self._open_native().find(_encode_id(key))
        )

    def __repr__(self) -> str:
        return f"SequenceIndex({self.path!r}): {len(self):,} records"

    @property
    def letters(self) -> int:
        """Total number of residues."""
        return self._open_native().letters

    @property
    def content(self) -> int:
        """Hash of the file's content when it was indexed."""
        return self._content

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Number of residues of each record."""
        if self._lengths is None:
            self._lengths = self._open_native().lengths()
            self._lengths.flags.writeable = False
        return self._lengths

    @property
    def ids(self) -> list[str]:
        """Ids of all records, read from the file when this property is used."""
        ids: list[str] = []
        for start in range(0, len(self), _IDS_PER_BLOCK):
            rows = np.arange(start, min(start + _IDS_PER_BLOCK, len(self)))
            headers = Ragged(*self._open_native().headers(rows)).to_list()
            ids += [decode_header(parse_id(header)) for header in headers]
        return ids

    def row(self, name: str | bytes) -> int:
        """Return the index of the record with an id.

        Args:
            name: The id: the first word of the header.

        Returns:
            The index of the record, from 0.

        Raises:
            IdError: The id does not occur, or occurs in more than one record.
            ArgumentError: The id is not a string.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("ids.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> SequenceIndex("ids.fa").row("b")
            1
        """
        if not _is_record_id(name):
            raise ArgumentError(f"an id must be a string or bytes, got {quote(name)}")
        if (found := self._rows.get(name)) is not None:
            return found
        rows = self._open_native().find(_encode_id(name))
        if not rows:
            raise IdError(f"{self.path}: no record has the id {name!r}")
        if len(rows) > 1:
            first = ", ".join(map(str, rows[:3]))
            raise IdError(
                f"{self.path}: {len(rows)} records have the id {name!r} ({first}"
                f"{', ...' if rows[3:] else ''}); give the index of one of these records"
            )
        if len(self._rows) < _IDS_PER_BLOCK:
            self._rows[name] = rows[0]
        return rows[0]

    def fetch(self, record: int | str | bytes, start: int, stop: int) -> bytes:
        """Read a range of residues of a record.

        Only the requested range is read from the file if all lines of the record have equal
        lengths.

        Args:
            record: Id or index of the record.
            start: Position of the first residue, from 0.
            stop: Position after the last residue.

        Returns:
            The residues, exactly as in the file.

        Raises:
            OutOfRangeError: The range extends beyond the record.
            IdError: The id does not occur, or occurs in more than one record.
            ArgumentError: ``record`` is not an id or an integer, or a position is not an
                integer.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("one.fa").write_text(">chr1\\nACGT\\nACGT\\n")
            >>> SequenceIndex("one.fa").fetch("chr1", 2, 6)
            b'GTAC'
        """
        row = (
            self.row(record)
            if isinstance(record, (str, bytes))
            else _to_record_index(record)
        )
        return self.fetch_intervals([row], [start], [stop], num_threads=1).data.tobytes()

    def fetch_many(
        self, rows: ArrayLike, *, num_threads: int | None = None
    ) -> SequenceBatch:
        """Read many records at once, on several threads.

        Args:
            rows: Indices of the records, in any order; an index may occur more than once,
                and a negative index counts from the end.
            num_threads: Number of threads; None uses the ``num_threads`` of the index.

        Returns:
            The records, in the order of ``rows``.

        Raises:
            OutOfRangeError: An index is out of range.
            ArgumentError: ``rows`` contains values that are not integers.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("many.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> SequenceIndex("many.fa").fetch_many([1, 0]).sequences.to_list()
            [b'G', b'AC']
        """
        native = self._open_native()
        threads = self._threads if num_threads is None else count_threads(num_threads)
        columns = native.fetch_many(as_integers(rows), threads)
        letters, offsets, headers, header_offsets, qualities = columns
        return SequenceBatch(
            Ragged(headers, header_offsets),
            Ragged(letters, offsets),
            None if qualities is None else Ragged(qualities, offsets),
        )

    def fetch_intervals(
        self,
        records: ArrayLike | Sequence[str],
        starts: ArrayLike,
        stops: ArrayLike,
        *,
        num_threads: int | None = None,
    ) -> Ragged:
        """Read ranges of residues of many records at once.

        Args:
            records: The record of each range, given as ids for all ranges or as indices
                for all ranges.
            starts: Position of the first residue of each range, from 0.
            stops: Position after the last residue of each range.
            num_threads: Number of threads; None uses the ``num_threads`` of the index.

        Returns:
            The residues of each range, in the order of ``records``.

        Raises:
            OutOfRangeError: A range extends beyond its record.
            IdError: An id does not occur, or occurs in more than one record.
            ArgumentError: ``records`` contains values that are not ids or integers, or a
                position is not an integer.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("parts.fa").write_text(">a\\nACGT\\n>b\\nGGCC\\n")
            >>> index = SequenceIndex("parts.fa")
            >>> index.fetch_intervals(["b", "a"], [1, 0], [3, 2]).to_list()
            [b'GC', b'AC']
        """
        native = self._open_native()
        threads = self._threads if num_threads is None else count_threads(num_threads)
        rows = np.asarray(records)
        names: list[object] = rows.reshape(-1).tolist()
        if rows.dtype.kind in "OSU" and any(map(_is_record_id, names)):
            if not all(map(_is_record_id, names)):
                raise ArgumentError("records must be all ids or all indices, got both")
            ids = cast("list[str | bytes]", names)
            rows = np.fromiter(map(self.row, ids), np.int64, len(ids))
        bounds = as_integers(starts), as_integers(stops)
        return Ragged(*native.fetch_intervals(as_integers(rows), *bounds, threads))

    def write_fai(self) -> list[Path]:
        """Write ``.fai`` next to the file, and ``.gzi`` for bgzip, like samtools.

        Returns:
            The paths of the written files.

        Raises:
            FormatError: A record has lines of unequal lengths, or an id is repeated; a
                ``.fai`` cannot represent such files.
            ArgumentError: The file is compressed with gzip, but samtools needs bgzip.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("plain.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
            >>> _ = SequenceIndex("plain.fa").write_fai()
            >>> Path("plain.fa.fai").read_text().splitlines()[0].split()
            ['a', '4', '3', '4', '5']
        """
        native = self._open_native()
        contents: dict[Path, bytes] = {}
        if self.compression != "none":
            contents[Path(f"{self.path}.gzi")] = native.gzi()
        contents[Path(f"{self.path}.fai")] = native.fai()
        for path, content in contents.items():
            write_atomic(path, content)
        return list(contents)


_UNPICKLED_FIELDS = frozenset(
    {"_native", "_process", "_lengths", "_rows", "_content_of_index"}
)


def _to_record_index(key: SupportsIndex) -> int:
    """Convert an index to int; raise for a fraction, a list or a slice."""
    try:
        return operator.index(key)
    except TypeError:
        raise ArgumentError(
            f"a record is selected by its id or by an integer index; got {quote(key)}"
        ) from None


def _is_record_id(key: object) -> bool:
    """Return whether a key is a record id."""
    return isinstance(key, (str, bytes))


def _encode_id(name: str | bytes) -> bytes:
    """Encode an id as bytes, as in the file."""
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
