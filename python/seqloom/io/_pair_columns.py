"""From pairs of every kind to pairs of batches, so that they can be written."""

from __future__ import annotations

from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeAlias

from seqloom.errors import ArgumentError
from seqloom.io._alternate import check_lengths, is_batch_pair, is_record_pair
from seqloom.io._columns import to_batches
from seqloom.io._pairs import PairedReader
from seqloom.io._rows import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from seqloom.io._alternate import RecordPair
    from seqloom.io._mate_ids import BatchPair

Pairs: TypeAlias = "PairedReader | Iterable[BatchPair | RecordPair]"

_MOST_PAIRS = 4096
_MOST_LETTERS = 4 << 20


def to_pairs(pairs: Pairs) -> Iterator[BatchPair]:
    """Gives pairs as two batches of the same number of records, in their order."""
    if isinstance(pairs, PairedReader):
        yield from pairs.batches(1 << 16, max_bytes=_MOST_LETTERS)
        return
    for is_columns, group in groupby(pairs, is_batch_pair):
        collect = _columns if is_columns else _gather
        yield from collect(group)


def _columns(group: Iterable[object]) -> Iterator[BatchPair]:
    """Passes batches on."""
    return (check_lengths(pair) for pair in group if is_batch_pair(pair))


def _gather(group: Iterable[object]) -> Iterator[BatchPair]:
    """Collects single records."""
    pairs = map(_check, group)
    while several := list(islice(pairs, _MOST_PAIRS)):
        first, second = zip(*several, strict=True)
        yield join(list(to_batches(first))), join(list(to_batches(second)))


def _check(pair: object) -> RecordPair:
    """Refuses what is no pair."""
    if not is_record_pair(pair):
        raise ArgumentError(
            "expected pairs: two SequenceRecords or two SequenceBatches each, got "
            f"{pair!r:.80}"
        )
    return pair
