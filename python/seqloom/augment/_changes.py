"""The augmentations of `sl.augment`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._arguments import as_choice, as_integer
from seqloom._rust import _native
from seqloom.augment._augmentation import (
    MAX_RESIDUES,
    Augmentation,
    as_probability,
    to_ascii_byte,
)
from seqloom.encode._letters import check_alphabet_name
from seqloom.errors import ArgumentError


@dataclass(frozen=True)
class Mutate(Augmentation):
    """Substitutes, inserts and deletes residues.

    Each residue is changed at most once. A substitution replaces a residue by another
    member of the alphabet; other characters, such as N, are never substituted. An inserted
    residue follows an existing residue and has the same case and quality.

    Args:
        rate: The probability that a residue is substituted.
        insertions: The probability of an insertion after a residue.
        deletions: The probability that a residue is deleted.
        alphabet: The alphabet of new residues: ``"dna"``, ``"rna"``, ``"protein"``, or a
            string of characters.

    Raises:
        ArgumentError: A probability is not from 0 to 1, or their sum exceeds 1.

    Examples:
        >>> from seqloom import Key
        >>> mutate = Mutate(rate=0.1, insertions=0.05, deletions=0.05)
        >>> mutate(b"ACGTACGTACGTACGT", Key(0)) == mutate(b"ACGTACGTACGTACGT", Key(0))
        True
    """

    supports_threads = True

    rate: float = 0.0
    insertions: float = 0.0
    deletions: float = 0.0
    alphabet: str = "dna"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        check_alphabet_name(self.alphabet)
        return _native.Augmenter.mutate(
            as_probability("rate", self.rate),
            as_probability("deletions", self.deletions),
            as_probability("insertions", self.insertions),
            self.alphabet,
        )


@dataclass(frozen=True)
class Mask(Augmentation):
    """Masks residues.

    Args:
        rate: The probability that a residue is masked.
        letter: The character that replaces a masked residue.

    Raises:
        ArgumentError: ``rate`` is not from 0 to 1, or ``letter`` is not one character.

    Examples:
        >>> from seqloom import Key
        >>> Mask(rate=1)(b"ACGT", Key(0))
        b'NNNN'
    """

    supports_threads = True

    rate: float = 0.15
    letter: str = "N"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        return _native.Augmenter.mask(
            as_probability("rate", self.rate), to_ascii_byte(self.letter)
        )


@dataclass(frozen=True)
class QualityNoise(Augmentation):
    """Substitutes residues at random, with the error probabilities of their qualities.

    A residue of quality Q is substituted with probability 10^(-Q/10). Qualities do not
    change, and neither do characters outside the alphabet, such as N.

    Args:
        offset: The ASCII code of quality 0: 33, or 64 in old files.
        alphabet: The alphabet of new residues.

    Raises:
        ArgumentError: The offset is neither 33 nor 64. Calling the augmentation raises if
            qualities are missing or invalid.

    Examples:
        >>> from seqloom import Key
        >>> letters, quality = QualityNoise()(b"ACGTACGT", Key(0), quality=b"~~~~~~~~")
        >>> letters, quality
        (b'ACGTACGT', b'~~~~~~~~')
    """

    supports_threads = True

    offset: Literal[33, 64] = 33
    alphabet: str = "dna"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        check_alphabet_name(self.alphabet)
        if self.offset not in (33, 64):
            raise ArgumentError(f"offset must be 33 or 64, got {self.offset!r}")
        return _native.Augmenter.quality_noise(self.offset, self.alphabet)


@dataclass(frozen=True)
class ReverseComplement(Augmentation):
    """Replaces a sequence by its reverse complement.

    IUPAC codes are complemented; case and gaps (``-`` and ``.``) are kept. Qualities are
    reversed.

    Args:
        p: The probability that a sequence is reverse-complemented.
        alphabet: ``"dna"`` or ``"rna"``; in RNA, A pairs with U. ``"iupac"`` has the same
            effect as ``"dna"``.

    Raises:
        ArgumentError: ``p`` is not from 0 to 1, or the alphabet is neither DNA nor RNA.
        AlphabetError: A sequence, such as a protein, has a character without a complement.

    Examples:
        >>> from seqloom import Key
        >>> ReverseComplement(p=1)(b"ACGTNr", Key(0))
        b'yNACGT'
    """

    supports_threads = True

    p: float = 0.5
    alphabet: Literal["dna", "rna", "iupac"] = "dna"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        alphabet = as_choice("alphabet", self.alphabet, ("dna", "rna", "iupac"))
        return _native.Augmenter.reverse_complement(as_probability("p", self.p), alphabet)


@dataclass(frozen=True)
class ShuffleKmers(Augmentation):
    """Shuffles a sequence and preserves its k-mer counts.

    ``k=1`` shuffles residues. ``k=2`` preserves the counts of dinucleotides, and the first
    and the last residue; all such sequences are equally likely (Altschul and Erickson
    1985). A larger ``k`` preserves the counts of k-mers, and the first and the last ``k -
    1`` residues. Each residue keeps its quality. Upper-case and lower-case residues are
    counted as different residues.

    Args:
        k: The length of the k-mers whose counts are preserved.

    Raises:
        ArgumentError: ``k`` is below 1.

    Examples:
        >>> from collections import Counter
        >>> from itertools import pairwise
        >>> from seqloom import Key
        >>> before = b"ACGTTGCATGAACGT"
        >>> after = ShuffleKmers(k=2)(before, Key(3))
        >>> Counter(pairwise(after)) == Counter(pairwise(before)), after == before
        (True, False)
    """

    supports_threads = True

    k: int = 1

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        return _native.Augmenter.shuffle_kmers(
            as_integer("k", self.k, least=1, limit=MAX_RESIDUES)
        )


@dataclass(frozen=True)
class Crop(Augmentation):
    """Crops a longer sequence to a fixed length.

    A shorter sequence does not change; ``sl.data.PadCollator`` pads it.

    Args:
        length: The number of residues to keep.
        mode: ``"random"`` for a window at a random position, ``"centre"`` for the middle,
            ``"start"`` for the first residues.

    Raises:
        ArgumentError: ``length`` is below 1, or the mode is unknown.

    Examples:
        >>> from seqloom import Key
        >>> Crop(4, mode="centre")(b"AACGTTA", Key(0))
        b'ACGT'
    """

    supports_threads = True

    length: int
    mode: Literal["random", "centre", "start"] = "random"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        mode = as_choice("mode", self.mode, ("random", "centre", "start"))
        length = as_integer("length", self.length, least=1, limit=MAX_RESIDUES)
        return _native.Augmenter.crop(length, mode)


@dataclass(frozen=True)
class Shift(Augmentation):
    """Shifts a sequence right or left by a random number of residues.

    Every shift up to ``max_shift`` is equally likely; the length does not change. With
    ``mode="fill"``, residues shifted out at one end are lost, and the other end is filled
    with ``letter`` (quality 0, ``!``). With ``mode="roll"``, residues shifted out at one
    end reappear at the other end.

    Args:
        max_shift: The largest shift, in either direction.
        mode: The treatment of residues shifted out: ``"fill"`` or ``"roll"``.
        letter: The character that replaces the lost residues in mode ``"fill"``.

    Raises:
        ArgumentError: ``max_shift`` is negative, the mode is unknown, or ``letter`` is not
            one character.

    Examples:
        >>> from seqloom import Key
        >>> Shift(2)(b"AACGTTA", Key(5)), Shift(2, mode="roll")(b"AACGTTA", Key(5))
        (b'NAACGTT', b'AAACGTT')
    """

    supports_threads = True

    max_shift: int
    mode: Literal["fill", "roll"] = "fill"
    letter: str = "N"

    def kernel(self) -> _native.Augmenter:
        """Return the Rust kernel."""
        as_choice("mode", self.mode, ("fill", "roll"))
        most = as_integer("max_shift", self.max_shift, limit=MAX_RESIDUES)
        fill = to_ascii_byte(self.letter)
        return _native.Augmenter.shift(most, fill if self.mode == "fill" else None)
