"""What all encoders share: batches into arrays, counts, and what is refused."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._arguments import as_integer
from seqloom._config import Config
from seqloom._ragged import Ragged
from seqloom._threads import count_threads
from seqloom.encode._output import writable
from seqloom.encode._policy import check_choices
from seqloom.encode._stops import kept_lengths
from seqloom.errors import ArgumentError, LetterError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom._rust import _native

# Below so many letters a second thread costs more than it brings.
_LETTERS_PER_THREAD = 1 << 18
_MET = ("ambiguous", "lower_case", "rare", "symbols", "stops", "rna", "outside")


class SequenceEncoder(Config):
    """Base of the encoders, which are frozen dataclasses.

    Examples:
        >>> from seqloom.encode import OneHot
        >>> isinstance(OneHot("dna"), SequenceEncoder)
        True
    """

    # A setting of every encoder; what it may be is each encoder's own.
    dtype: Any

    def __post_init__(self) -> None:
        check_choices(self)
        self._check()
        _ = self._kernel

    @abstractmethod
    def _check(self) -> None:
        """Refuses settings that do not go together."""

    @cached_property
    @abstractmethod
    def _letters(self) -> _native.Letters:
        """What each byte means."""

    @cached_property
    @abstractmethod
    def _kernel(self) -> _native.SequenceKernel:
        """What writes the numbers."""

    @cached_property
    def _met(self) -> NDArray[np.int64]:
        """How many letters of each kind were met."""
        return np.zeros(len(_MET), np.int64)

    def __getstate__(self) -> dict[str, Any]:
        # Tables are made anew where they are needed; a copy begins to count.
        return {field.name: getattr(self, field.name) for field in fields(self)}  # pyright: ignore[reportArgumentType]

    @property
    def kernel(self) -> _native.SequenceKernel:
        """What writes the numbers, for whoever does so without the interpreter."""
        return self._kernel

    def note(self, met: Any) -> None:
        """Counts what a kernel has met.

        Args:
            met: How many letters of each kind.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> encode = OneHot("dna")
            >>> encode.note([2, 0, 0, 0, 0, 0, 0])
            >>> encode.counts["ambiguous"]
            2
        """
        # One call, so that no other thread comes between.
        np.add(self._met, met, out=self._met)

    @property
    def pad_value(self) -> float:
        """What stands in places beyond a sequence's end."""
        return 0

    @property
    def counts(self) -> dict[str, int]:
        """How many letters that are no plain members were met since it was made.

        Where threads work ahead, batches that nobody took may be among what was met.
        """
        return self.met

    @property
    def met(self) -> dict[str, int]:
        """The same as ``counts``, where that name is a setting."""
        return dict(zip(_MET, self._met.tolist(), strict=True))

    def places(self, lengths: Any) -> NDArray[np.int64]:
        """Says how many places sequences take.

        Args:
            lengths: The numbers of their letters.

        Returns:
            The number of places of each.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").places([3, 5]).tolist()
            [3, 5]
        """
        return np.asarray(lengths, np.int64)

    def extents(self, sequences: Ragged) -> NDArray[np.int64]:
        """Says how many places sequences fill: a stop that is left out fills none.

        Args:
            sequences: Their letters.

        Returns:
            The number of places of each.

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
        """Counts the letters of sequences that are encoded: a stop left out is none.

        Args:
            sequences: Their letters.

        Returns:
            The number of letters of each.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("protein").encoded_lengths(Ragged.from_list(["MK", "MK*"])).tolist()
            [2, 2]
        """
        return kept_lengths(self._letters, sequences)

    @property
    def leaves_out(self) -> bool:
        """Whether a sequence may have letters that are not encoded: a stop at its end."""
        return self._letters.strips

    def shape(self, n: int, places: int) -> tuple[int, ...]:
        """Says what shape a batch has.

        Args:
            n: The number of sequences.
            places: The number of places.

        Returns:
            The sizes of its axes.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").shape(8, 100)
            (8, 4, 100)
        """
        return (n, places)

    def __call__(self, sequence: bytes | str, *, out: Any = None) -> Any:
        """Encodes one sequence.

        Args:
            sequence: Its letters.
            out: Where to write, without the axis of sequences; a new array if None.

        Returns:
            What ``batch`` gives, without the axis of sequences; ``out`` where it is given.

        Raises:
            LetterError: A letter is foreign, or forbidden by the policy.

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
        """Encodes many sequences at once.

        Args:
            sequences: Their letters.
            length: Places in the result; shorter sequences are followed by ``pad_value``.
                Without it all sequences must take the same number of places.
            out: Where to write, an array or a torch tensor; a new array if None.
            num_threads: How many threads may work.

        Returns:
            An array of shape ``shape(len(sequences), length)``: (sequences, channels,
            places) for one-hot arrays with channels first, (sequences, places) for tokens;
            ``out`` where it is given; a torch tensor for bfloat16.

        Raises:
            ShapeError: Lengths differ and ``length`` is not given, a sequence is longer
                than it, or ``out`` does not fit.
            LetterError: A letter is foreign, or forbidden by the policy.

        Examples:
            >>> from seqloom.encode import OneHot, Tokens
            >>> OneHot("dna").batch([b"ACGT", b"AC"], length=4).shape
            (2, 4, 4)
            >>> Tokens("esm2").batch(["MK", "M"], length=4).tolist()
            [[0, 20, 15, 2], [0, 20, 2, 1]]
        """
        rows = sequences if isinstance(sequences, Ragged) else joined(sequences)
        shape = self.shape(len(rows), self._common(rows, length))
        filled, bits = writable(shape, self.dtype, out)
        self._fill(rows, bits, num_threads=num_threads)
        return filled

    def _fill(
        self,
        rows: Ragged,
        bits: NDArray[Any],
        *,
        starts: NDArray[np.int64] | None = None,
        num_threads: int | None,
    ) -> None:
        """Writes the numbers, and counts what is met."""
        threads = _threads(rows, num_threads)
        self.note(self._kernel.fill(rows.data, rows.offsets, bits, starts, threads))

    def _common(self, rows: Ragged, length: int | None) -> int:
        """Decides how many places a batch has."""
        if length is not None:
            length = as_integer("length", length)
        if not len(rows):
            return length or 0
        least, most = self._extremes(rows)
        if length is None and least != most:
            raise _unequal(kept_lengths(self._letters, rows), self.pad_value)
        if length is not None and most > length:
            raise _too_long(int(rows.lengths.max()), most, length)
        return most if length is None else length

    def _extremes(self, rows: Ragged) -> tuple[int, int]:
        """Counts the places of the shortest and of the longest sequence."""
        if self._letters.strips:
            places = self.extents(rows)
            return int(places.min()), int(places.max())
        # A loader calls this for every batch, and each of NumPy's sums costs as much.
        shortest, longest = self._kernel.extremes(rows.offsets)
        return int(self.places(shortest)), int(self.places(longest))

    def first_refused(self, sequences: Ragged) -> int | None:
        """Finds the first sequence with a letter that would be an error.

        Args:
            sequences: Their letters.

        Returns:
            Its number; None where all can be encoded.

        Examples:
            >>> from seqloom._ragged import Ragged
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").first_refused(Ragged.from_list(["ACGT", "ACJT"]))
            1
        """
        return self._letters.refused_row(sequences.data, sequences.offsets)

    def refuses(self, letters: bytes) -> bytes:
        """Tells which letters would be an error.

        Args:
            letters: Letters to try.

        Returns:
            Those that are foreign or forbidden by the policy.

        Examples:
            >>> from seqloom.encode import OneHot
            >>> OneHot("dna").refuses(b"ACJN")
            b'J'
        """
        refused = self._letters.refused
        return bytes(letter for letter in letters if letter in refused)


