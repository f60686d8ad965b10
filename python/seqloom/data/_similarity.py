"""Find similar sequences, which share at least half of the k-mers of the shorter one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# Two sequences are similar if the shorter one shares this fraction of its k-mers.
_MIN_SHARED = 0.5
# Unrelated sequences share few k-mers of this length.
_K_OF_BASES, _K_OF_AMINO_ACIDS = 12, 6
# Maximum number of compared k-mers: those with the smallest hashes (FracMinHash, Irber et
# al. 2022).
_MAX_COMPARED_KMERS = 1 << 22
# Maximum number of sequences with the same k-mer that are compared.
_MAX_SEQUENCES_PER_KMER = 1000
_BLOCK_POSITIONS = 1 << 16
# Sequences with this fraction of bases are DNA or RNA.
_MIN_BASE_FRACTION = 0.95
_BASES, _COMPLEMENTS = b"ACGTU", b"TGCAA"
_MASKED_AMINO_ACIDS = b"X*-.?"
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class KmerHashing:
    """Which k-mers of sequences are compared, and their hashes."""

    is_nucleic: bool
    max_hash: np.uint64

    @property
    def k(self) -> int:
        """Length of the k-mers."""
        return _K_OF_BASES if self.is_nucleic else _K_OF_AMINO_ACIDS

    @classmethod
    def choose(cls, sequences: Sequence[bytes]) -> KmerHashing:
        """Detect the alphabet, and choose the fraction of k-mers to compare."""
        counts = Counter(b"".join(sequences[:1000]))
        bases = sum(counts[letter] for letter in _BASES + b"N")
        is_nucleic = bases >= _MIN_BASE_FRACTION * counts.total()
        scale = -(-sum(map(len, sequences)) // _MAX_COMPARED_KMERS)
        return cls(is_nucleic, np.uint64((2**64 - 1) // max(1, scale)))

    def hash(
        self, sequences: Sequence[bytes]
    ) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """Return the hashes of the compared k-mers, and the sequence of each k-mer."""
        letters = np.frombuffer(b"".join(sequences), np.uint8)
        lengths = np.array([len(it) for it in sequences], np.int64)
        row_of = np.repeat(np.arange(lengths.size), lengths)
        found, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        count = letters.size - self.k + 1
        for start in range(0, count, _BLOCK_POSITIONS):
            stop = min(start + _BLOCK_POSITIONS, count)
            hashes, is_valid = self._hash_block(letters[start : stop + self.k - 1])
            row_at_start = row_of[start:stop]
            is_inside = row_at_start == row_of[start + self.k - 1 : stop + self.k - 1]
            chosen = is_valid & is_inside & (hashes <= self.max_hash)
            found.append(hashes[chosen])
            rows.append(row_at_start[chosen])
        return np.concatenate(found), np.concatenate(rows)

    def _hash_block(
        self, letters: NDArray[np.uint8]
    ) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
        """Hash the k-mer at each position; also return which k-mers are unambiguous."""
        count = letters.size - self.k + 1
        codes, complements, is_known = _code_tables(is_nucleic=self.is_nucleic)
        hashes, is_valid = np.zeros(count, np.uint64), np.ones(count, np.bool_)
        for offset in range(self.k):
            part = letters[offset : offset + count]
            hashes = hashes * _MULTIPLIER + codes[part]
            is_valid &= is_known[part]
        if self.is_nucleic:
            # The k-mers of both strands have the same hash.
            reverse = np.zeros(count, np.uint64)
            for offset in reversed(range(self.k)):
                reverse = reverse * _MULTIPLIER + complements[letters[offset:][:count]]
            hashes = np.minimum(hashes, reverse)
        hashes ^= hashes >> np.uint64(32)
        hashes *= _MULTIPLIER
        hashes ^= hashes >> np.uint64(29)
        return hashes, is_valid


def _code_tables(
    *, is_nucleic: bool
) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.bool_]]:
    """Return a random number for each character, and for its complement."""
    draw = np.random.default_rng(0)
    codes = draw.integers(0, 2**64, 256, np.uint64, endpoint=False)
    codes[ord("U")] = codes[ord("T")]
    complements = codes.copy()
    complements[list(_BASES)] = codes[list(_COMPLEMENTS)]
    if is_nucleic:
        is_known = np.zeros(256, np.bool_)
        is_known[list(_BASES)] = True
    else:
        is_known = np.ones(256, np.bool_)
        is_known[list(_MASKED_AMINO_ACIDS)] = False
    return codes, complements, is_known


def find_similar(
    sequences: Sequence[bytes], known: Sequence[bytes]
) -> tuple[NDArray[np.bool_], int]:
    """Return a mask of sequences that are similar to a known sequence, and k."""
    hashing = KmerHashing.choose(known)
    index = _KmerIndex(hashing, known)
    hashes, rows = hashing.hash(sequences)
    starts = np.searchsorted(rows, np.arange(len(sequences) + 1))
    parts = (np.unique(hashes[start:stop]) for start, stop in pairwise(starts))
    return np.array([index.contains(part) for part in parts], np.bool_), hashing.k


class _KmerIndex:
    """The k-mers of known sequences, sorted by their hashes."""

    def __init__(self, hashing: KmerHashing, known: Sequence[bytes]) -> None:
        hashes, rows = hashing.hash(known)
        # A k-mer that occurs twice in a sequence is listed once.
        order = np.lexsort((rows, hashes))
        hashes, rows = hashes[order], rows[order]
        is_first = np.ones(hashes.size, np.bool_)
        is_first[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
        self.hashes, self.rows = hashes[is_first], rows[is_first]
        self.counts = np.bincount(self.rows, minlength=len(known))

    def contains(self, kmers: NDArray[np.uint64]) -> bool:
        """Return whether a known sequence is similar to a sequence with these k-mers."""
        starts = np.searchsorted(self.hashes, kmers)
        stops = np.searchsorted(self.hashes, kmers, side="right")
        stops = np.minimum(stops, starts + _MAX_SEQUENCES_PER_KMER)
        ranges = zip(starts.tolist(), stops.tolist(), strict=True)
        rows = [self.rows[start:stop] for start, stop in ranges if stop > start]
        if not rows:
            return False
        found, shared = np.unique(np.concatenate(rows), return_counts=True)
        needed = _MIN_SHARED * np.minimum(self.counts[found], kmers.size)
        return bool((shared >= needed).any())


def group_similar(sequences: Sequence[bytes]) -> list[int]:
    """Return a group number of each sequence: similar sequences are in one group."""
    # A sequence joins all groups in which at least half of its k-mers occur (single
    # linkage). Long sequences come first, so that parts of them join their groups.
    parents = list(range(len(sequences)))

    def find_root(row: int) -> int:
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    hashes, rows = KmerHashing.choose(sequences).hash(sequences)
    starts = np.searchsorted(rows, np.arange(len(sequences) + 1))
    kmers_of = [set[int](hashes[it:end].tolist()) for it, end in pairwise(starts)]
    first_rows = dict[bytes, int]()
    roots_of = dict[int, set[int]]()  # the groups in which each k-mer occurs
    for row in sorted(range(len(sequences)), key=lambda it: -len(kmers_of[it])):
        kmers, counts = kmers_of[row], Counter[int]()
        for kmer in kmers & roots_of.keys():
            counts.update({find_root(it) for it in roots_of[kmer]})
        for other, count in counts.items():
            if count >= _MIN_SHARED * len(kmers):
                parents[find_root(row)] = find_root(other)
        # Sequences that are shorter than k have no k-mers, but may be equal.
        parents[find_root(row)] = find_root(first_rows.setdefault(sequences[row], row))
        for kmer in kmers:
            roots = {find_root(it) for it in roots_of.get(kmer, ())}
            roots_of[kmer] = roots | {find_root(row)}
    return [find_root(row) for row in range(len(sequences))]
