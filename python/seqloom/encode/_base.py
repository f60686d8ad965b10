"""The base of all encoders: encoding of batches, and counts of unusual letters."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from seqloom._arguments import as_integer, quote
from seqloom._config import JsonConfig
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import count_threads
from seqloom.encode._letters import (
    LIMITS,
    check_choices,
    count_encoded,
    make_letters,
    prepare_output,
    to_bits,
)
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# With fewer letters a second thread costs more time than it saves.
_LETTERS_PER_THREAD = 1 << 18
_WORDS = ("k", "stride", "canonical")  # settings of the words of a kernel
# The kinds of letters that a kernel counts; "outside" is always 0.
_UNUSUAL = ("ambiguous", "lower_case", "rare", "symbols", "stops", "rna", "outside")


class SequenceEncoder(JsonConfig):
    """Base of the encoders, which are frozen dataclasses.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> isinstance(OneHot("dna"), SequenceEncoder)
        True
    """

    # A setting of every encoder; its choices differ.
    dtype: Any
    encodes: ClassVar[str] = "sequences"
    # Whether Rust may encode instead of `batch` and `__call__`. A subclass that overrides
    # one of them does not inherit it.
    supports_native_batches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choices(self)
        self._check()
        _ = self._kernel

    @abstractmethod
    def _check(self) -> None:
        """Refuse settings that exclude each other."""

    @cached_property
    def _letters(self) -> _native.Letters:
        """The table of letters: the meaning of each byte."""
        return make_letters(self)

    @cached_property
    def _kernel(self) -> _native.SequenceKernel:
        """The kernel that writes the numbers, as `kernel_settings` describe it."""
        settings, make = self.kernel_settings, _native.SequenceKernel
        kind = settings["kind"]
        if kind == "one_hot":
            rows = to_bits(settings["rows"], self.dtype).reshape(-1)
            return make.one_hot(self._letters, rows, settings["channels_first"])
        words = {name: settings[name] for name in _WORDS if name in settings}
        like = to_bits([0], self.dtype)
        if kind == "kmer_counts":
            is_float = self.dtype not in LIMITS
            return make.kmer_counts(self._letters, like, is_float=is_float, **words)
        specials = to_bits(settings["specials"], self.dtype).tolist()
        if kind == "kmers":
            first = settings["first"]
            return make.kmers(self._letters, like, first=first, specials=specials, **words)
        values = to_bits(settings["values"], self.dtype)
        return make.lookup(self._letters, values, specials)

    def __getstate__(self) -> dict[str, Any]:
        # Tables are made again where they are needed.
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore[reportArgumentType]

    @property
    @abstractmethod
    def kernel_settings(self) -> dict[str, Any]:
        """What the kernel is told, as plain values that JSON has: kind, letters, tables."""

    @property
    def kernel(self) -> _native.SequenceKernel:
        """The kernel that writes the numbers, for callers without the interpreter."""
        return self._kernel

    def count_unusual(self, sequences: Ragged | Sequence[bytes | str]) -> dict[str, int]:
        """Count the letters that are not plain members of the alphabet.

        Args:
            sequences: The sequences.

        Returns:
            The number of letters of each kind: ``"ambiguous"``, ``"lower_case"``,
            ``"rare"``, ``"symbols"``, ``"stops"`` that are left out, and ``"rna"``, U that
            counts as T.

        Raises:
            AlphabetError: A letter is not in the alphabet, or the settings refuse it.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").count_unusual(["ACGN", "gg"])["lower_case"]
            2
        """
        rows = sequences if isinstance(sequences, Ragged) else join_sequences(sequences)
        shape = self.shape(len(rows), int(self.extents(rows).max(initial=0)))
        _, bits = prepare_output(shape, self.dtype)
        counts = self._fill(rows, bits, num_threads=None)
        return dict(zip(_UNUSUAL[:-1], counts.tolist(), strict=False))

    @property
    def pad_value(self) -> float:
        """The value after the end of a shorter sequence."""
        return 0

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return the number of positions that sequences take.

        Args:
            lengths: The numbers of letters of the sequences.

        Returns:
            The number of positions of each sequence.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").places([3, 5]).tolist()
            [3, 5]
        """
        return np.asarray(lengths, np.int64)

    def extents(self, sequences: Ragged) -> NDArray[np.int64]:
        """Return the number of positions that sequences take, without stops left out.

        Args:
            sequences: The sequences.

        Returns:
            The number of positions of each sequence.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot, Tokens
            >>> proteins = Ragged.from_list(["MK", "MK*"])
            >>> OneHot("protein").extents(proteins).tolist()
            [2, 2]
            >>> Tokens("esm2").extents(proteins).tolist()
            [4, 4]
        """
        return self.places(self.encoded_lengths(sequences))

    def encoded_lengths(self, sequences: Ragged) -> NDArray[np.int64]:
        """Count the letters of sequences that are encoded, without stops left out.

        Args:
            sequences: The sequences.

        Returns:
            The number of letters of each sequence.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("protein").encoded_lengths(Ragged.from_list(["MK", "MK*"])).tolist()
            [2, 2]
        """
        return count_encoded(self._letters, sequences)

    @property
    def leaves_out(self) -> bool:
        """Whether a stop at the end of a sequence is left out."""
        return self._letters.strips

    def shape(self, n: int, places: int) -> tuple[int, ...]:
        """Return the shape of a batch.

        Args:
            n: The number of sequences.
            places: The number of positions.

        Returns:
            The sizes of its axes.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").shape(8, 100)
            (8, 4, 100)
        """
        return (n, places)

    def __call__(self, sequence: bytes | str, *, out: Any = None) -> Any:
        """Encode one sequence.

        Args:
            sequence: The letters.
            out: The array to fill, without the axis of sequences; None: a new array.

        Returns:
            The result of ``batch`` without the axis of sequences; ``out`` if it is given.

        Raises:
            AlphabetError: A letter is not in the alphabet, or the settings refuse it.

        Examples:
            >>> from seqloom.encode import Integer, OneHot
            >>> OneHot("dna", dtype="uint8")("GA").tolist()
            [[0, 1], [0, 0], [1, 0], [0, 0]]
            >>> Integer("dna")("GA").tolist()
            [2, 0]
        """
        if out is None:
            return self.batch([sequence])[0]
        self.batch([sequence], out=out[None])
        return out

    def batch(
        self,
        sequences: Ragged | Sequence[bytes | str],
        *,
        length: int | None = None,
        out: Any = None,
        num_threads: int | None = None,
    ) -> Any:
        """Encode many sequences at once.

        Args:
            sequences: The sequences.
            length: Positions in the result; shorter sequences are padded with
                ``pad_value``. None: all sequences must have the same length.
            out: The array or torch tensor to fill; None: a new one.
            num_threads: Number of threads; None: by the number of letters; 0: all cores.

        Returns:
            An array of shape ``shape(len(sequences), length)``: (sequences, channels,
            positions) for one-hot arrays with channels first, (sequences, positions) for
            tokens; ``out`` if it is given; a torch tensor for bfloat16.

        Raises:
            ShapeError: The lengths differ and ``length`` is None, a sequence is longer than
                ``length``, or ``out`` does not fit.
            AlphabetError: A letter is not in the alphabet, or the settings refuse it.

        Examples:
            >>> from seqloom.encode import OneHot, Tokens
            >>> OneHot("dna").batch([b"ACGT", b"AC"], length=4).shape
            (2, 4, 4)
            >>> Tokens("esm2").batch(["MK", "M"], length=4).tolist()
            [[0, 20, 15, 2], [0, 20, 2, 1]]
        """
        rows = sequences if isinstance(sequences, Ragged) else join_sequences(sequences)
        shape = self.shape(len(rows), self._find_length(rows, length))
        filled, bits = prepare_output(shape, self.dtype, out)
        self._fill(rows, bits, num_threads=num_threads)
        return filled

    def _fill(
        self,
        rows: Ragged,
        bits: NDArray[Any],
        *,
        starts: NDArray[np.int64] | None = None,
        num_threads: int | None,
    ) -> NDArray[np.int64]:
        """Write the numbers, and return the number of letters of each unusual kind."""
        threads = _choose_threads(rows, num_threads)
        return self._kernel.fill(rows.data, rows.offsets, bits, starts, threads)

    def _find_length(self, rows: Ragged, length: int | None) -> int:
        """Return the number of positions of a batch."""
        if length is not None:
            length = as_integer("length", length)
        if not len(rows):
            return length or 0
        if self._letters.strips:
            places = self.extents(rows)
            least, most = int(places.min()), int(places.max())
        else:
            # A loader calls this for every batch, and each of NumPy's sums costs as much.
            shortest, longest = self._kernel.extremes(rows.offsets)
            least, most = int(self.places(shortest)), int(self.places(longest))
        if length is None and least != most:
            lengths = count_encoded(self._letters, rows)
            raise ShapeError(
                f"sequences have {lengths.min()} to {lengths.max()} letters: give length= "
                f"to pad the shorter ones with {self.pad_value}"
            )
        if length is not None and most > length:
            raise _make_length_error(int(rows.lengths.max()), most, length)
        return most if length is None else length

    def find_invalid_sequence(self, sequences: Ragged) -> int | None:
        """Find the first sequence with a letter that would be an error.

        Args:
            sequences: The sequences.

        Returns:
            The position of the sequence; None if all can be encoded.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").find_invalid_sequence(Ragged.from_list(["ACGT", "ACJT"]))
            1
        """
        return self._letters.refused_row(sequences.data, sequences.offsets)

    def refuses(self, letters: bytes) -> bytes:
        """Return the letters that would be an error.

        Args:
            letters: The letters to check.

        Returns:
            Those that are not in the alphabet, or that the settings refuse.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").refuses(b"ACJN")
            b'J'
        """
        refused = self._letters.refused
        return bytes(letter for letter in letters if letter in refused)


