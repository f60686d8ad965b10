"""From records of every kind to columns, so that they can be written."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, TypeAlias, cast

from seqloom._ragged import Ragged
from seqloom.errors import ArgumentError
from seqloom.io._alternate import alternate, is_batch_pair, is_record_pair
from seqloom.io._batch import SequenceBatch
from seqloom.io._pairs import PairedReader
from seqloom.io._reader import SequenceReader
from seqloom.io._record import SequenceRecord, split_header

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from seqloom.io._alternate import RecordPair
    from seqloom.io._mate_ids import BatchPair

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
    """Gives records as batches, in their order."""
    if isinstance(records, SequenceBatch):
        yield records
    elif isinstance(records, SequenceReader):
        yield from records.batches(1 << 16, max_bytes=_MOST_LETTERS)
    elif isinstance(records, PairedReader):
        yield from map(alternate, records.batches(1 << 16, max_bytes=_MOST_LETTERS))
    else:
        _check_iterable(records)
        yield from _gather(records)


def _check_iterable(records: object) -> None:
    """Refuses what holds no records."""
    if not isinstance(records, Iterable):
        raise ArgumentError(
            "records must be a reader, a batch or an iterable of records; got "
            f"{type(records).__name__}"
        )


def _gather(records: Iterable[Row | SequenceBatch | Pair]) -> Iterator[SequenceBatch]:
    """Collects single records; a batch among them is passed on."""
    rows: list[_Columns] = []
    letters = 0
    for record in chain.from_iterable(map(_apart, records)):
        if isinstance(record, SequenceBatch):
            yield from _flush(rows)
            yield record
            continue
        rows.append(_row(record))
        letters += len(rows[-1][1])
        if len(rows) >= _MOST_ROWS or letters >= _MOST_LETTERS:
            yield from _flush(rows)
            letters = 0
    yield from _flush(rows)


def _apart(record: Row | SequenceBatch | Pair) -> tuple[Row | SequenceBatch, ...]:
    """Takes a pair apart: the second read follows the first."""
    if not isinstance(record, tuple):
        return (record,)
    if is_batch_pair(record):
        return (alternate(record),)
    return record if is_record_pair(record) else (cast("Row | SequenceBatch", record),)


_Columns: TypeAlias = tuple[bytes, bytes, bytes | None]


def _flush(rows: list[_Columns]) -> Iterator[SequenceBatch]:
    """Makes a batch of rows, if there are any, and forgets them."""
    if not rows:
        return
    headers, sequences, qualities = zip(*rows, strict=True)
    rows.clear()
    known = [quality for quality in qualities if quality is not None]
    if known and len(known) < len(qualities):
        raise ArgumentError(
            "expected qualities for every record or for none, found both kinds"
        )
    yield SequenceBatch(
        Ragged.from_list(headers),
        Ragged.from_list(sequences),
        Ragged.from_list(known) if known else None,
    )


def _row(record: Row) -> _Columns:
    """Takes header, letters and quality out of a record."""
    if isinstance(record, SequenceRecord):
        return _header(record), record.sequence, record.quality
    if not _is_row(record):
        raise ArgumentError(
            "expected a SequenceRecord, a SequenceBatch, (id, sequence) or "
            f"(id, sequence, quality), got {record!r:.80}"
        )
    name, sequence, *rest = map(_bytes, record)
    return name or b"", sequence or b"", rest[0] if rest else None


def _is_row(record: object) -> bool:
    """Says whether something is an id, a sequence and perhaps a quality."""
    fields = cast("Sequence[object]", record) if isinstance(record, tuple | list) else ()
    return len(fields) in {2, 3}


def _header(record: SequenceRecord) -> bytes:
    """Gives the header as it was read, unless id or description have been changed."""
    if record.header is not None and split_header(record.header) == (
        record.id,
        record.description,
    ):
        return record.header
    if not record.id.strip():
        return b""
    text = f"{record.id} {record.description}" if record.description else record.id
    return text.encode()


def _bytes(text: Letters | None) -> bytes | None:
    """Gives text as bytes."""
    return text.encode() if isinstance(text, str) else text
