"""Handing columns to a writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom._rust import _native
    from seqloom.io._batch import SequenceBatch


def write_batch(writer: _native.SequenceWriter, batch: SequenceBatch) -> None:
    """Writes all records of a batch."""
    headers, sequences, qualities = batch.headers, batch.sequences, batch.qualities
    writer.write(
        headers.data,
        headers.offsets,
        sequences.data,
        sequences.offsets,
        None if qualities is None else (qualities.data, qualities.offsets),
    )
