"""Open sequence files, and read pairs from two files or one interleaved file."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, Self, TypeAlias, TypedDict, Unpack, overload

import numpy as np

from seqloom._arguments import as_bool
from seqloom._rust import _native
from seqloom._warning import warn_user
from seqloom.errors import ArgumentError, FormatError
from seqloom.io._reader import ReaderLock, SequenceReader
from seqloom.io._records import decode_header, join_batches, parse_id
from seqloom.io._settings import MAX_INT64, ReadSettings, check_int_range, is_same_file

if TYPE_CHECKING:
    from collections.abc import Iterator

    from seqloom.io._records import SequenceBatch, SequenceRecord
    from seqloom.io._settings import (
        Comments,
        Format,
        IdRule,
        OnError,
        PathOrFile,
        Quality,
        Whitespace,
    )


# Matches an id and an Illumina comment such as 1:N:0:ATCACG, where 1 is the read
# number.
_READ_NUMBER = re.compile(rb"\s*\S+\s+([1-3]):[YN]:\d+:")
BatchPair: TypeAlias = "tuple[SequenceBatch, SequenceBatch]"
PairSource: TypeAlias = "PairedFiles | InterleavedFile"
_PAIR_SIZE = 2


def check_pair_ids(pair: BatchPair, *, paths: tuple[str, ...], start: int) -> None:
    """Raise if the ids of a pair differ; ``start`` is the index of the first pair."""
    one, other = (batch.headers for batch in pair)
    row = _native.first_mismatch(one.data, one.offsets, other.data, other.offsets)
    if row is None:
        return
    ids = [decode_header(parse_id(headers[row].tobytes())) for headers in (one, other)]
    number = start + row
    raise FormatError(
        f"{' and '.join(paths)}: pair {number}: expected two reads of one fragment, "
        f"found {ids[0]!r} and {ids[1]!r}; both files must have the same order",
        kind="names",
        path=paths[-1],
        record=number,
    )


def _check_read_numbers(pair: BatchPair, paths: tuple[str, ...]) -> None:
    """Warn if the read numbers in the Illumina comments of a pair do not increase."""
    first = [batch.headers[0].tobytes() for batch in pair if len(batch)]
    ends = [match[1] for header in first if (match := _READ_NUMBER.match(header))]
    if len(ends) == len(pair) and ends[0] >= ends[1]:
        headers = list(map(decode_header, first))
        numbers = [end.decode() for end in ends]
        warn_user(
            f"{' and '.join(paths)}: the headers of the first pair are {headers[0]!r} and "
            f"{headers[1]!r}: reads {numbers[0]} and {numbers[1]} of a "
            "fragment, expected 1 and 2; give the file of first reads first, and do not "
            "give the same file twice"
        )


class PairedReader:
    """Reader of read pairs, created by `open_sequences`.

    Args:
        mates: The reader of first and second reads, from two files or one interleaved file.

    Examples:
        >>> from pathlib import Path
        >>> from seqloom.io import open_sequences
        >>> _ = Path("r1.fq").write_text("@a/1\\nAC\\n+\\nII\\n@b/1\\nGG\\n+\\nII\\n")
        >>> _ = Path("r2.fq").write_text("@a/2\\nTT\\n+\\nII\\n@b/2\\nCA\\n+\\nII\\n")
        >>> with open_sequences(("r1.fq", "r2.fq")) as reader:
        ...     [(one.id, other.sequence) for one, other in reader]
        [('a/1', b'TT'), ('b/1', b'CA')]
    """

    def __init__(self, mates: PairSource) -> None:
        self._mates = mates
        self._count = 0
        self._reading = ReaderLock(" and ".join(self.paths))

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths of the two files, or of the interleaved file."""
        return tuple(reader.path for reader in self._mates.readers)

    @property
    def format(self) -> Format:
        """Format of the first file: ``"fastq"`` or ``"fasta"``."""
        return self._mates.readers[0].format

    def batches(self, n: int, *, max_bytes: int = 4 << 20) -> Iterator[BatchPair]:
        """Yield the remaining pairs as batches.

        Args:
            n: Maximum number of pairs in a batch.
            max_bytes: Approximate maximum number of residues in a batch; a longer pair is
                returned as a batch of one pair.

        Returns:
            Tuples of two batches with equal numbers of records: first reads and second
            reads.

        Raises:
            ArgumentError: ``n`` or ``max_bytes`` is below 1 or at least 2**63, or another
                thread is reading.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("both.fq").write_text("@a\\nAC\\n+\\nII\\n@a\\nGG\\n+\\nII\\n")
            >>> with open_sequences("both.fq", interleaved=True) as reader:
            ...     [(len(one), len(other)) for one, other in reader.batches(9)]
            [(1, 1)]
        """
        check_int_range("n", n)
        check_int_range("max_bytes", max_bytes)
        return iter(lambda: self._read_pair(n, max_bytes), None)

    def _read_pair(self, n: int, max_bytes: int) -> BatchPair | None:
        """Read the next batch of pairs, and check that the ids of each pair match."""
        with self._reading:
            pair = self._mates.read(n, max_bytes)
            if pair is not None:
                check_pair_ids(pair, paths=self.paths, start=self._count)
                if self._count == 0:
                    _check_read_numbers(pair, self.paths)
                self._count += len(pair[0])
            return pair

    def __iter__(self) -> Iterator[tuple[SequenceRecord, SequenceRecord]]:
        pairs = self.batches(4096)
        return (mates for pair in pairs for mates in zip(*pair, strict=True))

    def close(self) -> None:
        """Close the files; repeated calls have no effect.

        Examples:
            >>> from pathlib import Path
            >>> from seqloom.io import open_sequences
            >>> _ = Path("both.fq").write_text("@a\\nAC\\n+\\nII\\n@a\\nGG\\n+\\nII\\n")
            >>> open_sequences("both.fq", interleaved=True).close()
        """
        with ExitStack() as stack:
            for reader in self._mates.readers:
                stack.callback(reader.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class PairedFiles:
    """Reader of pairs with first reads in one file and second reads in another file."""

    def __init__(self, first: SequenceReader, second: SequenceReader) -> None:
        self.readers = (first, second)
        self._count = 0

    def read(self, n: int, max_bytes: int) -> BatchPair | None:
        """Read a batch of first reads and the same number of second reads."""
        first, second = self.readers
        one = first.read_batch(n, max(max_bytes // 2, 1))
        other = _read_up_to(second, 1 if one is None else len(one))
        if one is not None and other is not None and len(one) == len(other):
            self._count += len(one)
            return one, other
        if one is None and other is None:
            return None
        ended, longer = self.readers if one is None else reversed(self.readers)
        at = 0 if one is None or other is None else len(other)
        rest = other if one is None else one
        record = self._count + at
        raise FormatError(
            f"{ended.path}: ends after {record:,} records, but {longer.path} "
            f"continues with record {record} ({_find_id(rest, at)}); each pair needs a "
            "read in both files",
            kind="count",
            path=ended.path,
            record=record,
        )


class InterleavedFile:
    """Reader of pairs whose first and second reads alternate in one file."""

    def __init__(self, reader: SequenceReader) -> None:
        self.readers = (reader,)
        self._count = 0

    def read(self, n: int, max_bytes: int) -> BatchPair | None:
        """Read a batch of pairs; raise if the last record of the file has no mate."""
        (reader,) = self.readers
        batch = reader.read_batch(min(2 * n, MAX_INT64), max_bytes)
        if batch is None:
            return None
        if len(batch) % 2:
            mate = reader.read_batch(1, MAX_INT64)
            if mate is None:
                record = self._count + len(batch) - 1
                raise FormatError(
                    f"{reader.path}: record {record} ({_find_id(batch, -1)}): expected its "
                    f"mate, found the end of the file: {record + 1:,} records cannot be "
                    "pairs",
                    kind="count",
                    path=reader.path,
                    record=record,
                )
            batch = join_batches([batch, mate])
        self._count += len(batch)
        rows = np.arange(len(batch))
        return batch.take(rows[0::2]), batch.take(rows[1::2])


def _read_up_to(reader: SequenceReader, n: int) -> SequenceBatch | None:
    """Read up to n records, with any number of residues."""
    batches: list[SequenceBatch] = []
    while n and (batch := reader.read_batch(n, MAX_INT64)) is not None:
        batches.append(batch)
        n -= len(batch)
    return join_batches(batches) if batches else None


def _find_id(batch: SequenceBatch | None, row: int) -> str:
    """Return the id of a record in a batch."""
    return "" if batch is None else decode_header(parse_id(batch.headers[row].tobytes()))


class OpenOptions(TypedDict, total=False):
    """Options of `open_sequences` that apply to one file."""

    format: Format | None
    quality: Quality
    on_error: OnError
    comments: Comments
    whitespace: Whitespace
    ids: IdRule
    expect: int | None
    max_record: int | None
    require_eof: bool
    num_threads: int | None


@overload
def open_sequences(
    path: PathOrFile, *, interleaved: Literal[False] = False, **options: Unpack[OpenOptions]
) -> SequenceReader: ...


@overload
def open_sequences(
    path: PathOrFile, *, interleaved: Literal[True], **options: Unpack[OpenOptions]
) -> PairedReader: ...


@overload
def open_sequences(
    path: tuple[PathOrFile, PathOrFile], **options: Unpack[OpenOptions]
) -> PairedReader: ...


def open_sequences(  # noqa: PLR0913 - each is a property of a file
    path: PathOrFile | tuple[PathOrFile, PathOrFile],
    *,
    format: Format | None = None,  # noqa: A002 - the usual name
    quality: Quality = "phred33",
    on_error: OnError = "raise",
    comments: Comments = "error",
    whitespace: Whitespace = "error",
    ids: IdRule = "error",
    interleaved: bool = False,
    expect: int | None = None,
    max_record: int | None = None,
    require_eof: bool = True,
    num_threads: int | None = None,
) -> SequenceReader | PairedReader:
    """Open a FASTA or FASTQ file, plain or compressed.

    Format and compression (gzip, bgzip, bzip2, xz, zstd) are detected from the content, not
    from the name. An invalid record raises an error that states file, record, line and
    byte; no record is skipped unless ``on_error`` allows it.

    Args:
        path: The path of the file, ``"-"`` for standard input, or a binary file object,
            which is read from its current position and remains open. A pair of files
            contains first and second reads in the same order.
        format: The required format, ``"fasta"`` or ``"fastq"``; None accepts both formats.
        quality: The quality encoding of FASTQ: ``"phred33"``, ``"phred64"`` or
            ``"solexa"``. A quality character outside this encoding raises an error;
            `inspect` reports the encodings that fit a file.
        on_error: ``"raise"`` raises an error for an invalid record. ``"skip"`` skips
            invalid records and counts them in ``reader.report``. ``"collect"`` skips
            and counts invalid records, and stores their errors in the report. Corrupt
            compressed data always raises an error.
        comments: ``"error"`` or ``"skip"`` for FASTA lines that begin with ``;`` or ``#``
            before a header.
        whitespace: ``"error"`` or ``"strip"`` for white space within FASTA sequences.
        ids: ``"error"`` for a header without an id, or ``"number"`` to use the index of the
            record in the file, from 0.
        interleaved: True if first and second reads alternate in the file.
        expect: Expected number of records (or pairs). A different number raises an error;
            the check detects a file that was truncated between two records.
        max_record: Maximum number of residues in a sequence; None means 64 Mi for FASTQ and
            no limit for FASTA.
        require_eof: If True, a bgzip file without its end-of-file block raises an error.
        num_threads: Number of decompression threads; None or 0 uses all cores.

    Returns:
        A `SequenceReader`, or a `PairedReader` for read pairs.

    Raises:
        MissingFileError: The file does not exist.
        FileError: The path is a folder, or the file cannot be read.
        FormatError: The file is empty, not a sequence file, or not in the required format.
        ArgumentError: An option has an unknown value, or two options contradict each other.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.fa").write_text(">a first\\nACGT\\nAC\\n>b\\nGG\\n")
        >>> with open_sequences("two.fa") as reader:
        ...     [(record.id, record.sequence) for record in reader]
        [('a', b'ACGTAC'), ('b', b'GG')]
        >>> _ = Path("cut.fq").write_text("@a\\nACGT\\n+\\nIIII\\n@b\\nACGT\\n+\\nII\\n")
        >>> with open_sequences("cut.fq", on_error="skip") as reader:
        ...     len(list(reader)), reader.report.left_out
        (1, {'cut': 1})
    """
    settings = ReadSettings(
        format=format,
        quality=quality,
        on_error=on_error,
        comments=comments,
        whitespace=whitespace,
        ids=ids,
        expect=expect,
        max_record=max_record,
        require_eof=require_eof,
        num_threads=num_threads,
    )
    interleaved = as_bool("interleaved", interleaved)
    if isinstance(path, tuple):
        if len(path) != _PAIR_SIZE:
            raise ArgumentError(
                f"path must be one file or a pair of files, got {len(path)} files"
            )
        return _open_file_pair(path, settings, interleaved=interleaved)
    if not interleaved:
        return SequenceReader(path, settings)
    _check_pair_options(settings)
    reads = None if expect is None else 2 * expect
    reader = SequenceReader(path, replace(settings, expect=reads))
    return PairedReader(InterleavedFile(reader))


def _open_file_pair(
    paths: tuple[PathOrFile, PathOrFile], settings: ReadSettings, *, interleaved: bool
) -> PairedReader:
    """Open two files of read pairs: first reads (R1) and second reads (R2)."""
    if interleaved:
        raise ArgumentError(
            "interleaved=True means one file with both reads, got a pair of files"
        )
    if is_same_file(*paths):
        raise ArgumentError(
            f"{paths[0]}: both paths are the same file; for reads that alternate in one "
            "file give its path once, with interleaved=True"
        )
    _check_pair_options(settings)
    first = SequenceReader(paths[0], settings)
    try:
        return PairedReader(PairedFiles(first, SequenceReader(paths[1], settings)))
    except BaseException:
        first.close()
        raise


def _check_pair_options(settings: ReadSettings) -> None:
    """Raise for options that could drop only one read of a pair."""
    if settings.on_error != "raise":
        raise ArgumentError(
            f"on_error={settings.on_error!r} would skip single reads of pairs; for "
            "pairs give on_error='raise'"
        )
