"""Letters as channels: one place is one column of zeros with a one in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from seqloom._config import Config
from seqloom._ragged import Ragged
from seqloom._rust import _native
from seqloom._threads import thread_count
from seqloom.errors import ArgumentError, LetterError, ShapeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

# Below so many letters a second thread costs more than it brings.
_LETTERS_PER_THREAD = 1 << 18
_AXES = 3
_MET = ("ambiguous", "lower_case", "outside")


def _no_counts() -> NDArray[np.int64]:
    """Begins to count."""
    return np.zeros(len(_MET), np.int64)


@dataclass(frozen=True)
class OneHot(Config):
    """Encodes sequences as one-hot arrays, channels in the alphabet's order.

    A letter is a member of the alphabet, an ambiguity code (N and the like), or foreign.
    ``unknown`` says what an ambiguity code becomes; a foreign letter is always an error.

    Args:
        alphabet: ``"dna"``, ``"rna"``, ``"protein"``, ``"iupac"``, or letters of your own.
        channels: ``"first"`` for arrays (channels, places), ``"last"`` for the transpose.
        dtype: ``"float32"``, ``"float64"`` or ``"uint8"``.
        unknown: What an ambiguity code becomes: ``"zeros"``; ``"uniform"``, the same
            share in every channel; ``"fractional"``, equal shares in the channels it
            stands for; ``"error"``.
        case: What a lower-case letter means: ``"fold"``, the same as upper case;
            ``"mask"``, zeros; ``"keep"``, another letter; ``"error"``.

    Raises:
        ArgumentError: An option has an unknown value, or they do not go together.

    Examples:
        >>> encode = OneHot("dna")
        >>> encode(b"ACGN").tolist()[0]
        [1.0, 0.0, 0.0, 0.0]
        >>> encode.counts
        {'ambiguous': 1, 'lower_case': 0, 'outside': 0}
    """

    alphabet: str = "dna"
    channels: Literal["first", "last"] = "first"
    dtype: Literal["float32", "float64", "uint8"] = "float32"
    unknown: Literal["zeros", "uniform", "fractional", "error"] = "zeros"
    case: Literal["fold", "mask", "keep", "error"] = "fold"
    _met: Any = field(default_factory=_no_counts, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.channels not in {"first", "last"}:
            raise ArgumentError(
                f'channels must be "first" or "last", got {self.channels!r}'
            )
        if self.dtype not in {"float32", "float64", "uint8"}:
            raise ArgumentError(
                f"dtype must be float32, float64 or uint8, got {self.dtype!r}"
            )
        if self.dtype == "uint8" and self.unknown in {"uniform", "fractional"}:
            raise ArgumentError(
                f"unknown={self.unknown!r} needs shares, which uint8 cannot hold"
            )
        _table(self.alphabet, self.unknown, self.case)

    @property
    def width(self) -> int:
        """The number of channels."""
        return self._table.width

    @property
    def letters(self) -> str:
        """The letters that have a channel, in the channels' order."""
        return self._table.letters

    @property
    def counts(self) -> dict[str, int]:
        """How many letters were ambiguous, lower case or outside since it was made."""
        return dict(zip(_MET, self._met.tolist(), strict=True))

    def __call__(self, sequence: bytes | str) -> NDArray[Any]:
        """Encodes one sequence.

        Args:
            sequence: Its letters.

        Returns:
            An array (channels, places), or its transpose for ``channels="last"``.

        Raises:
            LetterError: A letter is foreign, or forbidden by the policy.

        Examples:
            >>> OneHot("dna", dtype="uint8")("GA").tolist()
            [[0, 1], [0, 0], [1, 0], [0, 0]]
        """
        return self.batch([sequence])[0]

    def batch(
        self,
        sequences: Ragged | Sequence[bytes | str],
        *,
        length: int | None = None,
        out: NDArray[Any] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[Any]:
        """Encodes many sequences at once.

        Args:
            sequences: Their letters.
            length: Places in the result; shorter sequences are followed by zeros. Without
                it all sequences must have one length.
            out: Where to write; a new array if None.
            num_threads: How many threads may work.

        Returns:
            An array (sequences, channels, places), or (sequences, places, channels) for
            ``channels="last"``; ``out`` where it is given.

        Raises:
            ShapeError: Lengths differ and ``length`` is not given, a sequence is longer
                than it, or ``out`` does not fit.
            LetterError: A letter is foreign, or forbidden by the policy.

        Examples:
            >>> OneHot("dna").batch([b"ACGT", b"AC"], length=4).shape
            (2, 4, 4)
        """
        rows = sequences if isinstance(sequences, Ragged) else _ragged(sequences)
        shape = self._shape(len(rows), _places(rows, length))
        filled = np.empty(shape, self.dtype) if out is None else self._checked(out, shape)
        threads = thread_count(num_threads)
        if num_threads is None:
            threads = min(threads, 1 + rows.data.size // _LETTERS_PER_THREAD)
        first = self.channels == "first"
        self._met[:] += self._table.fill(rows.data, rows.offsets, filled, first, threads)
        return filled

    def decode(
        self, array: NDArray[Any], *, lengths: Iterable[int] | None = None
    ) -> list[bytes]:
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
        stack = array[None] if array.ndim == _AXES - 1 else array
        axis = 1 if self.channels == "first" else 2
        if stack.ndim != _AXES or stack.shape[axis] != self.width:
            raise ShapeError(
                f"expected {self.width} channels {self.channels}, found shape {array.shape}"
            )
        values = np.ascontiguousarray(stack, np.float32)
        rows = self._table.decode(values, self.channels == "first")
        if lengths is None:
            return rows
        return [row[:length] for row, length in zip(rows, lengths, strict=True)]

    def refuses(self, letters: bytes) -> bytes:
        """Tells which letters would be an error.

        Args:
            letters: Letters to try.

        Returns:
            Those that are foreign or forbidden by the policy.

        Examples:
            >>> OneHot("dna").refuses(b"ACJN")
            b'J'
        """
        return bytes(letter for letter in letters if self._refuses(letter))

    def _refuses(self, letter: int) -> bool:
        """Tries one letter, without counting it."""
        out = np.empty(self._shape(1, 1), self.dtype)
        data, offsets = np.array([letter], np.uint8), np.array([0, 1], np.int64)
        try:
            self._table.fill(data, offsets, out, self.channels == "first", 1)
        except LetterError:
            return True
        return False

    @property
    def _table(self) -> _native.OneHotTable:
        """The policy as a table, which is made once for all equal encoders."""
        return _table(self.alphabet, self.unknown, self.case)

    def _shape(self, n: int, places: int) -> tuple[int, int, int]:
        """Says what shape a batch has."""
        width = self.width
        return (n, width, places) if self.channels == "first" else (n, places, width)

    def _checked(self, out: NDArray[Any], shape: tuple[int, int, int]) -> NDArray[Any]:
        """Checks the caller's array."""
        if out.shape != shape or out.dtype != self.dtype or not out.flags.c_contiguous:
            raise ShapeError(
                f"out must be a C-contiguous {self.dtype} array of shape {shape}, "
                f"got {out.dtype} {out.shape}"
            )
        return out


@lru_cache(maxsize=64)
def _table(alphabet: str, unknown: str, case: str) -> _native.OneHotTable:
    """Builds the table of a policy."""
    return _native.OneHotTable(alphabet, unknown, case)


def _ragged(sequences: Sequence[bytes | str]) -> Ragged:
    """Joins the sequences; one that is no ASCII text has foreign letters."""
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


def _places(rows: Ragged, length: int | None) -> int:
    """Decides how many places a batch has."""
    lengths = rows.lengths
    shortest, longest = (int(lengths.min()), int(lengths.max())) if lengths.size else (0, 0)
    if length is None and shortest != longest:
        raise ShapeError(
            f"sequences are {shortest} to {longest} letters long: give length= to follow "
            "the shorter ones with zeros"
        )
    if length is not None and longest > length:
        raise ShapeError(f"a sequence has {longest} letters, more than length={length}")
    return longest if length is None else length
