"""Write sequence records to one file, or read pairs to two files, in batches."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain, groupby, islice
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeGuard, cast

import numpy as np

from seqloom._arguments import as_choice, quote
from seqloom._files import as_path_text, atomic_path, atomic_paths
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError
from seqloom.io._open import PairedReader, check_pair_ids
from seqloom.io._reader import SequenceReader
from seqloom.io._records import SequenceBatch, SequenceRecord, join_batches, split_header
from seqloom.io._settings import check_int_range

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from seqloom.io._open import BatchPair
    from seqloom.io._settings import Format

RecordPair: TypeAlias = tuple[SequenceRecord, SequenceRecord]
Letters: TypeAlias = bytes | str
Row: TypeAlias = (
    SequenceRecord | tuple[Letters, Letters] | tuple[Letters, Letters, Letters | None]
)
Pair: TypeAlias = "BatchPair | RecordPair"
Pairs: TypeAlias = "PairedReader | Iterable[Pair]"
Records: TypeAlias = (
    "SequenceReader | PairedReader | SequenceBatch | Iterable[Row | SequenceBatch | Pair]"
)
_Columns: TypeAlias = tuple[bytes, bytes, bytes | None]
Compression: TypeAlias = Literal["none", "gzip", "bgzip"]

_FORMATS = {
    **dict.fromkeys((".fa", ".fas", ".fasta", ".faa", ".ffn", ".fna"), "fasta"),
    **dict.fromkeys((".fastq", ".fq"), "fastq"),
}
_COMPRESSIONS = {".bgz": "bgzip", ".gz": "gzip"}
_READ_ONLY_SUFFIXES = {".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}
_MAX_LEVEL = 9
_PAIR_SIZE = 2
# Maximum number of records (or pairs), and of residues, in a batch of collected
# records.
_BLOCK_RECORDS = 4096
_BLOCK_RESIDUES = 4 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """Validated options of `write_sequences` that apply to one file."""

    format: str
    compression: str
    line_width: int | None
    level: int
    threads: int

    def __post_init__(self) -> None:
        as_choice("format", self.format, ("fasta", "fastq"))
        as_choice("compression", self.compression, ("none", "gzip", "bgzip"))
        if self.line_width is not None:
            check_int_range("line_width", self.line_width)
        check_int_range("level", self.level, least=0)
        if self.level > _MAX_LEVEL:
            raise ArgumentError(f"level must be from 0 to {_MAX_LEVEL}, got {self.level}")


def _find_format(name: str) -> str:
    """Return the format that a file name implies."""
    *_, suffix, last = ["", "", *PurePath(name).suffixes]
    found = _FORMATS.get((suffix if last.lower() in _COMPRESSIONS else last).lower())
    if found is None:
        raise ArgumentError(
            f"{name}: the name does not imply a format; use a name that ends in .fa, "
            "fasta, .fq or .fastq (and .gz or .bgz), or give the format: fasta or fastq"
        )
    return found


def _find_compression(name: str) -> str:
    """Return the compression that a file name implies; raise if it cannot be written."""
    suffix = PurePath(name).suffix.lower()
    if container := _READ_ONLY_SUFFIXES.get(suffix):
        raise ArgumentError(
            f"{name}: seqloom reads {container} but does not write it; use a name that "
            "ends in .gz or .bgz, or give the compression: none, gzip or bgzip"
        )
    return _COMPRESSIONS.get(suffix, "none")


Target: TypeAlias = str | os.PathLike[str]


def write_sequences(  # noqa: PLR0913 - each is a property of a file
    path: Target | tuple[Target, Target],
    records: Records | Pairs,
    *,
    format: Format | None = None,  # noqa: A002 - the usual name
    compression: Compression | None = None,
    line_width: int | None = 60,
    level: int = 6,
    num_threads: int | None = None,
) -> int:
    """Write sequence records to a file; a failure leaves no partial file.

    `open_sequences` reads the same records, headers and qualities from the file, byte for
    byte. A record that `open_sequences` would reject raises an error.

    Args:
        path: The path of the file; ``"-"`` is standard output. A pair of paths writes first
            reads to one file and second reads to the other; a failure leaves neither file.
        records: A reader, a batch, or an iterable of records, batches, ``(id, sequence)``
            or ``(id, sequence, quality)``. The id may contain a description after a space.
            For read pairs: a `PairedReader`, or an iterable of pairs of records or batches.
        format: ``"fasta"`` or ``"fastq"``; None uses the file name (``.fa``, ``.fas``,
            ``.fasta``, ``.fna``, ``.faa``, ``.ffn``, ``.fq``, ``.fastq``). FASTA omits the
            qualities.
        compression: ``"none"``, ``"gzip"`` or ``"bgzip"``. With None, the file name
            decides: ``.gz`` is gzip, ``.bgz`` is bgzip, and other names mean no
            compression. Names that end in ``.bz2``, ``.xz`` or ``.zst`` raise an error.
        line_width: Number of residues on each line of FASTA; None writes each sequence on
            one line.
        level: Compression level, from 0 (none) to 9 (smallest file).
        num_threads: Number of compression threads; None or 0 uses all cores.

    Returns:
        The number of records written, or of pairs for a pair of files.

    Raises:
        ArgumentError: The file name implies no supported format or compression, or
            ``records`` has an unsupported type.
        FileError: The file cannot be written.
        FormatError: A record cannot be written unchanged, or the reads of a pair
            have different ids.

    Examples:
        >>> write_sequences("two.fa.gz", [("a first", "ACGT"), ("b", "GG")])
        2
        >>> from seqloom.io import open_sequences
        >>> with open_sequences("two.fa.gz") as reader:
        ...     write_sequences("again.fa", reader)
        2
        >>> from pathlib import Path
        >>> Path("again.fa").read_text()
        '>a first\\nACGT\\n>b\\nGG\\n'
        >>> _ = Path("both.fa").write_text(">a/1\\nAC\\n>a/2\\nGT\\n")
        >>> with open_sequences("both.fa", interleaved=True) as reader:
        ...     write_sequences(("r1.fa", "r2.fa"), reader)
        1
        >>> Path("r2.fa").read_text()
        '>a/2\\nGT\\n'
    """
    files = path if isinstance(path, tuple) else (path,)
    names = [
        as_path_text("path", file, one="one file, or a pair of paths") for file in files
    ]
    outputs = [
        FileOptions(
            compression=compression or _find_compression(name),
            format=format or _find_format(name),
            line_width=line_width,
            level=level,
            threads=count_threads(num_threads),
        )
        for name in names
    ]
    if isinstance(path, tuple):
        _check_output_pair(names)
        return _write_pairs(names, cast("Pairs", records), outputs)
    name, batches = names[0], _to_batches(cast("Records", records))
    if name == "-":
        return _write_batches(name, batches, output=outputs[0], file=sys.stdout.buffer)
    with atomic_path(name) as part:
        return _write_batches(name, batches, output=outputs[0], part=part)


def _write_batches(
    name: str,
    batches: Iterable[SequenceBatch],
    *,
    output: FileOptions,
    part: Path = Path(),
    file: BinaryIO | None = None,
) -> int:
    """Write records to a temporary path or a file object."""
    writer = _native.SequenceWriter(part, file, name=name, **asdict(output))
    for batch in batches:
        _write_batch(writer, batch)
    return writer.finish()


def _write_batch(writer: _native.SequenceWriter, batch: SequenceBatch) -> None:
    """Write all records of a batch."""
    headers, sequences, qualities = batch.headers, batch.sequences, batch.qualities
    writer.write(
        headers.data,
        headers.offsets,
        sequences.data,
        sequences.offsets,
        None if qualities is None else (qualities.data, qualities.offsets),
    )


def _check_output_pair(names: Sequence[str]) -> None:
    """Raise if two output files cannot be written together."""
    if len(names) != _PAIR_SIZE:
        raise ArgumentError(
            f"path must be one file or a pair of files, got {len(names)} files"
        )
    if "-" in names:
        raise ArgumentError(
            "-: standard output is one file, but a pair needs two: give both files, or "
            "one path for reads that alternate"
        )
    if len(set(map(os.path.realpath, names))) < _PAIR_SIZE:
        raise ArgumentError(f"{names[0]}: both paths are the same file; give two files")


def _write_pairs(names: Sequence[str], pairs: Pairs, outputs: Sequence[FileOptions]) -> int:
    """Write first and second reads to two files; a failure leaves neither file."""
    count = 0
    with atomic_paths(names) as parts:
        writers = [
            _native.SequenceWriter(part, None, name=name, **asdict(output))
            for part, name, output in zip(parts, names, outputs, strict=True)
        ]
        for pair in _to_batch_pairs(pairs):
            check_pair_ids(pair, paths=tuple(names), start=count)
            for writer, batch in zip(writers, pair, strict=True):
                _write_batch(writer, batch)
            count += len(pair[0])
        for writer in writers:
            writer.finish()
    return count


def _to_batches(records: Records) -> Iterator[SequenceBatch]:
    """Convert the records to batches, in the same order."""
    if isinstance(records, SequenceBatch):
        yield records
    elif isinstance(records, SequenceReader):
        yield from records.batches(1 << 16, max_bytes=_BLOCK_RESIDUES)
    elif isinstance(records, PairedReader):
        yield from map(_interleave, records.batches(1 << 16, max_bytes=_BLOCK_RESIDUES))
    elif not isinstance(cast("object", records), Iterable):
        raise ArgumentError(
            "records must be a reader, a batch or an iterable of records; got "
            f"{type(records).__name__}"
        )
    else:
        yield from _make_batches(records)


def _interleave(pair: BatchPair) -> SequenceBatch:
    """Merge two batches into one batch in which first and second reads alternate."""
    first, second = _check_equal_sizes(pair)
    rows = np.arange(2 * len(first)).reshape(2, -1).T.reshape(-1)
    return join_batches([first, second]).take(rows)


def _check_equal_sizes(pair: BatchPair) -> BatchPair:
    """Raise if two batches have different lengths."""
    first, second = map(len, pair)
    if first != second:
        raise ArgumentError(
            f"expected equal numbers of first and second reads, found {first:,} first "
            f"reads and {second:,} second reads"
        )
    return pair


def _is_batch_pair(value: object) -> TypeGuard[BatchPair]:
    """Return whether a value is a pair of batches."""
    return _is_pair_of(value, SequenceBatch)


def _is_record_pair(value: object) -> TypeGuard[RecordPair]:
    """Return whether a value is a pair of records."""
    return _is_pair_of(value, SequenceRecord)


def _is_pair_of(value: object, kind: type) -> bool:
    """Return whether a value is a tuple of two instances of a class."""
    if not isinstance(value, tuple):
        return False
    mates = cast("tuple[object, ...]", value)
    return (
        len(mates) == _PAIR_SIZE
        and isinstance(mates[0], kind)
        and isinstance(mates[1], kind)
    )


def _make_batches(records: Iterable[Row | SequenceBatch | Pair]) -> Iterator[SequenceBatch]:
    """Collect single records into batches; yield batches unchanged."""
    rows: list[_Columns] = []
    letters = 0
    for record in chain.from_iterable(map(_split_pair, records)):
        if isinstance(record, SequenceBatch):
            yield from _yield_batch(rows)
            yield record
            continue
        rows.append(_parse_record(record))
        letters += len(rows[-1][1])
        if len(rows) >= _BLOCK_RECORDS or letters >= _BLOCK_RESIDUES:
            yield from _yield_batch(rows)
            letters = 0
    yield from _yield_batch(rows)


def _split_pair(record: Row | SequenceBatch | Pair) -> tuple[Row | SequenceBatch, ...]:
    """Return the first and the second read of a pair."""
    if not isinstance(record, tuple):
        return (record,)
    if _is_batch_pair(record):
        return (_interleave(record),)
    return record if _is_record_pair(record) else (cast("Row | SequenceBatch", record),)


def _yield_batch(rows: list[_Columns]) -> Iterator[SequenceBatch]:
    """Yield the collected rows as a batch, unless there are no rows; clear the list."""
    if not rows:
        return
    headers, sequences, qualities = zip(*rows, strict=True)
    rows.clear()
    known = [quality for quality in qualities if quality is not None]
    if known and len(known) < len(qualities):
        raise ArgumentError("either all or no records must have qualities; found both")
    yield SequenceBatch(
        Ragged.from_list(headers),
        Ragged.from_list(sequences),
        Ragged.from_list(known) if known else None,
    )


def _parse_record(record: Row) -> _Columns:
    """Return the header, residues and qualities of a record."""
    if isinstance(record, SequenceRecord):
        return _format_header(record), record.sequence, record.quality
    fields = cast("Sequence[Letters | None]", record)
    if not isinstance(fields, tuple | list) or len(fields) not in {2, 3}:
        raise ArgumentError(
            "expected a SequenceRecord, a SequenceBatch, (id, sequence) or "
            f"(id, sequence, quality); got {quote(record)}"
        )
    name, sequence, *rest = map(_encode_text, fields)
    return name or b"", sequence or b"", rest[0] if rest else None


def _format_header(record: SequenceRecord) -> bytes:
    """Return the original header, or a new header if id or description were changed."""
    if record.header is not None and split_header(record.header) == (
        record.id,
        record.description,
    ):
        return record.header
    if not record.id.strip():
        return b""
    text = f"{record.id} {record.description}" if record.description else record.id
    return _encode_text(text) or b""


def _encode_text(text: Letters | None) -> bytes | None:
    """Encode text as UTF-8."""
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        raise ArgumentError(f"expected UTF-8 text, got {quote(text)}") from None


def _to_batch_pairs(pairs: Pairs) -> Iterator[BatchPair]:
    """Convert pairs to two batches with equal numbers of records, in the same order."""
    if isinstance(pairs, PairedReader):
        yield from pairs.batches(1 << 16, max_bytes=_BLOCK_RESIDUES)
        return
    for is_columns, group in groupby(pairs, _is_batch_pair):
        if is_columns:
            yield from (_check_equal_sizes(pair) for pair in group if _is_batch_pair(pair))
            continue
        mates = map(_check_record_pair, group)
        while several := list(islice(mates, _BLOCK_RECORDS)):
            first, second = zip(*several, strict=True)
            yield (
                join_batches(list(_to_batches(first))),
                join_batches(list(_to_batches(second))),
            )


def _check_record_pair(pair: object) -> RecordPair:
    """Raise if a value is not a pair of records."""
    if not _is_record_pair(pair):
        raise ArgumentError(
            "expected pairs of two SequenceRecords or of two SequenceBatches, got "
            f"{quote(pair)}"
        )
    return pair
