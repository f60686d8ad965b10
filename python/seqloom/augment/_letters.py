"""Letter by letter: what is changed, hidden, lost or added."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._rust import _native
from seqloom.augment._augmentation import Augmentation, letter_byte, share
from seqloom.encode._policy import check_alphabet_name
from seqloom.errors import ArgumentError


@dataclass(frozen=True)
class Mutate(Augmentation):
    """Substitutes, inserts and deletes letters.

    At most one of the three happens to a letter. A substitution puts another member of the
    alphabet in its place; a letter that is no member (N, for example) is never substituted.
    An inserted letter follows the one it was drawn for, and has its case and its quality.

    Args:
        rate: The share of letters that are substituted.
        insertions: The share of letters that another one is put behind.
        deletions: The share of letters that are left out.
        alphabet: Where new letters come from: ``"dna"``, ``"rna"``, ``"protein"``, or
            letters of your own.

    Raises:
        ArgumentError: A rate lies outside 0 to 1, or together they exceed 1.

    Examples:
        >>> from seqloom import Key
        >>> mutate = Mutate(rate=0.1, insertions=0.05, deletions=0.05)
        >>> mutate(b"ACGTACGTACGTACGT", Key(0)) == mutate(b"ACGTACGTACGTACGT", Key(0))
        True
    """

    rate: float = 0.0
    insertions: float = 0.0
    deletions: float = 0.0
    alphabet: str = "dna"

    def kernel(self) -> _native.Augmenter:
        """Makes what does the work."""
        check_alphabet_name(self.alphabet)
        return _native.Augmenter.mutate(
            share("rate", self.rate),
            share("deletions", self.deletions),
            share("insertions", self.insertions),
            self.alphabet,
        )


@dataclass(frozen=True)
class Mask(Augmentation):
    """Hides letters.

    Args:
        rate: The share of letters that are hidden.
        letter: What stands in their place.

    Raises:
        ArgumentError: The rate lies outside 0 to 1, or ``letter`` is not one letter.

    Examples:
        >>> from seqloom import Key
        >>> Mask(rate=1)(b"ACGT", Key(0))
        b'NNNN'
    """

    rate: float = 0.15
    letter: str = "N"

    def kernel(self) -> _native.Augmenter:
        """Makes what does the work."""
        return _native.Augmenter.mask(share("rate", self.rate), letter_byte(self.letter))


@dataclass(frozen=True)
class QualityNoise(Augmentation):
    """Substitutes letters as often as their qualities say that they are wrong.

    A letter of quality Q is substituted by the chance 10^(-Q/10); qualities stay. Letters
    outside the alphabet (N) stay too.

    Args:
        offset: The byte that stands for quality 0: 33, or 64 for old files.
        alphabet: Where new letters come from.

    Raises:
        ArgumentError: Another offset. When called: no qualities are given, or one lies
            outside the encoding.

    Examples:
        >>> from seqloom import Key
        >>> letters, quality = QualityNoise()(b"ACGTACGT", Key(0), quality=b"~~~~~~~~")
        >>> letters, quality
        (b'ACGTACGT', b'~~~~~~~~')
    """

    offset: Literal[33, 64] = 33
    alphabet: str = "dna"

    def kernel(self) -> _native.Augmenter:
        """Makes what does the work."""
        check_alphabet_name(self.alphabet)
        if self.offset not in (33, 64):
            raise ArgumentError(f"offset must be 33 or 64, got {self.offset!r}")
        return _native.Augmenter.quality_noise(self.offset, self.alphabet)
