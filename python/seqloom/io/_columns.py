"""From records and pairs of every kind to columns, so that they can be written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, groupby, islice
from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

import numpy as np

from seqloom._arguments import quote
from seqloom._ragged import Ragged
from seqloom.errors import ArgumentError
from seqloom.io._pairs import PairedReader
from seqloom.io._reader import SequenceReader
from seqloom.io._records import SequenceBatch, SequenceRecord, join, split_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.io._pairs import BatchPair

RecordPair: TypeAlias = tuple[SequenceRecord, SequenceRecord]

_TWO = 2


def interleave(pair: BatchPair) -> SequenceBatch:
    """Joins the batches of a pair into one, in which first and second reads alternate."""
    first, second = check_lengths(pair)
    rows = np.arange(2 * len(first)).reshape(2, -1).T.reshape(-1)
    return join([first, second]).take(rows)


def check_lengths(pair: BatchPair) -> BatchPair:
    """Refuses two batches of different lengths."""
    first, second = map(len, pair)
    if first != second:
        raise ArgumentError(
            f"expected as many second reads as first reads, found {first:,} first reads "
            f"and {second:,} second reads"
        )
    return pair


def is_batch_pair(value: object) -> TypeGuard[BatchPair]:
    """Says whether a value is a batch of first reads and a batch of second reads."""
    return _are_two(value, SequenceBatch)


def is_record_pair(value: object) -> TypeGuard[RecordPair]:
    """Says whether a value is a first and a second read."""
    return _are_two(value, SequenceRecord)


def _are_two(value: object, kind: type) -> bool:
    """Says whether a value is a tuple of two instances of a class."""
    if not isinstance(value, tuple):
        return False
    mates = cast("tuple[object, ...]", value)
    return len(mates) == _TWO and isinstance(mates[0], kind) and isinstance(mates[1], kind)


Letters: TypeAlias = bytes | str
Row: TypeAlias = (
    SequenceRecord | tuple[Letters, Letters] | tuple[Letters, Letters, Letters | None]
)
Pair: TypeAlias = "BatchPair | RecordPair"
Records: TypeAlias = (
    "SequenceReader | PairedReader | SequenceBatch | Iterable[Row | SequenceBatch | Pair]"
)

_MOST_ROWS = 4096
_MOST_LETTERS = 4 << 20


def to_batches(records: Records) -> Iterator[SequenceBatch]:
    """Converts records to batches, in their order."""
    if isinstance(records, SequenceBatch):
        yield records
    elif isinstance(records, SequenceReader):
        yield from records.batches(1 << 16, max_bytes=_MOST_LETTERS)
    elif isinstance(records, PairedReader):
        yield from map(interleave, records.batches(1 << 16, max_bytes=_MOST_LETTERS))
    else:
        _check_iterable(records)
        yield from _gather(records)


def _check_iterable(records: object) -> None:
    """Refuses what is not iterable."""
    if not isinstance(records, Iterable):
        raise ArgumentError(
            "records must be a reader, a batch or an iterable of records; got "
            f"{type(records).__name__}"
        )


def _gather(records: Iterable[Row | SequenceBatch | Pair]) -> Iterator[SequenceBatch]:
    """Collects single records into batches; passes batches on."""
    rows: list[_Columns] = []
    letters = 0
    for record in chain.from_iterable(map(_split_pair, records)):
        if isinstance(record, SequenceBatch):
            yield from _flush(rows)
            yield record
            continue
        rows.append(_parse_row(record))
        letters += len(rows[-1][1])
        if len(rows) >= _MOST_ROWS or letters >= _MOST_LETTERS:
            yield from _flush(rows)
            letters = 0
    yield from _flush(rows)


def _split_pair(record: Row | SequenceBatch | Pair) -> tuple[Row | SequenceBatch, ...]:
    """Splits a pair into its first and its second read."""
    if not isinstance(record, tuple):
        return (record,)
    if is_batch_pair(record):
        return (interleave(record),)
    return record if is_record_pair(record) else (cast("Row | SequenceBatch", record),)


_Columns: TypeAlias = tuple[bytes, bytes, bytes | None]


def _flush(rows: list[_Columns]) -> Iterator[SequenceBatch]:
    """Makes a batch of the rows, if there are any, and clears them."""
    if not rows:
        return
    headers, sequences, qualities = zip(*rows, strict=True)
    rows.clear()
    known = [quality for quality in qualities if quality is not None]
    if known and len(known) < len(qualities):
        raise ArgumentError("records must all have qualities, or none of them; found both")
    yield SequenceBatch(
        Ragged.from_list(headers),
        Ragged.from_list(sequences),
        Ragged.from_list(known) if known else None,
    )


def _parse_row(record: Row) -> _Columns:
    """Returns header, letters and quality of a record."""
    if isinstance(record, SequenceRecord):
        return _format_header(record), record.sequence, record.quality
    if not _is_row(record):
        raise ArgumentError(
            "expected a SequenceRecord, a SequenceBatch, (id, sequence) or "
            f"(id, sequence, quality); got {quote(record)}"
        )
    name, sequence, *rest = map(_encode, record)
    return name or b"", sequence or b"", rest[0] if rest else None


def _is_row(record: object) -> bool:
    """Says whether a value is an id, a sequence and perhaps a quality."""
    fields = cast("Sequence[object]", record) if isinstance(record, tuple | list) else ()
    return len(fields) in {2, 3}


def _format_header(record: SequenceRecord) -> bytes:
    """Returns the header as it was read, unless id or description have changed."""
    if record.header is not None and split_header(record.header) == (
        record.id,
        record.description,
    ):
        return record.header
    if not record.id.strip():
        return b""
    text = f"{record.id} {record.description}" if record.description else record.id
    return _encode(text) or b""


def _encode(text: Letters | None) -> bytes | None:
    """Encodes text as bytes."""
    try:
        return text.encode() if isinstance(text, str) else text
    except UnicodeEncodeError:
        raise ArgumentError(f"expected text that is UTF-8, got {quote(text)}") from None


Pairs: TypeAlias = "PairedReader | Iterable[BatchPair | RecordPair]"

_MOST_PAIRS = 4096


def to_pairs(pairs: Pairs) -> Iterator[BatchPair]:
    """Converts pairs to two batches of the same number of records, in their order."""
    if isinstance(pairs, PairedReader):
        yield from pairs.batches(1 << 16, max_bytes=_MOST_LETTERS)
        return
    for is_columns, group in groupby(pairs, is_batch_pair):
        collect = _pass_batches if is_columns else _gather_pairs
        yield from collect(group)


def _pass_batches(group: Iterable[object]) -> Iterator[BatchPair]:
    """Passes pairs of batches on, checked."""
    return (check_lengths(pair) for pair in group if is_batch_pair(pair))


def _gather_pairs(group: Iterable[object]) -> Iterator[BatchPair]:
    """Collects single pairs into pairs of batches."""
    pairs = map(_check_pair, group)
    while several := list(islice(pairs, _MOST_PAIRS)):
        first, second = zip(*several, strict=True)
        yield join(list(to_batches(first))), join(list(to_batches(second)))


def _check_pair(pair: object) -> RecordPair:
    """Refuses a value that is not a pair of records."""
    if not is_record_pair(pair):
        raise ArgumentError(
            "expected pairs of two SequenceRecords or of two SequenceBatches, got "
            f"{quote(pair)}"
        )
    return pair
