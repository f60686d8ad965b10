"""Reverse complement and shuffling: the same letters in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._arguments import as_choice, as_integer
from seqloom._rust import _native
from seqloom.augment._augmentation import MAX_LETTERS, Augmentation, as_probability


@dataclass(frozen=True)
class ReverseComplement(Augmentation):
    """Replaces a sequence by its reverse complement.

    IUPAC codes are complemented, case is kept, and gaps (``-`` and ``.``) stay gaps.
    Qualities are reversed.

    Args:
        p: The probability for each sequence.
        alphabet: ``"dna"``, or ``"rna"``, where A pairs with U. ``"iupac"`` means DNA.

    Raises:
        ArgumentError: ``p`` is not from 0 to 1, or the alphabet is not a nucleic acid.
        LetterError: When called: a letter has no complement, as in a protein.

    Examples:
        >>> from seqloom import Key
        >>> ReverseComplement(p=1)(b"ACGTNr", Key(0))
        b'yNACGT'
    """

    p: float = 0.5
    alphabet: Literal["dna", "rna", "iupac"] = "dna"

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        alphabet = as_choice("alphabet", self.alphabet, ("dna", "rna", "iupac"))
        return _native.Augmenter.reverse_complement(as_probability("p", self.p), alphabet)


@dataclass(frozen=True)
class ShuffleKmers(Augmentation):
    """Shuffles a sequence and keeps how often each k-mer occurs in it.

    For ``k=1`` letters are shuffled. For ``k=2`` every dinucleotide occurs as often as
    before, exactly; any sequence of the same dinucleotides (and the same first and last
    letter) is equally likely: Altschul and Erickson 1985. The same holds for larger ``k``,
    where the first and last ``k - 1`` letters stay. Each letter keeps its quality. Lower
    case letters are letters of their own.

    Args:
        k: The length of the words whose counts stay.

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

    k: int = 1

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        return _native.Augmenter.shuffle_kmers(
            as_integer("k", self.k, least=1, limit=MAX_LETTERS)
        )
