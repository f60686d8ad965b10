"""Find similar sequences, which share a fraction of the k-mers of the shorter one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from seqloom._ragged import lengths_to_offsets

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    Integers = NDArray[np.int64]
    Hashes = NDArray[np.uint64]

# Two sequences are similar if the shorter one shares this fraction of its k-mers, and
# homologous if it shares the smaller fraction. Of two copies with 95 % equal bases, the
# expected fraction of shared 12-mers is 0.95 ** 12 = 0.54.
MIN_SIMILAR, MIN_HOMOLOGOUS = 0.5, 0.25
# Unrelated sequences share few k-mers of this length. The longer k-mers are those of large
# sets, in which any 12-mer occurs in many unrelated sequences.
_K_OF_BASES, _K_OF_AMINO_ACIDS, _K_OF_LARGE_SETS = 12, 6, 16
_MAX_SMALL_RESIDUES = 1 << 24
# Maximum number of compared k-mers: those with the smallest hashes (FracMinHash, Irber et
# al. 2022). Homologous sequences share fewer k-mers, so more are compared.
_MAX_COMPARED_KMERS, _MAX_HOMOLOGY_KMERS = 1 << 22, 1 << 23
# Homologous sequences share at least this number of compared k-mers, because a sequence of
# few k-mers, such as a masked one, shares one of them by chance.
MIN_SHARED_KMERS = 3
# Maximum number of sequences with the same k-mer that are compared: the first ones.
_MAX_SEQUENCES_PER_KMER = 1000
_BLOCK_POSITIONS = 1 << 16
_BLOCK_PAIRS = 1 << 22
# Sequences with this fraction of bases are DNA or RNA.
_MIN_BASE_FRACTION = 0.95
_BASES, _COMPLEMENTS = b"ACGTU", b"TGCAA"
_COMPLEMENT = bytes.maketrans(b"ACGT", b"TGCA")
_MASKED_AMINO_ACIDS = b"X*-.?"
_MULTIPLIER = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class KmerHashing:
    """Which k-mers of sequences are compared, and their hashes."""

    is_nucleic: bool
    k: int
    scale: int  # one in this number of k-mers is compared

    @classmethod
    def choose(
        cls, sequences: Sequence[bytes], *, is_homology: bool = False
    ) -> KmerHashing:
        """Detect the alphabet, and choose the k-mers to compare."""
        counts = Counter(b"".join(sequences[:1000]).upper())
        bases = sum(counts[letter] for letter in _BASES + b"N")
        is_nucleic = bases >= _MIN_BASE_FRACTION * counts.total()
        residues = sum(map(len, sequences))
        if is_nucleic and is_homology:
            return cls.for_homology(residues)
        k = _K_OF_BASES if is_nucleic else _K_OF_AMINO_ACIDS
        return cls(is_nucleic, k, max(1, -(-residues // _MAX_COMPARED_KMERS)))

    @classmethod
    def for_homology(cls, bases: int) -> KmerHashing:
        """Choose the k-mers that find homologous DNA in sets with a number of bases."""
        k = _K_OF_BASES if bases <= _MAX_SMALL_RESIDUES else _K_OF_LARGE_SETS
        return cls(is_nucleic=True, k=k, scale=max(1, -(-bases // _MAX_HOMOLOGY_KMERS)))

    @property
    def max_hash(self) -> np.uint64:
        """The largest hash of compared k-mers."""
        return np.uint64((2**64 - 1) // self.scale)

    def hash(
        self, letters: NDArray[np.uint8], offsets: Integers
    ) -> tuple[Hashes, Integers]:
        """Return the hashes of the compared k-mers, and the sequence of each k-mer."""
        found, rows = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
        count = letters.size - self.k + 1
        for start in range(0, count, _BLOCK_POSITIONS):
            stop = min(start + _BLOCK_POSITIONS, count)
            hashes, is_valid = self._hash_block(letters[start : stop + self.k - 1])
            at = np.flatnonzero(is_valid & (hashes <= self.max_hash))
            row = np.searchsorted(offsets, at + start, "right") - 1
            is_inside = at + start + self.k <= offsets[row + 1]
            found.append(hashes[at[is_inside]])
            rows.append(row[is_inside])
        return np.concatenate(found), np.concatenate(rows)

    def _hash_block(self, letters: NDArray[np.uint8]) -> tuple[Hashes, NDArray[np.bool_]]:
        """Hash the k-mer at each position; also return which k-mers are unambiguous."""
        codes, complements, is_known = _code_tables(is_nucleic=self.is_nucleic)
        hashes = _hash_kmers(codes[letters], self.k)
        if self.is_nucleic:
            # The k-mers of both strands have the same hash.
            reverse = _hash_kmers(complements[letters], self.k, is_reverse=True)
            hashes = np.minimum(hashes, reverse)
        hashes ^= hashes >> np.uint64(32)
        hashes *= np.uint64(_MULTIPLIER)
        hashes ^= hashes >> np.uint64(29)
        unknown_before = np.zeros(letters.size + 1, np.int32)
        np.cumsum(~is_known[letters], out=unknown_before[1:])
        return hashes, unknown_before[self.k :] == unknown_before[: -self.k]


def _hash_kmers(codes: Hashes, k: int, *, is_reverse: bool = False) -> Hashes:
    """Hash the k-mer at each position as a polynomial, from the hashes of its halves."""
    if k == 1:
        return codes
    half = k // 2
    parts = _hash_kmers(codes, half, is_reverse=is_reverse)
    left, right = parts[: parts.size - half], parts[half:]
    power = np.uint64(pow(_MULTIPLIER, half, 2**64))
    hashes = left + right * power if is_reverse else left * power + right
    if k % 2 == 0:
        return hashes
    last = codes[k - 1 :]
    if is_reverse:
        return hashes[:-1] + last * np.uint64(pow(_MULTIPLIER, k - 1, 2**64))
    return hashes[:-1] * np.uint64(_MULTIPLIER) + last


def _code_tables(*, is_nucleic: bool) -> tuple[Hashes, Hashes, NDArray[np.bool_]]:
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
    for table in (codes, complements, is_known):  # lower case is soft-masked
        table[ord("a") : ord("z") + 1] = table[ord("A") : ord("Z") + 1]
    return codes, complements, is_known


def normalise_strand(sequence: bytes) -> bytes:
    """Return DNA in upper case, on the strand that is first in the alphabet."""
    text = sequence.upper().replace(b"U", b"T")
    return min(text, text.translate(_COMPLEMENT)[::-1])


@dataclass(frozen=True, slots=True, eq=False)
class KmerSets:
    """The compared k-mers of sequences, each once for a sequence, sorted by hash."""

    hashes: Hashes
    rows: Integers
    counts: Integers  # number of k-mers of each sequence

    @classmethod
    def of(cls, hashing: KmerHashing, sequences: Sequence[bytes]) -> KmerSets:
        """Hash the k-mers of sequences."""
        letters = np.frombuffer(b"".join(sequences), np.uint8)
        offsets = lengths_to_offsets(np.array([len(it) for it in sequences], np.int64))
        return cls.join([hashing.hash(letters, offsets)], len(sequences))

    @classmethod
    def join(cls, parts: Sequence[tuple[Hashes, Integers]], size: int) -> KmerSets:
        """Sort the hashes of ``size`` sequences, whose rows are known."""
        hashes = np.concatenate([it for it, _ in parts])
        rows = np.concatenate([it for _, it in parts])
        order = np.lexsort((rows, hashes))
        hashes, rows = hashes[order], rows[order]
        is_first = np.ones(hashes.size, np.bool_)
        is_first[1:] = (hashes[1:] != hashes[:-1]) | (rows[1:] != rows[:-1])
        hashes, rows = hashes[is_first], rows[is_first]
        return cls(hashes, rows, np.bincount(rows, minlength=size))

    def match(
        self, known: KmerSets, least: float, *, min_shared: int = 1
    ) -> Iterator[tuple[Integers, Integers, NDArray[np.float64]]]:
        """Yield rows of these and of known sequences, and the shared fraction of k-mers.

        A pair is yielded if it shares at least a fraction of the k-mers of the shorter one,
        and at least a number of k-mers. The pairs are sorted by rows. A k-mer of many known
        sequences is compared with the first of them; for the others, it does not count.
        """
        first = np.searchsorted(known.hashes, self.hashes)
        sizes = np.searchsorted(known.hashes, self.hashes, "right") - first
        sizes = np.minimum(sizes, _MAX_SEQUENCES_PER_KMER)
        compared = known.count_compared()
        # All k-mers of a sequence are in the same block.
        pairs = np.bincount(self.rows, sizes, self.counts.size).cumsum()
        blocks = (pairs // _BLOCK_PAIRS).astype(np.int64)[self.rows]
        order = np.argsort(blocks, kind="stable")
        order = order[sizes[order] > 0]
        for at in np.split(order, np.flatnonzero(np.diff(blocks[order])) + 1):
            codes = np.repeat(self.rows[at], sizes[at]) * known.counts.size
            codes += known.rows[_list_ranges(first[at], sizes[at])]
            codes, shared = np.unique(codes, return_counts=True)
            row, other = np.divmod(codes, max(known.counts.size, 1))
            share = shared / np.minimum(self.counts[row], compared[other])
            is_match = (share >= least) & (shared >= min_shared)
            yield row[is_match], other[is_match], share[is_match]

    def count_compared(self) -> Integers:
        """Return the number of k-mers of each sequence with which others are compared."""
        places = np.arange(self.hashes.size)
        is_first = np.ones(places.size, np.bool_)
        is_first[1:] = self.hashes[1:] != self.hashes[:-1]
        ranks = places - np.maximum.accumulate(np.where(is_first, places, 0))
        rows = self.rows[ranks < _MAX_SEQUENCES_PER_KMER]
        return np.bincount(rows, minlength=self.counts.size)


def _list_ranges(starts: Integers, sizes: Integers) -> Integers:
    """Return the numbers of several ranges."""
    ends = sizes.cumsum()
    steps = np.arange(ends[-1] if ends.size else 0)
    return steps + np.repeat(starts - ends + sizes, sizes)


def find_similar(
    sequences: Sequence[bytes], known: Sequence[bytes]
) -> tuple[NDArray[np.bool_], int]:
    """Return a mask of sequences that are similar to a known sequence, and k."""
    hashing = KmerHashing.choose(known)
    # Equal sequences may have no k-mers, or only those of many sequences.
    equal = set(known)
    mask = np.array([it in equal for it in sequences], np.bool_)
    queries = KmerSets.of(hashing, sequences)
    for rows, _, _ in queries.match(KmerSets.of(hashing, known), MIN_SIMILAR):
        mask[rows] = True
    return mask, hashing.k


def group_similar(sequences: Sequence[bytes]) -> list[int]:
    """Return a group number of each sequence: similar sequences are in one group."""
    # A sequence joins all groups in which at least half of its k-mers occur (single
    # linkage). Long sequences come first, so that parts of them join their groups.
    groups = _Groups(len(sequences))
    sets = KmerSets.of(KmerHashing.choose(sequences), sequences)
    order = np.argsort(sets.rows, kind="stable")
    starts = np.searchsorted(sets.rows[order], np.arange(1, len(sequences)))
    kmers_of = [set[int](it.tolist()) for it in np.split(sets.hashes[order], starts)]
    first_rows = dict[bytes, int]()
    roots_of = dict[int, set[int]]()  # the groups in which each k-mer occurs
    for row in sorted(range(len(sequences)), key=lambda it: -len(kmers_of[it])):
        kmers, counts = kmers_of[row], Counter[int]()
        for kmer in kmers & roots_of.keys():
            counts.update({groups.find(it) for it in roots_of[kmer]})
        for other, count in counts.items():
            if count >= MIN_SIMILAR * len(kmers):
                groups.join(row, other)
        # Sequences that are shorter than k have no k-mers, but may be equal.
        groups.join(row, first_rows.setdefault(sequences[row], row))
        for kmer in kmers:
            roots = {groups.find(it) for it in roots_of.get(kmer, ())}
            roots_of[kmer] = roots | {groups.find(row)}
    return groups.list_numbers()


def group_homologous(
    sequences: Sequence[bytes], pairs: Iterable[tuple[int, int]] = ()
) -> list[int]:
    """Return a group number of each sequence: homologous sequences are in one group.

    Each of ``pairs`` is homologous for another reason.
    """
    groups, first_rows = _Groups(len(sequences)), dict[bytes, int]()
    hashing = KmerHashing.choose(sequences, is_homology=True)
    texts = map(normalise_strand if hashing.is_nucleic else bytes.upper, sequences)
    equal = ((row, first_rows.setdefault(it, row)) for row, it in enumerate(texts))
    for row, other in chain(equal, pairs):
        groups.join(row, other)
    kmers = KmerSets.of(hashing, sequences)
    pairs_of_rows = kmers.match(kmers, MIN_HOMOLOGOUS, min_shared=MIN_SHARED_KMERS)
    for rows, others, _ in pairs_of_rows:
        is_new = rows > others
        for row, other in zip(rows[is_new].tolist(), others[is_new].tolist(), strict=True):
            groups.join(row, other)
    return groups.list_numbers()


class _Groups:
    """Groups of sequences that are joined one after the other."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def find(self, row: int) -> int:
        """Return the number of the group of a sequence."""
        parents = self._parents
        while parents[row] != row:
            parents[row] = parents[parents[row]]
            row = parents[row]
        return row

    def join(self, row: int, other: int) -> None:
        """Move all sequences in the group of ``row`` to the group of ``other``."""
        self._parents[self.find(row)] = self.find(other)

    def list_numbers(self) -> list[int]:
        """Return the number of the group of each sequence."""
        return [self.find(row) for row in range(len(self._parents))]
