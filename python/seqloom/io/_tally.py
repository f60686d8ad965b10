"""Counting what a file holds, batch by batch, and which alphabet its letters are of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from seqloom.io._records import SequenceBatch


class Tally:
    """Counts lengths, letters, ids and qualities, batch by batch."""

    # 16 bytes of each record stay in memory: its length and the hash of its id.

    def __init__(self) -> None:
        self.counts = np.zeros(256, np.int64)
        self.profile = _native.SequenceProfile()
        self._lengths: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        self._hashes: list[NDArray[np.uint64]] = [np.zeros(0, np.uint64)]

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The length of each record."""
        return np.concatenate(self._lengths)

    @property
    def id_hashes(self) -> NDArray[np.uint64]:
        """The hash of each record's id."""
        return np.concatenate(self._hashes)

    def add(self, batches: Iterable[SequenceBatch]) -> None:
        """Counts all records of the batches."""
        for batch in batches:
            data, offsets = batch.sequences.data, batch.sequences.offsets
            self._lengths.append(batch.sequences.lengths)
            self._hashes.append(hash_ids(batch))
            self.counts += _native.count_letters(data)
            self.profile.add(data, offsets)
            if batch.qualities is not None:
                self.profile.add_qualities(batch.qualities.data, batch.qualities.offsets)


def hash_ids(batch: SequenceBatch) -> NDArray[np.uint64]:
    """Computes a number for the id of each record: the same for the same id."""
    return _native.hash_ids(batch.headers.data, batch.headers.offsets)


LETTERS = {
    "dna": frozenset("ACGTRYSWKMBDHVN"),
    "rna": frozenset("ACGURYSWKMBDHVN"),
    "protein": frozenset("ACDEFGHIKLMNPQRSTVWYBZJXUO*"),
}
_FEW = 1000  # letters: fewer of them tell nothing
_MOSTLY = 0.9


def find_alphabet(counts: NDArray[np.int64]) -> str:
    """Decides whether letters are DNA, RNA or protein."""
    met = count_letters(counts)
    fitting = [name for name, letters in LETTERS.items() if met.keys() <= letters]
    if not fitting:
        raise ArgumentError(
            f"no alphabet holds all of the letters {''.join(sorted(met))}: check the "
            "file, or name the alphabet"
        )
    if fitting == ["protein"]:
        return "protein"
    return _nucleic_or_protein(met, fitting)


def count_letters(counts: NDArray[np.int64]) -> dict[str, int]:
    """Counts letters without regard to case."""
    met: dict[str, int] = {}
    for byte in counts.nonzero()[0].tolist():
        letter = bytes([byte]).upper().decode("latin-1")
        met[letter] = met.get(letter, 0) + int(counts[byte])
    return met


def _nucleic_or_protein(met: dict[str, int], fitting: list[str]) -> str:
    """Decides between a nucleic acid and a protein where both have all letters."""
    # All of these letters but B are amino acids too. Two things tell: how often they are
    # plain bases and, where they always are, whether they are too many for a protein.
    total = sum(met.values())
    plain = sum(met.get(letter, 0) for letter in "ACGTUN")
    if plain >= _MOSTLY * total and (total >= _FEW or "U" in met):
        return fitting[0]
    if total >= _FEW:
        return "protein"
    raise ArgumentError(
        f"DNA and protein both fit {total:,} letters {''.join(sorted(met))}; say which: "
        "--alphabet dna or --alphabet protein"
    )
