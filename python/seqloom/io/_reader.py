"""Read a sequence file from start to end, and report skipped records."""

from __future__ import annotations

import threading
import weakref
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Self, cast

from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, FormatError
from seqloom.io._records import SequenceBatch
from seqloom.io._settings import ReadSettings, add_remedy, check_int_range, resolve_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._records import SequenceRecord
    from seqloom.io._settings import Format, PathOrFile


class ReaderLock:
    """A lock that raises an error in a second thread instead of making it wait."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        # If the second thread waited, each thread would read a random part of the
        # records.
        if not self._lock.acquire(blocking=False):
            raise ArgumentError(
                f"{self._name}: another thread is using this reader; open a reader "
                "for each thread"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """Number of records read so far, and the invalid records that were skipped.

    Args:
        records: Number of records read.
        left_out: Number of errors by kind (see `FormatError`). An invalid record is
            skipped, together with following records whose start cannot be found.
        faults: With ``on_error="collect"``, the first 1,000 errors in file order, with
            record, line and byte.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import open_sequences
        >>> _ = Path("a.fa").write_text(">a\\nAC GT\\n>b\\nGG\\n")
        >>> with open_sequences("a.fa", on_error="collect") as reader:
        ...     [record.id for record in reader], reader.report.left_out
        (['b'], {'letter': 1})
        >>> reader.report.faults[0].line, reader.report.faults[0].byte
        (2, 5)
    """

    records: int
    left_out: dict[str, int] = field(default_factory=dict[str, int])
    faults: tuple[FormatError, ...] = ()


NativeFault = tuple[str, int | None, str | None, int | None, int | None, str]


def _make_record_error(path: str, fault: NativeFault) -> FormatError:
    """Create the exception for an error of the Rust reader."""
    kind, record, name, line, byte, message = fault
    who = "" if record is None else f"record {record}" + (f" ({name}), " if name else ", ")
    at = "" if byte is None else f", byte {byte} of the text"
    where = "" if line is None else f"{who}line {line}{at}: "
    return FormatError(
        f"{path}: {where}{message}",
        kind=kind,
        path=path,
        record=record,
        line=line,
        byte=byte,
    )


_DEFAULT_SETTINGS = ReadSettings()


class SequenceReader:
    """Reader of a sequence file from start to end, as records or batches.

    Only one thread may use a reader at a time; in a second thread, an error is raised. To
    read with several threads, open one reader in each thread, or use a `SequenceIndex`.

    Args:
        path: The path, ``"-"`` for standard input, or a binary file object, as in
            `open_sequences`.
        settings: Options that `open_sequences` creates from its arguments.

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

    def __init__(
        self, path: PathOrFile, settings: ReadSettings = _DEFAULT_SETTINGS
    ) -> None:
        self.path, source = resolve_source(path)
        options = asdict(settings)
        threads = count_threads(options.pop("num_threads"))
        self._native = _native.SequenceReader(self.path, source, threads=threads, **options)
        self.format = cast("Format", self._native.format)
        self.compression = self._native.compression
        # Close readers at interpreter exit too, because read-ahead threads must have
        # ended by then.
        self._finalizer = weakref.finalize(self, self._native.close)
        # At exit, another thread may still be reading, and the system closes the files
        # anyway.
        self._finalizer.atexit = False
        self._closed: ReadReport | None = None
        self._reading = ReaderLock(self.path)

    def batches(self, n: int, *, max_bytes: int = 4 << 20) -> Iterator[SequenceBatch]:
        """Yield the remaining records as batches.

        Args:
            n: Maximum number of records in a batch.
            max_bytes: Maximum number of residues in a batch; a longer record is returned as
                a batch of one record. Batches above 16 MiB are slower, because each batch
                allocates new memory.

        Returns:
            Batches of the remaining records, in file order.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or at least 2**63, or another
                thread is reading.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nG\\n>c\\nT\\n")
            >>> with open_sequences("a.fa") as reader:
            ...     [batch.ids for batch in reader.batches(2)]
            [['a', 'b'], ['c']]
        """
        check_int_range("n", n)
        check_int_range("max_bytes", max_bytes)
        return iter(lambda: self.read_batch(n, max_bytes), None)

    def read_batch(self, n: int, max_bytes: int = 4 << 20) -> SequenceBatch | None:
        """Read the next batch.

        Args:
            n: Maximum number of records.
            max_bytes: Maximum number of residues; a longer record is returned as a batch of
                one record.

        Returns:
            The batch, or None at the end of the file.

        Raises:
            ArgumentError: The reader is closed, another thread is reading, or a number is
                below 1 or at least 2**63.
            FormatError: A record is invalid, or the file is truncated.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n>b\\nG\\n")
            >>> with open_sequences("a.fa") as reader:
            ...     reader.read_batch(1).ids, reader.read_batch(9).ids, reader.read_batch(1)
            (['a'], ['b'], None)
        """
        if self._closed is not None:
            raise ArgumentError(f"{self.path}: the reader is closed; open the file again")
        check_int_range("n", n)
        check_int_range("max_bytes", max_bytes)
        with self._reading:
            try:
                columns = self._native.read(n, max_bytes)
            except FormatError as error:
                add_remedy(error)
                raise
        if columns is None:
            return None
        data, offsets, headers, header_offsets, qualities = columns
        return SequenceBatch(
            Ragged(headers, header_offsets),
            Ragged(data, offsets),
            None if qualities is None else Ragged(qualities, offsets),
        )

    @property
    def report(self) -> ReadReport:
        """Number of records read so far, and the errors of skipped records."""
        if self._closed is not None:
            return self._closed
        with self._reading:
            records, left_out, faults = self._native.report()
        errors = tuple(_make_record_error(self.path, fault) for fault in faults)
        return ReadReport(records, left_out, errors)

    def __iter__(self) -> Iterator[SequenceRecord]:
        return (record for batch in self.batches(4096) for record in batch)

    def close(self) -> None:
        """Close the file; repeated calls have no effect. The report remains available.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("a.fa").write_text(">a\\nAC\\n")
            >>> open_sequences("a.fa").close()
        """
        # The garbage collector may already have closed the file.
        if self._closed is None and self._finalizer.alive:
            self._closed = self.report
            self._finalizer()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
