"""Sequence files, as records, as columns and at a glance."""

from seqloom.io._batch import SequenceBatch
from seqloom.io._inspect import inspect
from seqloom.io._reader import SequenceReader, open_sequences
from seqloom.io._record import SequenceRecord
from seqloom.io._summary import LengthBin, Summary

__all__ = [
    "LengthBin",
    "SequenceBatch",
    "SequenceReader",
    "SequenceRecord",
    "Summary",
    "inspect",
    "open_sequences",
]
