"""Records at any place of a sequence file."""

from __future__ import annotations

import operator
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

import numpy as np

from seqloom._arguments import as_flag, quote
from seqloom._files import write_atomic
from seqloom._ragged import Ragged
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, IdError
from seqloom.io._batch import SequenceBatch
from seqloom.io._index_file import open_index, reopen_index
from seqloom.io._numbers import whole_numbers
from seqloom.io._record import header_id, header_text
from seqloom.io._regular import check_lasting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import ArrayLike, NDArray

    from seqloom._rust import _native
    from seqloom.io._record import SequenceRecord

_MANY = 1 << 16


class SequenceIndex:
    """Reads records of a FASTA or FASTQ file by number, by id, or in part.

    The file may be plain, bgzip or ordinary gzip. The index is made once and kept beside
    the file (``reads.fq.gz.sli``); samtools' ``.fai`` (with ``.gzi``) is used where it is
    there and ours is not. Whatever is read is compared with the index: a file that has
    changed is an error, or, where it is another altogether, indexed anew with a warning.

    An index may be used by many threads, pickled, and used in forked processes: each
    process opens the file for itself.

    Args:
        path: The file.
        index: Where the index is kept; a name that ends in ``.fai`` is samtools'.
        build: Whether an index that is missing or of another file is made.
        num_threads: How many threads may take part; None takes as many as there are.

    Raises:
        MissingFileError: There is no such file, or no index and ``build`` is false.
        FileError: The file cannot be read, or it is a pipe or standard input.
        FormatError: It is no sequence file; or it was cut since it was indexed.

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
    """What is unusual: the index could not be written, or was made anew."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        index: str | os.PathLike[str] | None = None,
        build: bool = True,
        num_threads: int | None = None,
    ) -> None:
        check_lasting(path)
        build = as_flag("build", build)
        self.path = os.fspath(path)
        self._num_threads = num_threads
        threads = count_threads(num_threads)
        opened = open_index(self.path, index, build=build, threads=threads)
        self._use(opened.native)
        self._side, self.note = opened.side, opened.note
        self.format = opened.native.format
        self.compression = opened.native.compression
        self._content = opened.native.content

        self._kept: bytes | None = None

    def _use(self, native: _native.SequenceIndex) -> None:
        """Takes a native index, which belongs to this process."""
        self._native: _native.SequenceIndex | None = native
        self._process = os.getpid()
        self._lengths: NDArray[np.int64] | None = None
        self._rows: dict[str | bytes, int] = {}

    def _open(self) -> _native.SequenceIndex:
        """Gives the native index of this process."""
        if self._native is None or self._process != os.getpid():
            kept = self._kept if self._native is None else self._native.kept()
            self._use(
                reopen_index(
                    self.path, self._side or kept, self._content, threads=self._threads
                )
            )
        assert self._native is not None  # noqa: S101 - _use has just set it
        return self._native

    @property
    def _threads(self) -> int:
        """How many threads may take part, in this process."""
        return count_threads(self._num_threads)

    def __getstate__(self) -> dict[str, Any]:
        """Gives what another process needs; an index that has no file goes along."""
        state = {k: v for k, v in vars(self).items() if k not in _OF_PROCESS}
        state["_kept"] = None if self._side else self._open().kept()
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._native, self._process = None, 0
        self._rows, self._lengths = {}, None

    def __len__(self) -> int:
        return len(self._open())

    def __getitem__(self, key: int | str | bytes) -> SequenceRecord:
        row = self.row(key) if isinstance(key, (str, bytes)) else _number(key)
        return self.fetch_many([row], num_threads=1)[0]

    def __iter__(self) -> Iterator[SequenceRecord]:
        for start in range(0, len(self), _MANY >> 4):
            stop = min(start + (_MANY >> 4), len(self))
            yield from self.fetch_many(np.arange(start, stop))

    def __contains__(self, key: object) -> bool:
        return isinstance(key, (str, bytes)) and bool(self._open().find(_encode(key)))

    def __repr__(self) -> str:
        return f"SequenceIndex({self.path!r}): {len(self):,} records"

    @property
    def letters(self) -> int:
        """How many letters all records have."""
        return self._open().letters

    @property
    def content(self) -> int:
        """Names the file's content, as it was when the file was indexed."""
        return self._content

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many letters each record has."""
        if self._lengths is None:
            self._lengths = self._open().lengths()
            self._lengths.flags.writeable = False
        return self._lengths

    @property
    def ids(self) -> list[str]:
        """The id of each record, read from the file on demand."""
        return [header_text(header_id(header)) for header in self._headers()]

    def _headers(self) -> Iterator[bytes]:
        """Reads all headers."""
        for start in range(0, len(self), _MANY):
            rows = np.arange(start, min(start + _MANY, len(self)))
            yield from Ragged(*self._open().headers(rows)).to_list()

    def row(self, name: str | bytes) -> int:
        """Finds the number of the record with an id.

        Args:
            name: The id: the header's first word.

        Returns:
            Its number, from 0.

        Raises:
            IdError: No record has the id, or several have.
            ArgumentError: The id is no text.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("ids.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> SequenceIndex("ids.fa").row("b")
            1
        """
        if not _is_id(name):
            raise ArgumentError(f"expected an id, a text, got {quote(name)}")
        found = self._rows.get(name)
        if found is None:
            found = self._find(name)
            if len(self._rows) < _MANY:
                self._rows[name] = found
        return found

    def _find(self, name: str | bytes) -> int:
        """Looks an id up; it must be of one record."""
        rows = self._open().find(_encode(name))
        if len(rows) == 1:
            return rows[0]
        if not rows:
            raise IdError(f"{self.path}: no record has the id {name!r}")
        first = ", ".join(map(str, rows[:3]))
        raise IdError(
            f"{self.path}: {len(rows)} records have the id {name!r} ({first}"
            f"{', ...' if rows[3:] else ''}); ask for one by its number"
        )

    def fetch(self, record: int | str | bytes, start: int, stop: int) -> bytes:
        """Reads a part of a record, without the rest where lines are of equal length.

        Args:
            record: Its id or number.
            start: The first letter, from 0.
            stop: The first letter that is not wanted.

        Returns:
            The letters as in the file.

        Raises:
            OutOfRangeError: The part does not lie within the record.
            IdError: No record has the id, or several have.
            ArgumentError: The record is neither, or a place is no whole number.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("one.fa").write_text(">chr1\\nACGT\\nACGT\\n")
            >>> SequenceIndex("one.fa").fetch("chr1", 2, 6)
            b'GTAC'
        """
        row = self.row(record) if isinstance(record, (str, bytes)) else _number(record)
        return self.fetch_intervals([row], [start], [stop], num_threads=1).data.tobytes()

    def fetch_many(
        self, rows: ArrayLike, *, num_threads: int | None = None
    ) -> SequenceBatch:
        """Reads many records at once: sorted, neighbours together, on several threads.

        Args:
            rows: Their numbers, in any order; one may stand there twice, and a negative
                one counts from the end.
            num_threads: How many threads may take part; None takes the index's.

        Returns:
            The records, in the order asked for.

        Raises:
            OutOfRangeError: There is no such record.
            ArgumentError: A number is not whole.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("many.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> SequenceIndex("many.fa").fetch_many([1, 0]).sequences.to_list()
            [b'G', b'AC']
        """
        native = self._open()
        threads = self._threads if num_threads is None else count_threads(num_threads)
        columns = native.fetch_many(whole_numbers(rows), threads)
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
        """Reads parts of many records at once.

        Args:
            records: The record of each part: all ids, or all numbers.
            starts: The first letter of each, from 0.
            stops: The first letter of each that is not wanted.
            num_threads: How many threads may take part; None takes the index's.

        Returns:
            The letters of each part, in the order asked for.

        Raises:
            OutOfRangeError: A part does not lie within its record.
            IdError: No record has an id, or several have.
            ArgumentError: The records are neither, or a place is no whole number.
            FormatError: The file has changed since it was indexed.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("parts.fa").write_text(">a\\nACGT\\n>b\\nGGCC\\n")
            >>> index = SequenceIndex("parts.fa")
            >>> index.fetch_intervals(["b", "a"], [1, 0], [3, 2]).to_list()
            [b'GC', b'AC']
        """
        native = self._open()
        threads = self._threads if num_threads is None else count_threads(num_threads)
        rows = self._rows_of(records)
        return Ragged(
            *native.fetch_intervals(
                rows, whole_numbers(starts), whole_numbers(stops), threads
            )
        )

    def _rows_of(self, records: ArrayLike | Sequence[str]) -> NDArray[np.int64]:
        """Turns ids into numbers; numbers stay."""
        found = np.asarray(records)
        names: list[object] = found.reshape(-1).tolist()
        if found.dtype.kind not in "OSU" or not any(map(_is_id, names)):
            return whole_numbers(found)
        if not all(map(_is_id, names)):
            raise ArgumentError("expected ids or numbers of records, found both kinds")
        ids = cast("list[str | bytes]", names)
        return np.fromiter(map(self.row, ids), np.int64, len(ids))

    def write_fai(self) -> list[Path]:
        """Writes ``.fai`` beside the file, and ``.gzi`` for bgzip, as samtools does.

        Returns:
            What was written.

        Raises:
            FormatError: Lines are of unequal length, or an id stands twice, which those
                files cannot say.
            ArgumentError: The file is ordinary gzip, which they are not made for.

        Examples:
            >>> from pathlib import Path
            >>> _ = Path("plain.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
            >>> _ = SequenceIndex("plain.fa").write_fai()
            >>> Path("plain.fa.fai").read_text().splitlines()[0].split()
            ['a', '4', '3', '4', '5']
        """
        native = self._open()
        contents: dict[Path, bytes] = {}
        if self.compression != "none":
            contents[Path(f"{self.path}.gzi")] = native.gzi()
        contents[Path(f"{self.path}.fai")] = native.fai()
        for path, content in contents.items():
            write_atomic(path, content)
        return list(contents)


_OF_PROCESS = frozenset({"_native", "_process", "_lengths", "_rows", "_kept"})


def _number(key: SupportsIndex) -> int:
    """Takes a record's number; a fraction, a list or a slice is none."""
    try:
        return operator.index(key)
    except TypeError:
        raise ArgumentError(f"expected an id or a number, got {key!r:.80}") from None


def _is_id(key: object) -> bool:
    """Says whether something is a record's id."""
    return isinstance(key, (str, bytes))


def _encode(name: str | bytes) -> bytes:
    """Gives an id as it stands in the file."""
    return name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
