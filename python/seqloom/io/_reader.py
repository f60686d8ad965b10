"""Reading a sequence file from start to end, and the report of what was left out."""

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
from seqloom.io._settings import ReadSettings, add_remedy, check_number, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._records import SequenceRecord
    from seqloom.io._settings import Format, Origin


class ReaderLock:
    """Lets one thread read, and refuses a second one instead of letting it wait."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        # Waiting would hide the mistake: which thread gets which record would be chance.
        if not self._lock.acquire(blocking=False):
            raise ArgumentError(
                f"{self._name}: another thread is reading with this reader; open a reader "
                "for each thread"
            )

    def __exit__(self, *_: object) -> None:
        self._lock.release()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """The number of records read so far, and the faulty records that were left out.

    Args:
        records: The number of records read.
        left_out: The number of faults by kind (`FormatError` lists the kinds). A record
            with a fault is left out. A fault may hide the beginning of further records:
            then one fault stands for several records.
        faults: With ``on_error="collect"``, the first thousand faults in the order of the
            file, as errors with record, line and byte that were not raised.

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


Fault = tuple[str, int | None, str | None, int | None, int | None, str]


def _make_fault(path: str, fault: Fault) -> FormatError:
    """Make the error of a fault."""
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


_DEFAULTS = ReadSettings()


class SequenceReader:
    """Reads a sequence file once, from start to end, as records or as columns.

    Only one thread at a time may read; a second one gets an error. For several threads
    open a reader in each, or use a `SequenceIndex`.

    Args:
        path: The path, ``"-"`` or the file object, as for `open_sequences`.
        settings: The options; `open_sequences` makes them of its arguments.

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

    def __init__(self, path: Origin, settings: ReadSettings = _DEFAULTS) -> None:
        self.path, source = resolve(path)
        options = asdict(settings)
        threads = count_threads(options.pop("num_threads"))
        self._native = _native.SequenceReader(self.path, source, threads=threads, **options)
        self.format = cast("Format", self._native.format)
        self.compression = self._native.compression
        # At the interpreter's end, too: a thread that reads ahead must not outlive it.
        self._finalizer = weakref.finalize(self, self._native.close)
        # A process that ends closes its files itself, and another thread may be reading.
        self._finalizer.atexit = False
        self._closed: ReadReport | None = None
        self._reading = ReaderLock(self.path)

    def batches(self, n: int, *, max_bytes: int = 4 << 20) -> Iterator[SequenceBatch]:
        """Read the remaining records as batches of columns.

        Args:
            n: The largest number of records in a batch.
            max_bytes: The largest number of letters in a batch; a longer record is a batch
                of its own. Batches of more than 16 MiB take new memory each, which costs
                more time than reading does.

        Returns:
            Batches up to the end of the file.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or not below 2**63; or another
                thread is reading.

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
        return iter(lambda: self.read_batch(n, max_bytes), None)

    def read_batch(self, n: int, max_bytes: int = 4 << 20) -> SequenceBatch | None:
        """Read the next batch.

        Args:
            n: The largest number of records.
            max_bytes: The largest number of letters; a longer record is a batch of its own.

        Returns:
            The batch; None after the last one.

        Raises:
            ArgumentError: The reader is closed, another thread is reading, or a number is
                below 1 or not below 2**63.
            FormatError: A record has a fault, or the file was cut.

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
        check_number("n", n)
        check_number("max_bytes", max_bytes)
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
        """The number of records read so far, and the faults that were left out."""
        if self._closed is not None:
            return self._closed
        with self._reading:
            records, left_out, faults = self._native.report()
        errors = tuple(_make_fault(self.path, fault) for fault in faults)
        return ReadReport(records, left_out, errors)

    def __iter__(self) -> Iterator[SequenceRecord]:
        return (record for batch in self.batches(4096) for record in batch)

    def close(self) -> None:
        """Close the file; a second call does nothing. The report stays.

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

    def __exit__(self, *_: object) -> None:
        self.close()
