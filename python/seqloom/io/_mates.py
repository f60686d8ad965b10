"""Where the two reads of a fragment come from: two files, or one that alternates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import FormatError
from seqloom.io._numbers import MOST
from seqloom.io._record import header_id, header_text
from seqloom.io._rows import join

if TYPE_CHECKING:
    from seqloom.io._batch import SequenceBatch
    from seqloom.io._mate_ids import BatchPair
    from seqloom.io._reader import SequenceReader


class TwoFiles:
    """Takes first reads from one file and second reads from another.

    Args:
        first: The reader of the first reads.
        second: The reader of the second reads.
    """

    def __init__(self, first: SequenceReader, second: SequenceReader) -> None:
        self.readers = (first, second)
        self._count = 0

    def read(self, n: int, max_bytes: int) -> BatchPair | None:
        """Reads as many second reads as there are first ones."""
        first, second = self.readers
        one = first.read_batch(n, max(max_bytes // 2, 1))
        other = _read_all(second, 1 if one is None else len(one))
        if one is not None and other is not None and len(one) == len(other):
            self._count += len(one)
            return one, other
        if one is None and other is None:
            return None
        raise self._complaint(one, other)

    def _complaint(
        self, one: SequenceBatch | None, other: SequenceBatch | None
    ) -> FormatError:
        """Says which file ends first, and with what the other one goes on."""
        ended, longer = self.readers if one is None else reversed(self.readers)
        at = 0 if one is None or other is None else len(other)
        rest = other if one is None else one
        record = self._count + at
        return FormatError(
            f"{ended.path}: ends after {record:,} records, but {longer.path} goes on with "
            f"record {record} ({_id(rest, at)}); pairs need both",
            kind="count",
            path=ended.path,
            record=record,
        )


class Alternating:
    """Takes first and second reads from one file in turn.

    Args:
        reader: The reader of all reads.
    """

    def __init__(self, reader: SequenceReader) -> None:
        self.readers = (reader,)
        self._count = 0

    def read(self, n: int, max_bytes: int) -> BatchPair | None:
        """Reads pairs; a batch that ends between two mates is completed."""
        (reader,) = self.readers
        batch = reader.read_batch(min(2 * n, MOST), max_bytes)
        if batch is None:
            return None
        if len(batch) % 2:
            batch = self._complete(batch)
        self._count += len(batch)
        rows = np.arange(len(batch))
        return batch.take(rows[0::2]), batch.take(rows[1::2])

    def _complete(self, batch: SequenceBatch) -> SequenceBatch:
        """Reads the mate of the last record."""
        (reader,) = self.readers
        mate = reader.read_batch(1, MOST)
        if mate is not None:
            return join([batch, mate])
        record = self._count + len(batch) - 1
        raise FormatError(
            f"{reader.path}: record {record} ({_id(batch, -1)}): expected its mate, found "
            f"the end: {record + 1:,} records are not pairs",
            kind="count",
            path=reader.path,
            record=record,
        )


def _read_all(reader: SequenceReader, n: int) -> SequenceBatch | None:
    """Reads so many records, or as many as there are, however long they are."""
    batches: list[SequenceBatch] = []
    while n and (batch := reader.read_batch(n, MOST)) is not None:
        batches.append(batch)
        n -= len(batch)
    return join(batches) if batches else None


def _id(batch: SequenceBatch | None, row: int) -> str:
    """Gives the id of a record of a batch."""
    return "" if batch is None else header_text(header_id(batch.headers[row].tobytes()))
