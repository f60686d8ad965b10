"""What encoders share whose output is one row of numbers for each sequence."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._ragged import Ragged, offsets_of
from seqloom.encode._base import SequenceEncoder, joined
from seqloom.encode._output import bits_of, numbers_of, writable
from seqloom.encode._policy import LIMITS
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class TokenEncoder(SequenceEncoder):
    """Base of the encoders that make tokens: whole numbers below ``vocabulary_size``.

    Examples:
        >>> from seqloom.encode import Integer
        >>> Integer("dna").channels is None
        True
    """

    @property
    def channels(self) -> None:
        """None: a place is one number."""
        return

    @property
    @abstractmethod
    def vocabulary_size(self) -> int:
        """How many different tokens there are: the rows of an embedding."""

    @property
    @abstractmethod
    def mask_value(self) -> int:
        """The token of what is masked."""

    def __call__(self, sequence: bytes | str, *, out: Any = None) -> Any:
        """Encodes one sequence.

        Args:
            sequence: Its letters.
            out: Where to write, as many places as ``places`` says; a new array if None.

        Returns:
            Its tokens, none of which is padding; ``out`` where it is given.

        Raises:
            LetterError: A letter is foreign, or forbidden by the policy.

        Examples:
            >>> from seqloom.encode import Tokens
            >>> Tokens("esm2")("MK*").tolist()
            [0, 20, 15, 2]
        """
        return (
            self.flat([sequence])[0] if out is None else super().__call__(sequence, out=out)
        )

    def flat(
        self, sequences: Ragged | Sequence[bytes | str], *, num_threads: int | None = None
    ) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Encodes many sequences end to end, without padding.

        Args:
            sequences: Their letters.
            num_threads: How many threads may work.

        Returns:
            The tokens of all sequences, and where each begins and ends (one number more
            than there are sequences).

        Raises:
            LetterError: A letter is foreign, or forbidden by the policy.

        Examples:
            >>> from seqloom.encode import Integer
            >>> tokens, offsets = Integer("dna").flat(["AC", "G"])
            >>> tokens.tolist(), offsets.tolist()
            ([0, 1, 2], [0, 2, 3])
        """
        rows = sequences if isinstance(sequences, Ragged) else joined(sequences)
        starts = offsets_of(self.extents(rows))
        tokens, bits = writable((int(starts[-1]),), self.dtype)
        self._fill(rows, bits, starts=starts, num_threads=num_threads)
        return tokens, starts

    def decode(self, array: Any) -> list[bytes]:
        """Turns tokens back into letters.

        Padding and the tokens at both ends are left out; what was masked reads as the code
        for any letter (N, X).

        Args:
            array: What ``batch`` gave, or one sequence's array.

        Returns:
            The letters of each sequence.

        Raises:
            ArgumentError: A number is no token, or the settings lose what letters were.

        Examples:
            >>> from seqloom.encode import Tokens
            >>> encode = Tokens("esm2")
            >>> encode.decode(encode.batch(["MKV", "M"], length=5))
            [b'MKV', b'M']
        """
        tokens = np.atleast_2d(numbers_of(array)).astype(np.int64)
        outside = (tokens < 0) | (tokens >= self.vocabulary_size)
        if (outside & (tokens != self.pad_value)).any():
            raise ArgumentError(
                f"tokens are numbers below {self.vocabulary_size}, "
                f"got {tokens.min()} to {tokens.max()}"
            )
        return [self._spell(row[row != self.pad_value]) for row in tokens]

    @abstractmethod
    def _spell(self, tokens: NDArray[np.int64]) -> bytes:
        """Turns one sequence's tokens into letters."""

    def _check_range(self) -> None:
        """Refuses tokens that the type cannot hold."""
        largest = max(self.vocabulary_size - 1, int(self.pad_value))
        if largest > LIMITS[self.dtype] or (self.pad_value < 0 and self.dtype == "uint8"):
            raise ArgumentError(
                f"tokens are {min(0, int(self.pad_value))} to {largest:,}, which "
                f"{self.dtype} cannot hold"
            )

    def _bits(self, *tokens: int) -> list[int]:
        """Says how the array holds some tokens."""
        return bits_of(tokens, self.dtype).tolist()


def table_of(normal: bytes, tokens: dict[str, int], *, other: int) -> list[int]:
    """Makes a table of 256 tokens.

    Args:
        normal: What each byte counts as.
        tokens: The token of each letter.
        other: The token of everything else.

    Returns:
        The token of each byte.

    Examples:
        >>> table_of(bytes(65) + b"A" + bytes(190), {"A": 7}, other=9)[64:67]
        [9, 7, 9]
    """
    return [tokens.get(chr(letter), other) for letter in normal]
