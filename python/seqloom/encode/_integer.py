"""Letters as integers: the position of each in its alphabet."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._rust import _native
from seqloom.encode._letters import (
    Case,
    Rare,
    Symbols,
    Whole,
    find_any_code,
    letter_settings,
)
from seqloom.encode._output import to_bits
from seqloom.encode._tokens_base import TokenEncoder, make_table

if TYPE_CHECKING:
    from numpy.typing import NDArray


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

    @cached_property
    def _kernel(self) -> _native.SequenceKernel:
        specials = self._bits(self.pad_value, self.mask_value)
        return _native.SequenceKernel.lookup(
            self._letters, to_bits(self._make_numbers(), self.dtype), specials
        )

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """What the kernel is told, as plain values that JSON has: kind, letters, tables."""
        return {
            "kind": "lookup",
            "letters": letter_settings(self),
            "values": self._make_numbers(),
            "specials": [self.pad_value, self.mask_value],
        }

    def _make_numbers(self) -> list[int]:
        """Returns the number of each byte."""
        numbers = {letter: number for number, letter in enumerate(self.letters)}
        return make_table(self._letters.normal, numbers, other=self.mask_value)
