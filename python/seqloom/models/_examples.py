"""What models, evaluation and training ask of a dataset."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from seqloom._arguments import quote
from seqloom.errors import ArgumentError


class Examples(Protocol):
    """Encoded records by position, with or without labels.

    `seqloom.data.SequenceDataset` and `seqloom.data.GenotypeDataset` are such, each of
    their subsets too, and whatever else has these names. What is not of sequences may say
    in ``noun`` what its records are called.

    Examples:
        >>> from pathlib import Path
        >>> import seqloom as sl
        >>> _ = Path("a.fa").write_text(">a\\nACGT\\n>b\\nGG\\n")
        >>> examples: Examples = sl.data.SequenceDataset("a.fa")
        >>> examples.ids, examples.lengths.tolist()
        (['a', 'b'], [4, 2])
    """

    @property
    def ids(self) -> Sequence[str]:
        """The records' names."""
        ...

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of letters, or of variants, of each record."""
        ...

    @property
    def encoder(self) -> Any:
        """What turns letters or genotypes into numbers; None where nothing does."""
        ...

    @property
    def labels(self) -> NDArray[Any] | None:
        """An entry a record, or None."""
        ...

    @property
    def classes(self) -> Sequence[str]:
        """The classes' or the labels' names."""
        ...

    @property
    def task(self) -> str | None:
        """What the labels are: ``"classify"``, ``"regress"`` or ``"multilabel"``."""
        ...

    def __len__(self) -> int: ...

    def batch(self, indices: Any) -> dict[str, Any]:
        """The records at some positions, as arrays by name."""
        ...

    def fingerprint(self) -> str:
        """Names the content of the files and labels."""
        ...


def check_examples(name: str, value: object) -> None:
    """Refuses what is no dataset, and says how to make one of it."""
    if not (hasattr(value, "batch") and hasattr(value, "lengths")):
        raise ArgumentError(
            f"{name} must be a dataset, got {quote(value)}; {_how_to_make(value)}"
        )


def _how_to_make(value: object) -> str:
    """Says how what was given becomes a dataset."""
    if isinstance(value, (int, float)):
        return "sl.data.split(data, (0.9, 0.1)) cuts one into parts"
    if hasattr(value, "dataset"):
        return "give the dataset of the loader, its batches are made here"
    if hasattr(value, "shard"):
        return "records are needed by position: open the files with SequenceDataset"
    return "SequenceDataset(files, labels=, encoder=) or GenotypeDataset(bed) makes one"


def count_positions(examples: Examples) -> NDArray[np.int64]:
    """Counts the positions that each record has in a batch, which of tokens may be more."""
    count = getattr(examples.encoder, "places", None)
    return examples.lengths if count is None else np.asarray(count(examples.lengths))


def noun_of(examples: Examples | None) -> str:
    """Says what the records are called, in the plural."""
    return str(getattr(examples, "noun", "sequences"))
