"""Reading a sequence file from start to end."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, Self, cast

from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, FormatError
from seqloom.io._batch import SequenceBatch
from seqloom.io._numbers import check_number
from seqloom.io._origin import resolve
from seqloom.io._remedy import suggest_numbered_ids
from seqloom.io._report import ReadReport, fault_of
from seqloom.io._settings import Settings
from seqloom.io._turn import Turn

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from seqloom.io._origin import Origin
    from seqloom.io._record import SequenceRecord
    from seqloom.io._settings import Format

_DEFAULTS = Settings()


class SequenceReader:
    """Reads a sequence file once, from start to end, as records or as columns.

    A reader belongs to one thread at a time: a second one that reads meanwhile gets an
    error. Threads that share a file open a reader each, or use a `SequenceIndex`.

    Args:
        path: The file, as `open_sequences` takes it.
        settings: How to read it; `open_sequences` makes them of its arguments.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> with SequenceReader("two.fa") as reader:
        ...     [batch.sequences.lengths.tolist() for batch in reader.batches(1)]
        [[4], [2]]
    """

    path: str
    format: Format
    compression: str

    def __init__(self, path: Origin, settings: Settings = _DEFAULTS) -> None:
        self.path, source = resolve(path)
        self._native = _native.SequenceReader(
            self.path,
            source,
            format=settings.format,
            quality=settings.quality,
            on_error=settings.on_error,
            comments=settings.comments,
            whitespace=settings.whitespace,
            ids=settings.ids,
            expect=settings.expect,
            max_record=settings.max_record,
            require_eof=settings.require_eof,
            with_qualities=settings.with_qualities,
            threads=count_threads(settings.num_threads),
            start=settings.start,
        )
        self.format = cast("Format", self._native.format)
        self.compression = self._native.compression
        # At the interpreter's end, too: a thread that reads ahead must not outlive it.
        self._finalizer = weakref.finalize(self, self._native.close)
        # A process that ends closes its files itself, and another thread may be reading.
        self._finalizer.atexit = False
        self._closed: ReadReport | None = None
        self._turn = Turn(self.path)

    def batches(self, n: int, *, max_bytes: int = 4 << 20) -> Iterator[SequenceBatch]:
        """Reads on as columns, from where the reader stands.

        Args:
            n: At most so many records a batch.
            max_bytes: At most so many letters a batch (one record at least): whichever
                comes first. Batches of more than 16 MiB take new memory each, which costs
                more time than reading does.

        Returns:
            Batches up to the end of the file.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or not below 2**63; or,
                while reading, another thread reads too.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nG\\n>c\\nT\\n")
            >>> with open_sequences("a.fa") as reader:
            ...     [batch.ids for batch in reader.batches(2)]
            [['a', 'b'], ['c']]
        """
        check_number("n", n)
        check_number("max_bytes", max_bytes)
        return self._read(n, max_bytes)

    def _read(self, n: int, max_bytes: int) -> Iterator[SequenceBatch]:
        """Reads batch after batch."""
        while (batch := self.read_batch(n, max_bytes)) is not None:
            yield batch

    def read_batch(self, n: int, max_bytes: int = 4 << 20) -> SequenceBatch | None:
        """Reads the next batch.

        Args:
            n: At most so many records.
            max_bytes: At most so many letters, one record at least.

        Returns:
            The batch; None after the last one.

        Raises:
            ArgumentError: The reader is closed, or another thread reads; or a number is
                below 1 or not below 2**63.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> with open_sequences("a.fa") as reader:
            ...     reader.read_batch(1).ids, reader.read_batch(9).ids, reader.read_batch(1)
            (['a'], ['b'], None)
        """
        if self._closed is not None:
            raise ArgumentError(f"{self.path}: the reader is closed")
        check_number("n", n)
        check_number("max_bytes", max_bytes)
        with self._turn:
            columns = self._columns(n, max_bytes)
        if columns is None:
            return None
        data, offsets, headers, header_offsets, qualities = columns
        return SequenceBatch(
            Ragged(headers, header_offsets),
            Ragged(data, offsets),
            None if qualities is None else Ragged(qualities, offsets),
        )

    def _columns(self, n: int, max_bytes: int) -> Any:
        """Reads columns; an error names what helps against a header without a word."""
        try:
            return self._native.read(n, max_bytes)
        except FormatError as error:
            suggest_numbered_ids(error)
            raise

    @property
    def report(self) -> ReadReport:
        """What was read so far, and what was left out."""
        if self._closed is not None:
            return self._closed
        with self._turn:
            records, left_out, faults = self._native.report()
        errors = tuple(fault_of(self.path, fault) for fault in faults)
        return ReadReport(records, left_out, errors)

    def __iter__(self) -> Iterator[SequenceRecord]:
        return (record for batch in self.batches(4096) for record in batch)

    def close(self) -> None:
        """Lets go of the file; a second call does nothing. The report stays.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n")
            >>> open_sequences("a.fa").close()
        """
        # Garbage is finalised in any order: the file may be closed already.
        if self._closed is None and self._finalizer.alive:
            self._closed = self.report
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
