"""`OneHot`, which encodes each residue as a one in its channel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom.encode._base import SequenceEncoder
from seqloom.encode._letters import (
    INTEGER_LIMITS,
    Case,
    EncodedDType,
    Rare,
    Symbols,
    alphabet_settings,
    from_bits,
    to_bits,
    to_numpy,
)
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

_BATCH_AXES = 3


@dataclass(frozen=True)
class OneHot(SequenceEncoder):
    """Encodes sequences as one-hot arrays, with channels in the order of the alphabet.

    The argument ``unknown`` determines how ambiguity codes such as N are encoded. Any other
    character outside the alphabet raises an error.

    Args:
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or a string of
            characters.
        channels: ``"first"`` for (channels, positions), ``"last"`` for (positions,
            channels).
        dtype: ``"float32"``, ``"float64"``, ``"float16"``, ``"uint8"``, ``"int64"``,
            ``"int32"``, or ``"bfloat16"``, which returns PyTorch tensors.
        unknown: The encoding of ambiguity codes: ``"zeros"``; ``"uniform"``, equal
            fractions in all channels; ``"fractional"``, equal fractions for the residues
            that the code represents. ``"error"`` raises for ambiguity codes.
        case: The encoding of lower case: ``"fold"``, like upper case; ``"mask"``, as zeros;
            ``"keep"``, in separate channels. ``"error"`` raises for lower case.
        rna_as_dna: If True, U is read as T in DNA; otherwise U raises an error.
        rare: The encoding of U and O in proteins: ``"zeros"``; ``"unknown"``, like X;
            ``"replace"``, like C and K; ``"keep"``, in two additional channels. ``"error"``
            raises for U and O.
        symbols: The encoding of ``*``, ``-`` and ``.``: ``"zeros"``, or ``"keep"``, in a
            channel for each symbol. ``"error"`` raises for all symbols.
            ``"strip_terminal_stop"`` drops one ``*`` at the end of a protein, and raises
            for other symbols.

    Raises:
        ArgumentError: A setting is invalid, or two settings contradict each other.

    Examples:
        >>> encode = OneHot("dna")
        >>> encode(b"ACGN").tolist()[0]
        [1.0, 0.0, 0.0, 0.0]
        >>> encode.count_unusual([b"ACGN"])["ambiguous"]
        1
        >>> OneHot("protein", rare="keep").letters
        'ACDEFGHIKLMNPQRSTVWYUO'
    """

    supports_threads = True

    alphabet: str = "dna"
    channels: Literal["first", "last"] = "first"
    dtype: EncodedDType = "float32"
    unknown: Literal["zeros", "uniform", "fractional", "error"] = "zeros"
    case: Case = "fold"
    rna_as_dna: bool = False
    rare: Rare = "error"
    symbols: Symbols = "strip_terminal_stop"

    def _check_settings(self) -> None:
        if self.dtype in INTEGER_LIMITS and self.unknown in {"uniform", "fractional"}:
            raise ArgumentError(
                f"unknown={self.unknown!r} needs fractions: choose a float dtype "
                f"instead of {self.dtype!r}"
            )

    @property
    def width(self) -> int:
        """The number of channels."""
        return len(self.letters)

    @property
    def letters(self) -> str:
        """The residues in the order of their channels."""
        return self._letters.members

    def shape(self, n: int, places: int) -> tuple[int, ...]:
        """Return the shape of an encoded batch.

        Args:
            n: The number of sequences.
            places: The number of positions.

        Returns:
            Size of each axis.

        Examples:
            >>> OneHot("dna", channels="last").shape(8, 100)
            (8, 100, 4)
        """
        width = self.width
        return (n, width, places) if self.channels == "first" else (n, places, width)

    def decode(self, array: Any, *, lengths: Iterable[int] | None = None) -> list[bytes]:
        """Convert one-hot arrays back to sequences.

        Each position becomes the residue of its largest channel; a position with only zeros
        becomes N (X in proteins).

        Args:
            array: The result of ``batch``, or the array of one sequence.
            lengths: The number of positions of each sequence without padding; None decodes
                all positions.

        Returns:
            The residues of each sequence.

        Raises:
            ShapeError: The number of channels of the array differs from that of the
                encoder.

        Examples:
            >>> encode = OneHot("dna")
            >>> encode.decode(encode.batch(["ACGT", "GGCC"]))
            [b'ACGT', b'GGCC']
        """
        numbers = to_numpy(array)
        stack = numbers[None] if numbers.ndim == _BATCH_AXES - 1 else numbers
        axis = 1 if self.channels == "first" else 2
        if stack.ndim != _BATCH_AXES or stack.shape[axis] != self.width:
            raise ShapeError(
                f"the array must have {self.width} channels, {self.channels}; "
                f"got the shape {numbers.shape}"
            )
        values = np.ascontiguousarray(stack, np.float32)
        rows = self._letters.decode(values, self.channels == "first")
        if lengths is None:
            return rows
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    @property
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""
        return {
            "kind": "one_hot",
            "letters": alphabet_settings(self),
            "rows": from_bits(to_bits(self._make_one_hot_rows(), self.dtype), self.dtype),
            "channels_first": self.channels == "first",
        }

    def _make_one_hot_rows(self) -> NDArray[np.float64]:
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
