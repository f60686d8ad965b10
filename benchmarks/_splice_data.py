"""Splice-site windows of the demo, as input of benchmark suites."""

from typing import Any

import numpy as np

from seqloom import _demo
from seqloom.data import Dataset, Labels, SequenceDataset
from seqloom.encode import OneHot


def read_splice_windows(part: str) -> Dataset:
    """Read the training set ("train") or the test set ("test")."""
    fasta, table = _demo.example_path(f"{part}.fa.gz"), _demo.example_path(f"{part}.tsv")
    labels = Labels(table, classes=("EI", "IE", "N"))
    return SequenceDataset(fasta, labels=labels, encoder=OneHot("dna"))


def group_equal_windows(data: Dataset) -> dict[str, str]:
    """Map each id to its sequence, so that equal windows are in the same fold."""
    letters = SequenceDataset(data.paths)
    return {
        item["id"]: str(item["sequence"]) for item in (letters[i] for i in range(len(data)))
    }


def make_batches(data: Dataset, size: int) -> list[dict[str, Any]]:
    """Return all batches of a dataset in file order, created in advance."""
    places = np.arange(len(data))
    return [data.batch(places[start : start + size]) for start in range(0, len(data), size)]
