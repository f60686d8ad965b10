"""Files to batches: datasets, parts of them, collators and the loader."""

from seqloom.data._alphabet import guess_alphabet
from seqloom.data._collate import default_collate
from seqloom.data._encoder import Encoder
from seqloom.data._loader import DataLoader
from seqloom.data._pad import PadCollator
from seqloom.data._sequence_dataset import SequenceDataset
from seqloom.data._split import folds, split
from seqloom.data._subset import Subset

__all__ = [
    "DataLoader",
    "Encoder",
    "PadCollator",
    "SequenceDataset",
    "Subset",
    "default_collate",
    "folds",
    "guess_alphabet",
    "split",
]