def _choose_threads(rows: Ragged, num_threads: int | None) -> int:
    """Return the number of threads: one where there are few letters."""
    if num_threads is not None:
        return count_threads(num_threads)
    worth = 1 + rows.data.size // _LETTERS_PER_THREAD
    return 1 if worth == 1 else min(count_threads(), worth)


def _make_length_error(letters: int, places: int, length: int) -> ShapeError:
    """Make the error for a sequence that is too long."""
    if letters == places:
        return ShapeError(
            f"a sequence has {letters} letters, more than length={length}; give a larger "
            "length, or crop the sequences"
        )
    return ShapeError(
        f"a sequence of {letters} letters takes {places} positions, more than "
        f"length={length}; give a larger length, or crop the sequences"
    )


def join_sequences(sequences: Sequence[bytes | str]) -> Ragged:
    """Join sequences to rows of bytes; refuses letters that are not ASCII."""
    if isinstance(sequences, (str, bytes)) or not hasattr(sequences, "__iter__"):
        raise ArgumentError(
            f"batch takes several sequences, such as a list of strings; got "
            f"{quote(sequences)}"
        )
    try:
        return Ragged.from_list(sequences)
    except UnicodeEncodeError as error:
        text = error.object
        record = next(i for i, row in enumerate(sequences) if row == text)
        raise AlphabetError(
            f"sequence {record}, position {error.start}: expected ASCII letters, "
            f"found {text[error.start]!r}",
            record=record,
            position=error.start,
            character=text[error.start],
        ) from None
    except TypeError:
        raise ArgumentError(
            "a sequence must be a string or bytes: encoder(sequence) encodes one, "
            "encoder.batch(sequences) several"
        ) from None
