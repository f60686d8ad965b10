"""`TokenEncoder`, the base class of encoders that return tokens."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from seqloom._ragged import Ragged, lengths_to_offsets
from seqloom.encode._base import SequenceEncoder, join_sequences
from seqloom.encode._letters import INTEGER_LIMITS, prepare_output, to_numpy
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


class TokenEncoder(SequenceEncoder):
    """Base class of encoders that return tokens: integers below ``vocabulary_size``.

    Examples:
        >>> from seqloom.encode import Integer
        >>> Integer("dna").channels is None
        True
    """

    supports_native_batches: ClassVar[bool] = True

    @property
    def channels(self) -> None:
        """None, because tokens have no axis of channels."""
        return

    @property
    @abstractmethod
    def vocabulary_size(self) -> int:
        """The number of different tokens, for the size of an embedding."""

    @property
    @abstractmethod
    def mask_value(self) -> int:
        """Token number that replaces masked residues."""

    def __call__(self, sequence: bytes | str, *, out: Any = None) -> Any:
        """Encode one sequence.

        Args:
            sequence: The residues.
            out: The array to write into, with the length that ``places`` returns; None
                allocates an array.

        Returns:
            The tokens without padding; ``out`` if it is given.

        Raises:
            AlphabetError: A character is not in the alphabet, or the settings reject it.

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
        """Encode many sequences as one row of tokens, without padding.

        Args:
            sequences: The sequences.
            num_threads: The number of threads; None chooses a number that suits the number
                of residues; 0 uses all cores.

        Returns:
            The tokens of all sequences, and their offsets: sequence ``i`` is
            ``tokens[offsets[i]:offsets[i + 1]]``.

        Raises:
            AlphabetError: A character is not in the alphabet, or the settings reject it.

        Examples:
            >>> from seqloom.encode import Integer
            >>> tokens, offsets = Integer("dna").flat(["AC", "G"])
            >>> tokens.tolist(), offsets.tolist()
            ([0, 1, 2], [0, 2, 3])
        """
        rows = sequences if isinstance(sequences, Ragged) else join_sequences(sequences)
        starts = lengths_to_offsets(self.extents(rows))
        tokens, bits = prepare_output((int(starts[-1]),), self.dtype)
        self._encode_rows(rows, bits, starts=starts, num_threads=num_threads)
        return tokens, starts

    def decode(self, array: Any) -> list[bytes]:
        """Convert tokens back to sequences.

        Padding and the special tokens at both ends are removed. Masked residues become N,
        or X in proteins.

        Args:
            array: The result of ``batch``, or the array of one sequence.

        Returns:
            The residues of each sequence.

        Raises:
            ArgumentError: A number is not a token, or tokens cannot be decoded with these
                settings of the encoder.

        Examples:
            >>> from seqloom.encode import Tokens
            >>> encode = Tokens("esm2")
            >>> encode.decode(encode.batch(["MKV", "M"], length=5))
            [b'MKV', b'M']
        """
        tokens = np.atleast_2d(to_numpy(array)).astype(np.int64)
        outside = (tokens < 0) | (tokens >= self.vocabulary_size)
        if (outside & (tokens != self.pad_value)).any():
            raise ArgumentError(
                f"tokens must be from 0 to {self.vocabulary_size - 1}, "
                f"got {tokens.min()} to {tokens.max()}"
            )
        return [self._decode_row(row[row != self.pad_value]) for row in tokens]

    @abstractmethod
    def _decode_row(self, tokens: NDArray[np.int64]) -> bytes:
        """Decode the tokens of one sequence."""

    def _check_range(self) -> None:
        largest = max(self.vocabulary_size - 1, int(self.pad_value))
        if largest > INTEGER_LIMITS[self.dtype] or (
            self.pad_value < 0 and self.dtype == "uint8"
        ):
            raise ArgumentError(
                f"dtype={self.dtype!r} cannot hold the tokens "
                f"{min(0, int(self.pad_value))} to {largest:,}: pass a larger dtype"
            )


def make_token_table(normal: bytes, tokens: dict[str, int], *, other: int) -> list[int]:
    """Return the token of each byte; bytes without a token become `other`."""
    return [tokens.get(chr(letter), other) for letter in normal]


def count_kmers(lengths: NDArray[np.int64], k: int, stride: int) -> NDArray[np.int64]:
    """Return the number of k-mers of each sequence from its length."""
    starts = np.maximum(np.asarray(lengths, np.int64) + 1 - k, 0)
    return -(-starts // stride)


def join_kmers(
    numbers: NDArray[np.int64], letters: str, *, k: int, stride: int, other: str
) -> bytes:
    """Join overlapping k-mers; `other` replaces residues that are in no valid k-mer."""
    if not numbers.size:
        return b""
    spelling = np.frombuffer(letters.encode(), np.uint8)
    spelled = np.full((numbers.size - 1) * stride + k, ord(other), np.uint8)
    known = np.flatnonzero((numbers >= 0) & (numbers < len(letters) ** k))
    rest = numbers[known]
    for i in reversed(range(k)):
        rest, digits = np.divmod(rest, len(letters))
        spelled[known * stride + i] = spelling[digits]
    return spelled.tobytes()
