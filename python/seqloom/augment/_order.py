"""The same letters from the other side, or in another order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._arguments import as_choice
from seqloom._rust import _native
from seqloom.augment._augmentation import Augmentation, share, whole_number


@dataclass(frozen=True)
class ReverseComplement(Augmentation):
    """Turns a sequence to the other strand.

    IUPAC codes are complemented, case is kept; gaps (``-`` and ``.``) stay gaps. Qualities
    are reversed.

    Args:
        p: The share of sequences that are turned.
        alphabet: ``"dna"``, or ``"rna"``, where A faces U. ``"iupac"`` means DNA.

    Raises:
        ArgumentError: ``p`` lies outside 0 to 1, or the alphabet is no nucleic acid's.
        LetterError: When called: a letter faces nothing, as in a protein.

    Examples:
        >>> from seqloom import Key
        >>> ReverseComplement(p=1)(b"ACGTNr", Key(0))
        b'yNACGT'
    """

    p: float = 0.5
    alphabet: Literal["dna", "rna", "iupac"] = "dna"

    def kernel(self) -> _native.Augmenter:
        """Makes what does the work."""
        alphabet = as_choice("alphabet", self.alphabet, ("dna", "rna", "iupac"))
        return _native.Augmenter.reverse_complement(share("p", self.p), alphabet)


@dataclass(frozen=True)
class ShuffleKmers(Augmentation):
    """Shuffles a sequence and keeps how often each k-mer occurs in it.

    For ``k=1`` letters are shuffled. For ``k=2`` every dinucleotide occurs as often as
    before, exactly; any sequence of the same dinucleotides (and the same first and last
    letter) is equally likely: Altschul and Erickson 1985. The same holds for larger ``k``,
    where the first and last ``k - 1`` letters stay. Each letter keeps its quality. Lower
    case letters are letters of their own.

    Args:
        k: How many neighbouring letters stay together in number.

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
        """Makes what does the work."""
        return _native.Augmenter.shuffle_kmers(whole_number("k", self.k, least=1))
