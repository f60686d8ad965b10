"""The demo's data: primate splice junctions with their official split."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from seqloom.data import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Splice:
    """Holds the parts, and which test windows also stand in the training windows."""

    train: "Dataset"
    valid: "Dataset"
    test: "Dataset"
    is_shared: NDArray[np.bool_]

    def __str__(self) -> str:
        return (
            f"{len(self.train):,} windows to learn from, {len(self.valid):,} to choose the "
            f"epoch by, {len(self.test):,} of the official test split to score at the end"
        )


def read_splice(seed: int) -> Splice:
    """Reads the packaged files and keeps a tenth of the training windows aside."""
    from seqloom.data import split

    whole = _read("train", classes=None)
    # Equal windows fall on one side: the epoch is chosen by windows that were not learned.
    train, valid = split(whole, (0.9, 0.1), groups="sequence", seed=seed)
    test = _read("test", classes=whole.classes)
    shared = np.isin(test.group("sequence"), whole.group("sequence"))
    return Splice(train=train, valid=valid, test=test, is_shared=shared)


def _read(part: str, classes: tuple[str, ...] | None) -> "Dataset":
    """Reads one part of the official split."""
    from seqloom import _demo
    from seqloom.data import Labels, SequenceDataset
    from seqloom.encode import OneHot

    return SequenceDataset(
        _demo.path(f"{part}.fa.gz"),
        labels=Labels(_demo.path(f"{part}.tsv"), classes=classes),
        encoder=OneHot("dna"),
    )