def _threads(rows: Ragged, num_threads: int | None) -> int:
    """Decides how many threads work: one where the work is little."""
    if num_threads is not None:
        return count_threads(num_threads)
    worth = 1 + rows.data.size // _LETTERS_PER_THREAD
    return 1 if worth == 1 else min(count_threads(), worth)


def _unequal(lengths: NDArray[np.int64], pad_value: float) -> ShapeError:
    """Says what unequal lengths need."""
    return ShapeError(
        f"sequences are {lengths.min()} to {lengths.max()} letters long: give length= to "
        f"follow the shorter ones with padding ({pad_value})"
    )


def _too_long(letters: int, places: int, length: int) -> ShapeError:
    """Says which limit was passed."""
    if letters == places:
        return ShapeError(f"a sequence has {letters} letters, more than length={length}")
    return ShapeError(
        f"a sequence of {letters} letters takes {places} places, more than length={length}"
    )


def joined(sequences: Sequence[bytes | str]) -> Ragged:
    """Joins the sequences; one that is no ASCII text has foreign letters."""
    if isinstance(sequences, (str, bytes)) or not hasattr(sequences, "__iter__"):
        raise ArgumentError(
            f"batch takes several sequences, such as a list of texts; got {sequences!r}"
        )
    try:
        return Ragged.from_list(sequences)
    except UnicodeEncodeError as error:
        text = error.object
        record = next(i for i, row in enumerate(sequences) if row == text)
        raise LetterError(
            f"sequence {record}, position {error.start}: expected ASCII letters, "
            f"found {text[error.start]!r}",
            record=record,
            position=error.start,
            letter=text[error.start],
        ) from None
    except TypeError:
        raise ArgumentError(
            "a sequence must be text or bytes; call the encoder for one, .batch for several"
        ) from None
