"""Read, write, index and summarise files of sequences, genotypes, variants and tracks."""

from seqloom.io._index import SequenceIndex
from seqloom.io._index_file import build_index
from seqloom.io._inspect import inspect
from seqloom.io._open import PairedReader, open_sequences
from seqloom.io._profile import LengthBin, PositionBin, QualityBin, QualitySummary
from seqloom.io._reader import ReadReport, SequenceReader
from seqloom.io._records import SequenceBatch, SequenceRecord
from seqloom.io._summary import Summary
from seqloom.io._track_writer import TrackWriter
from seqloom.io._tracks import TrackEntries, Tracks, open_tracks
from seqloom.io._variant_batch import VariantBatch
from seqloom.io._variant_writer import VariantWriter, WrittenVariants
from seqloom.io._variants import Oddity, VariantReader, VariantReport, open_variants
from seqloom.io._write import write_sequences
from seqloom.io.plink._genotype_stats import GenotypeStats
from seqloom.io.plink._inspect_bed import BedSummary, inspect_bed
from seqloom.io.plink._open_bed import open_bed
from seqloom.io.plink._stats import genotype_stats
from seqloom.io.plink._write_bed import create_bed, to_bed

__all__ = [
    "BedSummary",
    "GenotypeStats",
    "LengthBin",
    "Oddity",
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
    "TrackEntries",
    "TrackWriter",
    "Tracks",
    "VariantBatch",
    "VariantReader",
    "VariantReport",
    "VariantWriter",
    "WrittenVariants",
    "build_index",
    "create_bed",
    "genotype_stats",
    "inspect",
    "inspect_bed",
    "open_bed",
    "open_sequences",
    "open_tracks",
    "open_variants",
    "to_bed",
    "write_sequences",
]
