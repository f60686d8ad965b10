"""Letters and words of letters as integers, and counts of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_integer
from seqloom.encode._letters import (
    LIMITS,
    Case,
    Rare,
    Symbols,
    Whole,
    find_any_code,
    letter_settings,
)
from seqloom.encode._tokens_base import TokenEncoder, count_words, join_words, make_table
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST_COUNTS = 1 << 26


@dataclass(frozen=True)
class Integer(TokenEncoder):
    """Encodes each letter as its position in the alphabet, from 0 on.

    The next two numbers are those of masked letters and of padding, so that all numbers are
    rows of one embedding.

    Args:
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or your own letters.
        dtype: ``"int64"``, ``"int32"`` or ``"uint8"``.
        padding: The number that pads shorter sequences; None: ``mask_value + 1``.
        unknown: What an ambiguity code becomes: ``"mask"``, the number ``mask_value``;
            ``"error"``.
        case: What a lower-case letter means: ``"fold"``, the same as upper case;
            ``"mask"``; ``"keep"``, another letter; ``"error"``.
        rna_as_dna: Whether U counts as T in DNA; otherwise U is an error.
        rare: What U and O become in a protein: ``"error"``; ``"zeros"`` or ``"unknown"``,
            the number ``mask_value``; ``"replace"``, C and K; ``"keep"``, their own.
        symbols: What ``*``, ``-`` and ``.`` become: ``"strip_terminal_stop"``, an error
            except that one ``*`` at the end of a protein is left out; ``"error"``;
            ``"zeros"``, the number ``mask_value``; ``"keep"``, numbers of their own.

    Raises:
        ArgumentError: A setting has an unknown value, or two settings exclude each other.

    Examples:
        >>> encode = Integer("dna")
        >>> encode.batch(["ACGTN", "ac"], length=5).tolist()
        [[0, 1, 2, 3, 4], [0, 1, 5, 5, 5]]
        >>> encode.vocabulary_size
        6
    """

    supports_threads = True

    alphabet: str = "dna"
    dtype: Whole = "int64"
    padding: int | None = None
    unknown: Literal["mask", "error"] = "mask"
    case: Case = "fold"
    rna_as_dna: bool = False
    rare: Rare = "error"
    symbols: Symbols = "strip_terminal_stop"

    def _check(self) -> None:
        self._check_range()

    @property
    def letters(self) -> str:
        """The letters in the order of their numbers."""
        return self._letters.members

    @property
    def mask_value(self) -> int:
        """The number of masked letters."""
        return len(self.letters)

    @property
    def pad_value(self) -> int:
        """The value after the end of a shorter sequence."""
        return self.mask_value + 1 if self.padding is None else self.padding

    @property
    def vocabulary_size(self) -> int:
        """The number of different numbers: the rows of an embedding."""
        return max(self.mask_value, self.pad_value) + 1

    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        letters = self.letters + find_any_code(self._letters)
        spelling = np.frombuffer(letters.encode(), np.uint8)
        return spelling[np.minimum(tokens, self.mask_value)].tobytes()

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """What the kernel is told, as plain values that JSON has: kind, letters, tables."""
        numbers = {letter: number for number, letter in enumerate(self.letters)}
        return {
            "kind": "lookup",
            "letters": letter_settings(self),
            "values": make_table(self._letters.normal, numbers, other=self.mask_value),
            "specials": [self.pad_value, self.mask_value],
        }


@dataclass(frozen=True)
class Kmer(TokenEncoder):
    """Encodes the words of k letters in a sequence, as tokens or as counts of each word.

    The digits of a word's number are the positions of its letters in the alphabet: AAA is
    0, AAC is 1. The next two tokens are those of masked words and of padding. A sequence
    shorter than k has no word.

    Args:
        k: The number of letters of a word.
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or your own letters.
        stride: The number of letters from the start of one word to the next.
        canonical: Whether a word and its reverse complement are the same: the smaller one.
        counts: Whether to count words: an array (sequences, words) instead of tokens.
        dtype: ``"int64"``, ``"int32"``, ``"uint8"``; for counts also ``"float32"`` and
            ``"float64"``, but not ``"uint8"``. None means int64 for tokens, else float32.
        padding: The token that pads shorter sequences; None: the last one.
        unknown: What a word with an ambiguity code becomes: ``"mask"``, the token
            ``mask_value``, which no count contains; ``"error"``.
        case: What a lower-case letter means: ``"fold"``, the same as upper case;
            ``"mask"``; ``"keep"``, another letter; ``"error"``.
        rna_as_dna: Whether U counts as T in DNA; otherwise U is an error.
        rare: What U and O become in a protein: ``"error"``; ``"zeros"`` or ``"unknown"``,
            the words are masked; ``"replace"``, C and K; ``"keep"``, letters.
        symbols: What ``*``, ``-`` and ``.`` become: ``"strip_terminal_stop"``, an error
            except that one ``*`` at the end of a protein is left out; ``"error"``;
            ``"zeros"``, the words are masked; ``"keep"``, letters.

    Raises:
        ArgumentError: A setting has an unknown value, or two settings exclude each other.

    Examples:
        >>> Kmer(3)("AAACN").tolist()
        [0, 1, 64]
        >>> Kmer(1, counts=True).batch(["ACCA", "GGG"], length=4).tolist()
        [[2.0, 2.0, 0.0, 0.0], [0.0, 0.0, 3.0, 0.0]]
    """

    supports_threads = True

    k: int
    alphabet: str = "dna"
    stride: int = 1
    canonical: bool = False
    counts: bool = False
    dtype: Literal["int64", "int32", "uint8", "float32", "float64"] | None = None
    padding: int | None = None
    unknown: Literal["mask", "error"] = "mask"
    case: Case = "fold"
    rna_as_dna: bool = False
    rare: Rare = "error"
    symbols: Symbols = "strip_terminal_stop"

    def __post_init__(self) -> None:
        if self.dtype is None:
            object.__setattr__(self, "dtype", "float32" if self.counts else "int64")
        super().__post_init__()

    def _check(self) -> None:
        whole = tuple(LIMITS)
        fits = self.dtype != "uint8" if self.counts else self.dtype in whole
        if not fits:
            what = "counts" if self.counts else "tokens"
            raise ArgumentError(f"dtype={self.dtype!r} is not possible for {what}")
        as_integer("k", self.k, least=1)
        as_integer("stride", self.stride, least=1)
        if not self.counts:
            self._check_range()
        elif self._num_words > _MOST_COUNTS:
            raise ArgumentError(
                f"k={self.k} has {self._num_words:,} words, more than the "
                f"{_MOST_COUNTS:,} that can be counted: give counts=False, or a smaller k"
            )

    @property
    def letters(self) -> str:
        """The letters in the order of their digits."""
        return self._letters.members

    @property
    def _num_words(self) -> int:
        """The number of different words."""
        return len(self.letters) ** self.k

    @property
    def mask_value(self) -> int:
        """The token of masked words."""
        return self._num_words

    @property
    def pad_value(self) -> int:
        """The value after the end of a shorter sequence."""
        if self.counts:
            return 0
        return self._num_words + 1 if self.padding is None else self.padding

    @property
    def vocabulary_size(self) -> int:
        """The number of different tokens: the rows of an embedding."""
        return max(self.mask_value, self.pad_value) + 1

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return the number of positions that sequences take.

        Args:
            lengths: The numbers of letters of the sequences.

        Returns:
            The number of their words; for counts, of all words.

        Examples:
            >>> (
            ...     Kmer(3).places([2, 5]).tolist(),
            ...     Kmer(3, counts=True).places([2, 5]).tolist(),
            ... )
            ([0, 3], [64, 64])
        """
        if self.counts:
            return np.full(np.shape(lengths), self._num_words, np.int64)
        return count_words(lengths, self.k, self.stride)

    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        if self.counts or self.canonical or self.stride > self.k:
            raise ArgumentError(
                "counts, canonical words and a stride above k do not keep the letters: "
                "decode needs counts=False, canonical=False and stride <= k"
            )
        other = find_any_code(self._letters)
        return join_words(tokens, self.letters, k=self.k, stride=self.stride, other=other)

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """What the kernel is told, as plain values that JSON has: kind, letters, tables."""
        words = {"k": self.k, "stride": self.stride, "canonical": self.canonical}
        known = {"letters": letter_settings(self), **words}
        if self.counts:
            return {"kind": "kmer_counts", **known}
        specials = [self.pad_value, self.mask_value]
        return {"kind": "kmers", **known, "first": 0, "specials": specials}
