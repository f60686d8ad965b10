"""The demo's windows, as the suites take them."""

from typing import Any

import numpy as np

from seqloom import _demo
from seqloom.data import Dataset, Labels, SequenceDataset
from seqloom.encode import OneHot


def read(part: str) -> Dataset:
    """Read the training part ("train") or the test part ("test")."""
    fasta, table = _demo.path(f"{part}.fa.gz"), _demo.path(f"{part}.tsv")
    labels = Labels(table, classes=("EI", "IE", "N"))
    return SequenceDataset(fasta, labels=labels, encoder=OneHot("dna"))


def windows_as_groups(data: Dataset) -> dict[str, str]:
    """Return each id its letters: equal windows then fall into one part."""
    letters = SequenceDataset(data.paths)
    return {
        item["id"]: str(item["sequence"]) for item in (letters[i] for i in range(len(data)))
    }


def batches(data: Dataset, size: int) -> list[dict[str, Any]]:
    """Cut a dataset into batches, in the file's order, all of them made beforehand."""
    places = np.arange(len(data))
    return [data.batch(places[start : start + size]) for start in range(0, len(data), size)]
