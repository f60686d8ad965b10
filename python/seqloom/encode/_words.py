"""`Integer` and `Kmer`, which encode residues and k-mers as integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_integer
from seqloom.encode._letters import (
    INTEGER_LIMITS,
    Case,
    IntegerDType,
    Rare,
    Symbols,
    alphabet_settings,
    find_any_residue_code,
)
from seqloom.encode._tokens_base import (
    TokenEncoder,
    count_kmers,
    join_kmers,
    make_token_table,
)
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MAX_COUNTED_KMERS = 1 << 26


@dataclass(frozen=True)
class Integer(TokenEncoder):
    """Encodes each residue as its index in the alphabet.

    The two numbers after those of the residues are for masked residues and for padding.

    Args:
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or a string of
            characters.
        dtype: ``"int64"``, ``"int32"`` or ``"uint8"``.
        padding: The number for padding; None means ``mask_value + 1``.
        unknown: The encoding of ambiguity codes: ``"mask"`` uses the number ``mask_value``;
            ``"error"`` raises.
        case: The encoding of lower case: ``"fold"``, like upper case; ``"mask"``, as
            ``mask_value``; ``"keep"``, as separate residues. ``"error"`` raises for lower
            case.
        rna_as_dna: If True, U is read as T in DNA; otherwise U raises an error.
        rare: The encoding of U and O in proteins: ``"zeros"`` or ``"unknown"``, as
            ``mask_value``; ``"replace"``, like C and K; ``"keep"``, as two additional
            numbers. ``"error"`` raises for U and O.
        symbols: The encoding of ``*``, ``-`` and ``.``: ``"zeros"``, as ``mask_value``;
            ``"keep"``, as a number for each symbol. ``"error"`` raises for all symbols.
            ``"strip_terminal_stop"`` drops one ``*`` at the end of a protein, and raises
            for other symbols.

    Raises:
        ArgumentError: A setting is invalid, or two settings contradict each other.

    Examples:
        >>> encode = Integer("dna")
        >>> encode.batch(["ACGTN", "ac"], length=5).tolist()
        [[0, 1, 2, 3, 4], [0, 1, 5, 5, 5]]
        >>> encode.vocabulary_size
        6
    """

    supports_threads = True

    alphabet: str = "dna"
    dtype: IntegerDType = "int64"
    padding: int | None = None
    unknown: Literal["mask", "error"] = "mask"
    case: Case = "fold"
    rna_as_dna: bool = False
    rare: Rare = "error"
    symbols: Symbols = "strip_terminal_stop"

    def _check_settings(self) -> None:
        self._check_range()

    @property
    def letters(self) -> str:
        """The residues in the order of their numbers."""
        return self._letters.members

    @property
    def mask_value(self) -> int:
        """Number that replaces masked residues."""
        return len(self.letters)

    @property
    def pad_value(self) -> int:
        """The value that pads shorter sequences."""
        return self.mask_value + 1 if self.padding is None else self.padding

    @property
    def vocabulary_size(self) -> int:
        """Number of different values, for the size of an embedding."""
        return max(self.mask_value, self.pad_value) + 1

    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        letters = self.letters + find_any_residue_code(self._letters)
        spelling = np.frombuffer(letters.encode(), np.uint8)
        return spelling[np.minimum(tokens, self.mask_value)].tobytes()

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""
        numbers = {letter: number for number, letter in enumerate(self.letters)}
        return {
            "kind": "lookup",
            "letters": alphabet_settings(self),
            "values": make_token_table(
                self._letters.normal, numbers, other=self.mask_value
            ),
            "specials": [self.pad_value, self.mask_value],
        }


@dataclass(frozen=True)
class Kmer(TokenEncoder):
    """Encodes the k-mers of a sequence as tokens, or counts each k-mer.

    K-mers are numbered in the order of the alphabet: AAA is 0, AAC is 1. The two numbers
    after those of the k-mers are for masked k-mers and for padding. A sequence shorter than
    k has no k-mers.

    Args:
        k: The length of a k-mer.
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or a string of
            characters.
        stride: The distance between the starts of consecutive k-mers.
        canonical: If True, a k-mer and its reverse complement have the same token: the
            smaller of their two numbers.
        counts: If True, the result is counts (sequences, k-mers) instead of tokens.
        dtype: ``"int64"``, ``"int32"`` or ``"uint8"`` for tokens; ``"int64"``,
            ``"int32"``, ``"float32"`` or ``"float64"`` for counts. The default is int64
            for tokens and float32 for counts.
        padding: The padding token; None means the last token.
        unknown: The encoding of k-mers with an ambiguity code: ``"mask"`` uses the token
            ``mask_value``, which is not counted; ``"error"`` raises.
        case: The encoding of lower case: ``"fold"``, like upper case; ``"mask"``, as
            ``mask_value``; ``"keep"``, as separate residues. ``"error"`` raises for lower
            case.
        rna_as_dna: If True, U is read as T in DNA; otherwise U raises an error.
        rare: The encoding of U and O in proteins. ``"zeros"`` and ``"unknown"`` mask
            the k-mer; ``"replace"`` reads U and O as C and K; ``"keep"`` adds both to
            the alphabet. ``"error"`` raises for U and O.
        symbols: The treatment of ``*``, ``-`` and ``.``: ``"zeros"`` masks the k-mer;
            ``"keep"`` adds the symbols to the alphabet. ``"error"`` raises for all symbols.
            ``"strip_terminal_stop"`` drops one ``*`` at the end of a protein, and raises
            for other symbols.

    Raises:
        ArgumentError: A setting is invalid, or two settings contradict each other.

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

    def _check_settings(self) -> None:
        whole = tuple(INTEGER_LIMITS)
        fits = self.dtype != "uint8" if self.counts else self.dtype in whole
        if not fits:
            what = "counts" if self.counts else "tokens"
            raise ArgumentError(f"dtype={self.dtype!r} is not supported for {what}")
        as_integer("k", self.k, least=1)
        as_integer("stride", self.stride, least=1)
        if not self.counts:
            self._check_range()
        elif self._num_kmers > _MAX_COUNTED_KMERS:
            raise ArgumentError(
                f"k={self.k} has {self._num_kmers:,} k-mers, more than the "
                f"{_MAX_COUNTED_KMERS:,} that can be counted: pass counts=False or "
                "a smaller k"
            )

    @property
    def letters(self) -> str:
        """Residues of the alphabet, in the order that determines the numbers of k-mers."""
        return self._letters.members

    @property
    def _num_kmers(self) -> int:
        return len(self.letters) ** self.k

    @property
    def mask_value(self) -> int:
        """Token that replaces masked k-mers."""
        return self._num_kmers

    @property
    def pad_value(self) -> int:
        """The value that pads shorter sequences."""
        if self.counts:
            return 0
        return self._num_kmers + 1 if self.padding is None else self.padding

    @property
    def vocabulary_size(self) -> int:
        """The number of different tokens, for the size of an embedding."""
        return max(self.mask_value, self.pad_value) + 1

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return the number of encoded positions of each sequence.

        Args:
            lengths: Number of residues of each sequence.

        Returns:
            The number of k-mers of each sequence; with ``counts=True``, the number of
            different k-mers.

        Examples:
            >>> (
            ...     Kmer(3).places([2, 5]).tolist(),
            ...     Kmer(3, counts=True).places([2, 5]).tolist(),
            ... )
            ([0, 3], [64, 64])
        """
        if self.counts:
            return np.full(np.shape(lengths), self._num_kmers, np.int64)
        return count_kmers(lengths, self.k, self.stride)

    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        if self.counts or self.canonical or self.stride > self.k:
            raise ArgumentError(
                "counts, canonical k-mers and a stride above k lose residues: "
                "decode needs counts=False, canonical=False and stride <= k"
            )
        other = find_any_residue_code(self._letters)
        return join_kmers(tokens, self.letters, k=self.k, stride=self.stride, other=other)

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""
        words = {"k": self.k, "stride": self.stride, "canonical": self.canonical}
        known = {"letters": alphabet_settings(self), **words}
        if self.counts:
            return {"kind": "kmer_counts", **known}
        specials = [self.pad_value, self.mask_value]
        return {"kind": "kmers", **known, "first": 0, "specials": specials}
