"""Letters as channels: one place is one column of zeros with a one in it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._rust import _native
from seqloom.encode._base import SequenceEncoder
from seqloom.encode._output import bits_of, numbers_of
from seqloom.encode._policy import (
    LIMITS,
    Case,
    Number,
    Rare,
    Symbols,
    letters_of,
)
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_AXES = 3


@dataclass(frozen=True)
class OneHot(SequenceEncoder):
    """Encodes sequences as one-hot arrays, channels in the alphabet's order.

    A letter is a member of the alphabet, an ambiguity code (N and the like), or foreign.
    ``unknown`` says what an ambiguity code becomes; a foreign letter is always an error.

    Args:
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or letters of your own.
        channels: ``"first"`` for arrays (channels, places), ``"last"`` for the transpose.
        dtype: ``"float32"``, ``"float64"``, ``"float16"``, ``"uint8"``, ``"int64"``,
            ``"int32"``, or ``"bfloat16"``, which gives torch tensors.
        unknown: What an ambiguity code becomes: ``"zeros"``; ``"uniform"``, the same
            share in every channel; ``"fractional"``, equal shares in the channels it
            stands for; ``"error"``.
        case: What a lower-case letter means: ``"fold"``, the same as upper case;
            ``"mask"``, zeros; ``"keep"``, another letter; ``"error"``.
        rna_as_dna: Whether DNA reads U as T; otherwise U is an error.
        rare: What U and O become in a protein: ``"error"``; ``"zeros"``; ``"unknown"``,
            the same as X; ``"replace"``, C and K; ``"keep"``, channels of their own.
        symbols: What ``*``, ``-`` and ``.`` become: ``"strip_terminal_stop"``, an error
            except for one ``*`` at the end of a protein, whose place is padding;
            ``"error"``; ``"zeros"``; ``"keep"``, channels of their own.

    Raises:
        ArgumentError: An option has an unknown value, or they do not go together.

    Examples:
        >>> encode = OneHot("dna")
        >>> encode(b"ACGN").tolist()[0]
        [1.0, 0.0, 0.0, 0.0]
        >>> encode.counts["ambiguous"]
        1
        >>> OneHot("protein", rare="keep").letters
        'ACDEFGHIKLMNPQRSTVWYUO'
    """

    alphabet: str = "dna"
    channels: Literal["first", "last"] = "first"
    dtype: Number = "float32"
    unknown: Literal["zeros", "uniform", "fractional", "error"] = "zeros"
    case: Case = "fold"
    rna_as_dna: bool = False
    rare: Rare = "error"
    symbols: Symbols = "strip_terminal_stop"

    def _check(self) -> None:
        if self.dtype in LIMITS and self.unknown in {"uniform", "fractional"}:
            raise ArgumentError(
                f"unknown={self.unknown!r} needs shares, which {self.dtype} cannot hold"
            )

    @property
    def width(self) -> int:
        """The number of channels."""
        return len(self.letters)

    @property
    def letters(self) -> str:
        """The letters that have a channel, in the channels' order."""
        return self._letters.members

    def shape(self, n: int, places: int) -> tuple[int, ...]:
        """Says what shape a batch has.

        Args:
            n: The number of sequences.
            places: The number of places.

        Returns:
            The sizes of its axes.

        Examples:
            >>> OneHot("dna", channels="last").shape(8, 100)
            (8, 100, 4)
        """
        width = self.width
        return (n, width, places) if self.channels == "first" else (n, places, width)

    def decode(self, array: Any, *, lengths: Iterable[int] | None = None) -> list[bytes]:
        """Turns encoded sequences back into letters.

        The largest channel names the letter; a place of zeros reads N (X in a protein).

        Args:
            array: What ``batch`` gave, or one sequence's array.
            lengths: How many places of each sequence are no padding; all of them if None.

        Returns:
            The letters of each sequence.

        Raises:
            ShapeError: The array has not the encoder's channels.

        Examples:
            >>> encode = OneHot("dna")
            >>> encode.decode(encode.batch(["ACGT", "GGCC"]))
            [b'ACGT', b'GGCC']
        """
        numbers = numbers_of(array)
        stack = numbers[None] if numbers.ndim == _AXES - 1 else numbers
        axis = 1 if self.channels == "first" else 2
        if stack.ndim != _AXES or stack.shape[axis] != self.width:
            raise ShapeError(
                f"expected {self.width} channels {self.channels}, "
                f"found shape {numbers.shape}"
            )
        values = np.ascontiguousarray(stack, np.float32)
        rows = self._letters.decode(values, self.channels == "first")
        if lengths is None:
            return rows
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    @cached_property
    def _letters(self) -> _native.Letters:
        return letters_of(self, rare=self.rare)

    @cached_property
    def _kernel(self) -> _native.SequenceKernel:
        rows = bits_of(self._rows(), self.dtype).reshape(-1)
        return _native.SequenceKernel.one_hot(self._letters, rows, self.channels == "first")

    def _rows(self) -> NDArray[np.float64]:
        """Says what each byte puts into the channels."""
        members = self._letters.members
        shares = dict(self._letters.ambiguities) | {letter: letter for letter in members}
        if self.unknown == "zeros":
            shares = {letter: letter for letter in members}
        rows = np.zeros((256, len(members)))
        for byte, normal in enumerate(map(chr, self._letters.normal)):
            among = shares.get(normal, "")
            if self.unknown == "uniform" and normal not in members and among:
                among = members
            if among:
                rows[byte, [members.index(letter) for letter in among]] = 1 / len(among)
        return rows
