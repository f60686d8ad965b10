"""Parts of datasets, and what other modules ask of a dataset: its letters and hashes."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from seqloom._arguments import check_sized
from seqloom.data._dataset import Dataset
from seqloom.data._source import each_letters, fetch_letters
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

# The most records and letters that are compared: more would take minutes, and memory.
_MAX_RECORDS = 1 << 20
_MAX_LETTERS = 1 << 30


def Subset(dataset: Dataset, indices: ArrayLike) -> Dataset:
    """Selects records of a dataset, as ``dataset.select(indices)`` does.

    Parts of one dataset are joined by ``+``: ``train + valid``.

    Args:
        dataset: The whole dataset, or a part of it.
        indices: Positions of the records, or a mask of True and False.

    Returns:
        The part.

    Raises:
        ArgumentError: The indices are neither integers nor a mask.
        OutOfRangeError: A position is out of range.

    Examples:
        >>> from seqloom.data import SequenceDataset
        >>> part = Subset(SequenceDataset({"x": "ACGT", "y": "GG"}), [1])
        >>> part.ids, part
        (['y'], Subset(1 sequence of 2))
    """
    check_sized("dataset", dataset)
    check_dataset(dataset)
    return dataset.select(indices)


def has_letters(dataset: Any) -> TypeGuard[Dataset]:
    """Return True for a dataset of ours whose records have letters."""
    return isinstance(dataset, Dataset) and dataset.source.has_letters


def check_dataset(dataset: Any) -> None:
    """Raise if a value is not a dataset of ours, such as a list."""
    if not isinstance(dataset, Dataset):
        raise ArgumentError(
            "dataset must be a dataset of sl.data, or a part of one, got "
            f"{type(dataset).__name__}"
        )


def letters_of(examples: Any, rows: NDArray[np.int64]) -> list[bytes] | None:
    """Reads letters as they are before augmentation; None without letters."""
    if not has_letters(examples):
        return None
    found = fetch_letters(examples.source, examples.rows[rows], examples.encoder)
    return found[0].to_list()


def hash_letters(examples: Any) -> NDArray[np.uint64] | None:
    """Hashes each record's letters, in capitals; None without letters, or of too many."""
    if not has_letters(examples):
        return None
    if len(examples) > _MAX_RECORDS or examples.lengths.sum() > _MAX_LETTERS:
        return None
    parts = each_letters(examples.source, examples.rows, examples.encoder)
    digests = [
        hashlib.blake2b(letters.upper(), digest_size=8).digest()
        for sequences, _ in parts
        for letters in sequences.to_list()
    ]
    return np.frombuffer(b"".join(digests), np.uint64)
