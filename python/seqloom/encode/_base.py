"""`SequenceEncoder`, the base class of encoders."""

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
    INTEGER_LIMITS,
    check_choices,
    count_encoded_residues,
    make_alphabet_table,
    prepare_output,
    to_bits,
)
from seqloom.errors import AlphabetError, ArgumentError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# With fewer residues, starting a second thread takes longer than it saves.
_RESIDUES_PER_THREAD = 1 << 18
_KMER_SETTINGS = ("k", "stride", "canonical")  # Names of the settings of a k-mer kernel.
# Categories of residues that a kernel counts. Residues "outside" the alphabet raise an
# error, so their count is always 0.
_UNUSUAL_CATEGORIES = (
    "ambiguous",
    "lower_case",
    "rare",
    "symbols",
    "stops",
    "rna",
    "outside",
)


class SequenceEncoder(JsonConfig):
    """Base class of encoders, which are frozen dataclasses.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> isinstance(OneHot("dna"), SequenceEncoder)
        True
    """

    # The valid dtypes depend on the encoder.
    dtype: Any
    encodes: ClassVar[str] = "sequences"
    # If True, Rust code may replace calls of `batch` and `__call__`. A subclass that
    # overrides `batch` or `__call__` does not inherit this value.
    supports_native_batches: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_choices(self)
        self._check_settings()
        _ = self._kernel

    @abstractmethod
    def _check_settings(self) -> None:
        """Raise for settings that contradict each other."""

    @cached_property
    def _letters(self) -> _native.Letters:
        """Lookup table of the alphabet, indexed by byte."""
        return make_alphabet_table(self)

    @cached_property
    def _kernel(self) -> _native.SequenceKernel:
        """The Rust kernel, created from `kernel_settings`."""
        settings, make = self.kernel_settings, _native.SequenceKernel
        kind = settings["kind"]
        if kind == "one_hot":
            rows = to_bits(settings["rows"], self.dtype).reshape(-1)
            return make.one_hot(self._letters, rows, settings["channels_first"])
        words = {name: settings[name] for name in _KMER_SETTINGS if name in settings}
        like = to_bits([0], self.dtype)
        if kind == "kmer_counts":
            is_float = self.dtype not in INTEGER_LIMITS
            return make.kmer_counts(self._letters, like, is_float=is_float, **words)
        specials = to_bits(settings["specials"], self.dtype).tolist()
        if kind == "kmers":
            first = settings["first"]
            return make.kmers(self._letters, like, first=first, specials=specials, **words)
        values = to_bits(settings["values"], self.dtype)
        return make.lookup(self._letters, values, specials)

    def __getstate__(self) -> dict[str, Any]:
        # Lookup tables are not pickled; they are computed again after unpickling.
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore[reportArgumentType]

    @property
    @abstractmethod
    def kernel_settings(self) -> dict[str, Any]:
        """Settings of the Rust kernel as JSON values: encoder kind, alphabet and tables."""

    @property
    def kernel(self) -> _native.SequenceKernel:
        """Rust kernel, for threads that run without the Python interpreter."""
        return self._kernel

    def count_unusual(self, sequences: Ragged | Sequence[bytes | str]) -> dict[str, int]:
        """Count unusual residues, such as ambiguity codes and lower case.

        Args:
            sequences: The sequences.

        Returns:
            The number of residues in each category: ``"ambiguous"``, ``"lower_case"``,
            ``"rare"``, ``"symbols"``, ``"stops"`` (dropped final ``*``), and ``"rna"`` (U
            read as T).

        Raises:
            AlphabetError: A character is not in the alphabet, or the settings reject it.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").count_unusual(["ACGN", "gg"])["lower_case"]
            2
        """
        rows = sequences if isinstance(sequences, Ragged) else join_sequences(sequences)
        shape = self.shape(len(rows), int(self.extents(rows).max(initial=0)))
        _, bits = prepare_output(shape, self.dtype)
        counts = self._encode_rows(rows, bits, num_threads=None)
        return dict(zip(_UNUSUAL_CATEGORIES[:-1], counts.tolist(), strict=False))

    @property
    def pad_value(self) -> float:
        """The value that pads shorter sequences."""
        return 0

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Return the number of encoded positions of each sequence.

        Args:
            lengths: Number of residues of each sequence.

        Returns:
            The number of positions of each sequence.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").places([3, 5]).tolist()
            [3, 5]
        """
        return np.asarray(lengths, np.int64)

    def extents(self, sequences: Ragged) -> NDArray[np.int64]:
        """Return the number of encoded positions per sequence, excluding a dropped ``*``.

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
        """Return the number of residues per sequence, excluding a dropped ``*``.

        Args:
            sequences: The sequences.

        Returns:
            The number of residues of each sequence.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("protein").encoded_lengths(Ragged.from_list(["MK", "MK*"])).tolist()
            [2, 2]
        """
        return count_encoded_residues(self._letters, sequences)

    @property
    def leaves_out(self) -> bool:
        """True if a ``*`` (stop) at the end of a sequence is dropped."""
        return self._letters.strips

    def shape(self, n: int, places: int) -> tuple[int, ...]:
        """Return the shape of an encoded batch.

        Args:
            n: The number of sequences.
            places: The number of positions.

        Returns:
            Size of each axis.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").shape(8, 100)
            (8, 4, 100)
        """
        return (n, places)

    def __call__(self, sequence: bytes | str, *, out: Any = None) -> Any:
        """Encode one sequence.

        Args:
            sequence: The residues.
            out: The array to write into, without the sequence axis; None allocates an
                array.

        Returns:
            The encoded sequence, which is ``out`` if it is given.

        Raises:
            AlphabetError: A character is not in the alphabet, or the settings reject it.

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
            length: The number of positions; shorter sequences are padded with
                ``pad_value``. With None, all lengths must be equal.
            out: The array or PyTorch tensor to write into; None allocates an array.
            num_threads: The number of threads; None chooses a number that suits the number
                of residues; 0 uses all cores.

        Returns:
            An array of shape ``shape(len(sequences), length)``: (sequences, channels,
            positions) for one-hot arrays with channels first, (sequences, positions) for
            tokens. The result is ``out`` if it is given, and a PyTorch tensor for bfloat16.

        Raises:
            ShapeError: The lengths differ but ``length`` is None, a sequence is longer
                than ``length``, or ``out`` has a wrong shape or dtype.
            AlphabetError: A character is not in the alphabet, or the settings reject it.

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
        self._encode_rows(rows, bits, num_threads=num_threads)
        return filled

    def _encode_rows(
        self,
        rows: Ragged,
        bits: NDArray[Any],
        *,
        starts: NDArray[np.int64] | None = None,
        num_threads: int | None,
    ) -> NDArray[np.int64]:
        """Encode sequences into the array ``bits``; return counts of unusual residues."""
        threads = _choose_threads(rows, num_threads)
        return self._kernel.fill(rows.data, rows.offsets, bits, starts, threads)

    def _find_length(self, rows: Ragged, length: int | None) -> int:
        """Return the number of positions; raise if lengths differ but `length` is None."""
        if length is not None:
            length = as_integer("length", length)
        if not len(rows):
            return length or 0
        if self._letters.strips:
            places = self.extents(rows)
            least, most = int(places.min()), int(places.max())
        else:
            # This check runs for every batch, and costs as much as one NumPy reduction.
            shortest, longest = self._kernel.extremes(rows.offsets)
            least, most = int(self.places(shortest)), int(self.places(longest))
        if length is None and least != most:
            lengths = count_encoded_residues(self._letters, rows)
            raise ShapeError(
                f"sequences have {lengths.min()} to {lengths.max()} residues: pass "
                f"length= to pad the shorter ones with {self.pad_value}"
            )
        if length is not None and most > length:
            raise _make_length_error(int(rows.lengths.max()), most, length)
        return most if length is None else length

    def find_invalid_sequence(self, sequences: Ragged) -> int | None:
        """Return the index of the first sequence with an invalid character.

        Args:
            sequences: The sequences.

        Returns:
            The index of the sequence; None if all sequences are valid.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").find_invalid_sequence(Ragged.from_list(["ACGT", "ACJT"]))
            1
        """
        return self._letters.refused_row(sequences.data, sequences.offsets)

    def refuses(self, letters: bytes) -> bytes:
        """Return the given characters that are invalid.

        Args:
            letters: The characters to check.

        Returns:
            The characters that are outside the alphabet, or that the settings reject.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").refuses(b"ACJN")
            b'J'
        """
        refused = self._letters.refused
        return bytes(letter for letter in letters if letter in refused)


def _choose_threads(rows: Ragged, num_threads: int | None) -> int:
    if num_threads is not None:
        return count_threads(num_threads)
    worth = 1 + rows.data.size // _RESIDUES_PER_THREAD
    return 1 if worth == 1 else min(count_threads(), worth)


def _make_length_error(letters: int, places: int, length: int) -> ShapeError:
    if letters == places:
        return ShapeError(
            f"a sequence has {letters} residues, more than length={length}; pass a larger "
            "length, or crop the sequences"
        )
    return ShapeError(
        f"a sequence of {letters} residues needs {places} positions, more than "
        f"length={length}; pass a larger length, or crop the sequences"
    )


def join_sequences(sequences: Sequence[bytes | str]) -> Ragged:
    """Return sequences as a ragged array; raise for characters that are not ASCII."""
    if isinstance(sequences, (str, bytes)) or not hasattr(sequences, "__iter__"):
        raise ArgumentError(
            f"batch expects several sequences, such as a list of strings; got "
            f"{quote(sequences)}"
        )
    try:
        return Ragged.from_list(sequences)
    except UnicodeEncodeError as error:
        text = error.object
        record = next(i for i, row in enumerate(sequences) if row == text)
        raise AlphabetError(
            f"sequence {record}, position {error.start}: expected ASCII characters, "
            f"found {text[error.start]!r}",
            record=record,
            position=error.start,
            character=text[error.start],
        ) from None
    except TypeError:
        raise ArgumentError(
            "a sequence must be a string or bytes: encoder(sequence) encodes one, "
            "encoder.batch(sequences) encodes several"
        ) from None
