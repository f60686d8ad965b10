"""Letters of the records of a dataset, and hashes by which equal records are found."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.data._dataset import has_letters
from seqloom.data._source import each_letters, fetch_letters

if TYPE_CHECKING:
    from numpy.typing import NDArray

# The most records and letters that are compared: more would take minutes, and memory.
_MAX_RECORDS = 1 << 20
_MAX_LETTERS = 1 << 30


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
