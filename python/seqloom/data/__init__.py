"""Turns files into batches: datasets, subsets, samplers, collators and the loader."""

from seqloom.data._alphabet import guess_alphabet
from seqloom.data._cache import cached
from seqloom.data._dataset import Dataset
from seqloom.data._embedding_dataset import EmbeddingDataset, EmbeddingEncoder
from seqloom.data._encoder import Encoder
from seqloom.data._ids import Ids
from seqloom.data._parts import Subset, folds, split
from seqloom.data._sequence_dataset import SequenceDataset
from seqloom.data._source import Fetched, Source
from seqloom.data.collate._collate import default_collate
from seqloom.data.collate._pad import PadCollator
from seqloom.data.collate._varlen import VarlenCollator
from seqloom.data.genotype._encoder import GenotypeEncoder
from seqloom.data.genotype._genotype_dataset import GenotypeDataset
from seqloom.data.interval._filter import filter_intervals
from seqloom.data.interval._interval_dataset import IntervalDataset, windows
from seqloom.data.interval._leakage import check_leakage
from seqloom.data.interval._leakage_report import IntervalSummary, LeakageReport
from seqloom.data.interval._negatives import negatives
from seqloom.data.interval._pileup import PileupReport, pileup
from seqloom.data.interval._regions import Regions
from seqloom.data.label._labels import Labels
from seqloom.data.label._record_labels import join_labels
from seqloom.data.loader._async import create_async_dataloader
from seqloom.data.loader._loader import DataLoader
from seqloom.data.packed._stream import PackedStream
from seqloom.data.sample._length_samplers import LengthBucketSampler, TokenBudgetSampler
from seqloom.data.sample._samplers import EpochSampler, WeightedSampler
from seqloom.data.stream._stream import SequenceStream
from seqloom.data.variant._variant_dataset import VariantDataset

__all__ = [
    "DataLoader",
    "Dataset",
    "EmbeddingDataset",
    "EmbeddingEncoder",
    "Encoder",
    "EpochSampler",
    "Fetched",
    "GenotypeDataset",
    "GenotypeEncoder",
    "Ids",
    "IntervalDataset",
    "IntervalSummary",
    "Labels",
    "LeakageReport",
    "LengthBucketSampler",
    "PackedStream",
    "PadCollator",
    "PileupReport",
    "Regions",
    "SequenceDataset",
    "SequenceStream",
    "Source",
    "Subset",
    "TokenBudgetSampler",
    "VariantDataset",
    "VarlenCollator",
    "WeightedSampler",
    "cached",
    "check_leakage",
    "create_async_dataloader",
    "default_collate",
    "filter_intervals",
    "folds",
    "guess_alphabet",
    "join_labels",
    "negatives",
    "pileup",
    "split",
    "windows",
]
