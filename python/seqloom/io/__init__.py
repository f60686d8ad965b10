"""Sequence files, as records, as columns and at a glance."""

from seqloom.io._batch import SequenceBatch
from seqloom.io._index import SequenceIndex
from seqloom.io._index_file import build_index
from seqloom.io._inspect import inspect
from seqloom.io._open import open_sequences
from seqloom.io._pairs import PairedReader
from seqloom.io._position import PositionBin
from seqloom.io._quality import QualityBin, QualitySummary
from seqloom.io._reader import SequenceReader
from seqloom.io._record import SequenceRecord
from seqloom.io._report import ReadReport
from seqloom.io._summary import LengthBin, Summary
from seqloom.io._write import write_sequences

__all__ = [
    "LengthBin",
    "PairedReader",
    "PositionBin",
    "QualityBin",
    "QualitySummary",
    "ReadReport",
    "SequenceBatch",
    "SequenceIndex",
    "SequenceReader",
    "SequenceRecord",
    "Summary",
    "build_index",
    "inspect",
    "open_sequences",
    "write_sequences",
]
