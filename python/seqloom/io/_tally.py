"""Counting what a file holds, batch by batch, and which alphabet its letters are of."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from seqloom._rust import _native

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
_FEW = 1000  # fewer letters do not show the alphabet
_MOSTLY = 0.9
_UNKNOWN = "X*"  # they occur in files of every alphabet


class FoundAlphabet(NamedTuple):
    """What letters look like, and those that do not belong to it."""

    name: str | None  # dna, rna or protein; None where DNA and protein both fit
    strange: dict[str, int]  # the other letters, with their counts


def find_alphabet(counts: NDArray[np.int64], *, few: int = _FEW) -> FoundAlphabet:
    """Decides whether letters are DNA, RNA or protein, all or nearly all of them."""
    # No real protein is nearly all A, C, G, T and N: a few other letters among those are
    # errors of the file. Deciding for protein because of them would train on nonsense.
    met = count_letters(counts)
    nucleic = "rna" if met.get("U", 0) > met.get("T", 0) else "dna"
    telling = LETTERS["protein"].difference(_UNKNOWN)
    bases = sum(met.get(letter, 0) for letter in "ACGTUN")
    if bases >= _MOSTLY * sum(met.get(letter, 0) for letter in telling):
        strange = _others(met, nucleic)
        is_clear = strange or sum(met.values()) >= few or "U" in met
        return FoundAlphabet(nucleic if is_clear else None, strange)
    if _others(met, nucleic) or sum(met.values()) >= few:
        return FoundAlphabet("protein", _others(met, "protein"))
    return FoundAlphabet(None, {})


def count_letters(counts: NDArray[np.int64]) -> dict[str, int]:
    """Counts letters without regard to case."""
    met: dict[str, int] = {}
    for byte in counts.nonzero()[0].tolist():
        letter = bytes([byte]).upper().decode("latin-1")
        met[letter] = met.get(letter, 0) + int(counts[byte])
    return met


def _others(met: dict[str, int], alphabet: str) -> dict[str, int]:
    """Takes the letters that are not in an alphabet, the most frequent first."""
    others = [(letter, n) for letter, n in met.items() if letter not in LETTERS[alphabet]]
    return dict(sorted(others, key=lambda pair: (-pair[1], pair[0])))


def list_counts(letters: dict[str, int]) -> str:
    """Lists letters with their counts."""
    return ", ".join(f"{letter} {n:,}" for letter, n in letters.items())
