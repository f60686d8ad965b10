"""`Tokens`, which encodes sequences as tokens of a language model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._arguments import as_integer
from seqloom._rust import _native
from seqloom.encode._letters import Case, IntegerDType, Symbols, find_any_residue_code
from seqloom.encode._tokens_base import (
    TokenEncoder,
    count_kmers,
    join_kmers,
    make_token_table,
)
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPECIAL_TOKENS = ("<cls>", "<pad>", "<eos>", "<unk>")
_MASK_SYMBOL = "<mask>"

# The vocabulary of ESM-2 (Lin et al., 2023), which all ESM-2 checkpoints share.
ESM2 = (*_SPECIAL_TOKENS, *"LAGVSERTIDPKQNFYMHWCXBUZO.-", *("<null_1>", _MASK_SYMBOL))


def list_tokens(name: str, letters: str, *, k: int) -> tuple[str, ...]:
    """Return the token names of a vocabulary, in the order of their numbers."""
    if name == "esm2":
        return ESM2
    words = ("".join(word) for word in product(letters, repeat=k))
    return (*_SPECIAL_TOKENS, *words, *(["N"] if k == 1 else []), _MASK_SYMBOL)


_CLS, _PAD, _EOS, _UNK, _FIRST_KMER_TOKEN = range(5)
_MAX_K = 12


@dataclass(frozen=True)
class Tokens(TokenEncoder):
    """Encodes sequences as tokens of a language model, between ``<cls>`` and ``<eos>``.

    ``"esm2"`` is the vocabulary of ESM-2, with 33 tokens. ``"dna"`` and ``"rna"`` start
    with the same four tokens, ``<cls> <pad> <eos> <unk>``. After these special tokens
    follow A C G T (U) N, or for ``k`` above 1 all k-mers in alphabetical order. The
    last token of each vocabulary is ``<mask>``.

    Args:
        name: ``"esm2"``, ``"dna"`` or ``"rna"``.
        k: The number of residues per token; 1 for ``"esm2"``.
        stride: The distance between the starts of consecutive k-mers; 1 for ``k=1``.
        dtype: ``"int64"``, ``"int32"`` or ``"uint8"``.
        add_special_tokens: If True, each sequence starts with ``<cls>`` and ends with
            ``<eos>``.
        unknown: The encoding of ambiguity codes. ``"token"`` encodes an ambiguity code
            as its token. Ambiguity codes without a token (J in ESM-2, all codes but N
            in DNA) and k-mers that contain a code become ``<unk>``. ``"mask"`` encodes
            ambiguity codes as ``<mask>``; ``"error"`` raises for ambiguity codes.
        case: The encoding of lower case: ``"fold"``, like upper case; ``"mask"``, as
            ``<mask>``. ``"keep"`` and ``"error"`` raise for lower case.
        rna_as_dna: If True, U is read as T in DNA; otherwise U raises an error.
        symbols: The encoding of ``*``, ``-`` and ``.``: ``"zeros"``, as ``<mask>``;
            ``"keep"``, as the token of the symbol or ``<unk>``. ``"error"`` raises for all
            symbols. ``"strip_terminal_stop"`` drops one ``*`` at the end of a protein, and
            raises for other symbols.

    Raises:
        ArgumentError: A setting is invalid, or two settings contradict each other.

    Examples:
        >>> Tokens("esm2")("MKT").tolist()
        [0, 20, 15, 11, 2]
        >>> Tokens("dna", k=2, add_special_tokens=False)("AACN").tolist()
        [4, 5, 3]
    """

    supports_threads = True

    name: Literal["esm2", "dna", "rna"] = "esm2"
    k: int = 1
    stride: int = 1
    dtype: IntegerDType = "int64"
    add_special_tokens: bool = True
    unknown: Literal["token", "mask", "error"] = "token"
    case: Case = "fold"
    rna_as_dna: bool = False
    symbols: Symbols = "strip_terminal_stop"

    def _check_settings(self) -> None:
        as_integer("k", self.k, least=1)
        as_integer("stride", self.stride, least=1)
        longest = 1 if self.name == "esm2" else _MAX_K
        fits = self.stride == 1 if self.k == 1 else self.stride >= 1
        if not (1 <= self.k <= longest and fits):
            raise ArgumentError(
                f"name={self.name!r} needs k from 1 to {longest}, and stride=1 for k=1; "
                f"got k={self.k} and stride={self.stride}"
            )
        self._check_range()

    @cached_property
    def vocabulary(self) -> dict[str, int]:
        """Dict from each token to its number."""
        words = list_tokens(self.name, self._letters.members[:4], k=self.k)
        return {word: number for number, word in enumerate(words)}

    @property
    def vocabulary_size(self) -> int:
        """Number of different tokens, for the size of an embedding."""
        if self.name == "esm2":
            return len(ESM2)
        return _FIRST_KMER_TOKEN + 4**self.k + int(self.k == 1) + 1

    @property
    def mask_value(self) -> int:
        """Token number of ``<mask>``."""
        return self.vocabulary_size - 1

    @property
    def pad_value(self) -> int:
        """Token number of ``<pad>``."""
        return _PAD

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return the number of tokens of each sequence, including special tokens.

        Args:
            lengths: Number of residues of each sequence.

        Returns:
            The number of tokens of each sequence.

        Examples:
            >>> (
            ...     Tokens("esm2").places([3]).tolist(),
            ...     Tokens("dna", k=3).places([3]).tolist(),
            ... )
            ([5], [3])
        """
        return count_kmers(lengths, self.k, self.stride) + 2 * self.add_special_tokens

    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        inner = tokens[(tokens != _CLS) & (tokens != _EOS)]
        other = find_any_residue_code(self._letters)
        if self.k == 1:
            spelling = "".join(
                word if len(word) == 1 else other for word in self.vocabulary
            )
            return np.frombuffer(spelling.encode(), np.uint8)[inner].tobytes()
        if self.stride > self.k:
            raise ArgumentError("a stride above k loses residues: decode needs stride <= k")
        members = self._letters.members
        return join_kmers(
            inner - _FIRST_KMER_TOKEN, members, k=self.k, stride=self.stride, other=other
        )

    @property
    def alphabet(self) -> str:
        """The alphabet of the sequences."""
        return "protein" if self.name == "esm2" else self.name

    @cached_property
    def _letters(self) -> _native.Letters:
        return _native.Letters(**self._letter_settings)

    @property
    def _letter_settings(self) -> dict[str, Any]:
        is_word = self.k > 1
        return {
            "alphabet": self.alphabet,
            "codes": self.unknown != "error",
            "case": self.case,
            "rna_as_dna": self.rna_as_dna,
            "rare": "keep" if self.name == "esm2" else "error",
            "symbols": "zeros" if self.symbols == "keep" and is_word else self.symbols,
        }

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""
        # Token numbers for padding, unknown characters, and the start and end of a
        # sequence.
        unknown = self.mask_value if self.unknown == "mask" else _UNK
        specials = [_PAD, unknown, *[_CLS, _EOS] * self.add_special_tokens]
        known = {"letters": self._letter_settings, "specials": specials}
        if self.k == 1:
            return {"kind": "lookup", **known, "values": self._make_tokens()}
        words = {"k": self.k, "stride": self.stride, "canonical": False}
        return {"kind": "kmers", **known, **words, "first": _FIRST_KMER_TOKEN}

    def _make_tokens(self) -> list[int]:
        normal = self._letters.normal
        letters = {chr(letter) for letter in normal if letter}
        tokens = {letter: self.vocabulary.get(letter, _UNK) for letter in letters}
        if self.unknown == "mask":
            codes = (code for code, _ in self._letters.ambiguities)
            tokens |= dict.fromkeys(codes, self.mask_value)
        return make_token_table(normal, tokens, other=self.mask_value)
