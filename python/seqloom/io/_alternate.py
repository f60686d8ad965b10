"""First and second reads in turn."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypeGuard, cast

import numpy as np

from seqloom.errors import ArgumentError
from seqloom.io._batch import SequenceBatch
from seqloom.io._record import SequenceRecord
from seqloom.io._rows import join

if TYPE_CHECKING:
    from seqloom.io._mate_ids import BatchPair

RecordPair: TypeAlias = tuple[SequenceRecord, SequenceRecord]

_TWO = 2


def alternate(pair: BatchPair) -> SequenceBatch:
    """Puts the reads of each pair one behind the other."""
    first, second = check_lengths(pair)
    rows = np.arange(2 * len(first)).reshape(2, -1).T.reshape(-1)
    return join([first, second]).take(rows)


def check_lengths(pair: BatchPair) -> BatchPair:
    """Refuses batches that do not go together."""
    first, second = map(len, pair)
    if first != second:
        raise ArgumentError(
            f"expected as many first reads as second ones, found {first:,} and {second:,}"
        )
    return pair


def is_batch_pair(thing: object) -> TypeGuard[BatchPair]:
    """Says whether something is a batch of first reads and one of second reads."""
    return _are_two(thing, SequenceBatch)


def is_record_pair(thing: object) -> TypeGuard[RecordPair]:
    """Says whether something is a first and a second read."""
    return _are_two(thing, SequenceRecord)


def _are_two(thing: object, kind: type) -> bool:
    """Says whether something is a tuple of two things of a kind."""
    if not isinstance(thing, tuple):
        return False
    mates = cast("tuple[object, ...]", thing)
    return len(mates) == _TWO and isinstance(mates[0], kind) and isinstance(mates[1], kind)
