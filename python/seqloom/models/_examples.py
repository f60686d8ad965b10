"""What models, evaluation and training ask of a dataset."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


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


def noun_of(examples: Examples | None) -> str:
    """Says what the records are called, in the plural."""
    return str(getattr(examples, "noun", "sequences"))
