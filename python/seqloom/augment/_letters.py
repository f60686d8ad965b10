"""Changing, masking, deleting and inserting single letters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from seqloom._rust import _native
from seqloom.augment._augmentation import Augmentation, as_probability, letter_byte
from seqloom.encode._letters import check_alphabet_name
from seqloom.errors import ArgumentError


@dataclass(frozen=True)
class Mutate(Augmentation):
    """Substitutes, inserts and deletes letters.

    At most one of the three happens to a letter. A substitution replaces it by another
    member of the alphabet; a letter that is not a member (N, for example) is never
    substituted. An inserted letter follows the one it was drawn for, and has its case and
    its quality.

    Args:
        rate: The probability that a letter is substituted.
        insertions: The probability that a letter is inserted after a letter.
        deletions: The probability that a letter is deleted.
        alphabet: The alphabet of new letters: ``"dna"``, ``"rna"``, ``"protein"``, or your
            own letters.

    Raises:
        ArgumentError: A probability is not from 0 to 1, or their sum exceeds 1.

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
        """Makes the kernel."""
        check_alphabet_name(self.alphabet)
        return _native.Augmenter.mutate(
            as_probability("rate", self.rate),
            as_probability("deletions", self.deletions),
            as_probability("insertions", self.insertions),
            self.alphabet,
        )


@dataclass(frozen=True)
class Mask(Augmentation):
    """Masks letters.

    Args:
        rate: The probability that a letter is masked.
        letter: The letter that replaces it.

    Raises:
        ArgumentError: ``rate`` is not from 0 to 1, or ``letter`` is not one letter.

    Examples:
        >>> from seqloom import Key
        >>> Mask(rate=1)(b"ACGT", Key(0))
        b'NNNN'
    """

    rate: float = 0.15
    letter: str = "N"

    def kernel(self) -> _native.Augmenter:
        """Makes the kernel."""
        return _native.Augmenter.mask(
            as_probability("rate", self.rate), letter_byte(self.letter)
        )


@dataclass(frozen=True)
class QualityNoise(Augmentation):
    """Substitutes letters with the error probability of their qualities.

    A letter of quality Q is substituted with the probability 10^(-Q/10); qualities stay.
    Letters outside the alphabet (N) stay too.

    Args:
        offset: The byte of quality 0: 33, or 64 for old files.
        alphabet: The alphabet of new letters.

    Raises:
        ArgumentError: The offset is neither. When called: there are no qualities, or one is
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
        """Makes the kernel."""
        check_alphabet_name(self.alphabet)
        if self.offset not in (33, 64):
            raise ArgumentError(f"offset must be 33 or 64, got {self.offset!r}")
        return _native.Augmenter.quality_noise(self.offset, self.alphabet)
