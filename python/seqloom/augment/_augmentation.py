"""What every augmentation can do."""

from __future__ import annotations

import operator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from seqloom._config import Config
from seqloom._key import Key
from seqloom._ragged import Ragged
from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, ShapeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom._rust import _native

# Below so many letters a second thread costs more than it brings.
_LETTERS_PER_THREAD = 1 << 18


class Augmentation(Config):
    """Changes sequences at random: the base of all augmentations.

    The result is a pure function of the sequence and its key: the same bits alone or in a
    batch, for any number of threads, on every machine.

    Examples:
        >>> from seqloom import Key
        >>> from seqloom.augment import ReverseComplement
        >>> turn: Augmentation = ReverseComplement(p=1)
        >>> turn(b"AACG", Key(0))
        b'CGTT'
    """

    @overload
    def __call__(self, sequence: bytes | str, key: Key | int) -> bytes: ...
    @overload
    def __call__(
        self, sequence: bytes | str, key: Key | int, *, quality: bytes
    ) -> tuple[bytes, bytes]: ...
    def __call__(
        self, sequence: bytes | str, key: Key | int, *, quality: bytes | None = None
    ) -> bytes | tuple[bytes, bytes]:
        """Changes one sequence.

        Args:
            sequence: Its letters.
            key: What decides; ``sl.Key(seed, epoch, index)`` for an item of a dataset. A
                whole number is ``sl.Key(number)``.
            quality: One byte for each letter, which go along with the letters.

        Returns:
            The letters; with ``quality`` a pair, the letters and their qualities.

        Raises:
            ShapeError: There are not as many qualities as letters.
            ArgumentError: An argument is of another type.

        Examples:
            >>> from seqloom import Key
            >>> from seqloom.augment import ReverseComplement
            >>> ReverseComplement(p=1)(b"AACG", Key(0), quality=b"IIH!")
            (b'CGTT', b'!HII')
        """
        letters = _letters_of(sequence)
        if quality is not None and not hasattr(quality, "__len__"):
            raise ArgumentError(
                f"quality must be bytes, one for each letter, got {quality!r}"
            )
        if quality is not None and len(quality) != len(letters):
            raise ShapeError(f"{len(letters)} letters and {len(quality)} qualities")
        changed, changed_quality = _kernel(self).one(letters, _key_of(key).words, quality)
        return changed if changed_quality is None else (changed, changed_quality)

    @overload
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: None = None,
        num_threads: int | None = None,
    ) -> Ragged: ...
    @overload
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: Ragged,
        num_threads: int | None = None,
    ) -> tuple[Ragged, Ragged]: ...
    def batch(
        self,
        sequences: Ragged,
        keys: NDArray[np.uint32],
        *,
        qualities: Ragged | None = None,
        num_threads: int | None = None,
    ) -> Ragged | tuple[Ragged, Ragged]:
        """Changes many sequences at once, each by its own key.

        Args:
            sequences: Their letters.
            keys: Two words for each sequence, as ``Key.each`` makes them.
            qualities: One byte for each letter, which go along with the letters.
            num_threads: How many threads may work.

        Returns:
            The letters; with ``qualities`` a pair, the letters and their qualities.

        Raises:
            ShapeError: There is not one key for each sequence, or not one quality for each
                letter.

        Examples:
            >>> from seqloom import Key
            >>> from seqloom.augment import ReverseComplement
            >>> rows = Ragged.from_list(["AACG", "GG"])
            >>> turn = ReverseComplement(p=1)
            >>> turn.batch(rows, Key(0).each([0, 1])).to_list()
            [b'CGTT', b'CC']
        """
        words = _checked(sequences, keys, qualities)
        threads = count_threads(num_threads)
        if num_threads is None:
            threads = min(threads, 1 + sequences.data.size // _LETTERS_PER_THREAD)
        data, offsets, changed = _kernel(self).batch(
            sequences.data,
            sequences.offsets,
            None if qualities is None else qualities.data,
            words,
            threads,
        )
        rows = Ragged(data, offsets)
        return rows if changed is None else (rows, Ragged(changed, offsets))

    def kernel(self) -> _native.Augmenter:
        """Makes what does the work; each of our augmentations says how.

        Raises:
            ArgumentError: A class of your own has neither this nor ``__call__``.
        """
        raise ArgumentError(f"{type(self).__name__} must define __call__(sequence, key)")

    def __post_init__(self) -> None:
        if self.has_kernel:
            self.kernel()  # not the kept one: what is no value of any kind has no hash

    @property
    def has_kernel(self) -> bool:
        """Whether a kernel does the work; a class of your own has ``__call__`` instead."""
        return type(self).kernel is not Augmentation.kernel


@lru_cache(maxsize=256)
def _kernel(augmentation: Augmentation) -> _native.Augmenter:
    """Makes the kernel once for all equal augmentations, and checks their options."""
    return augmentation.kernel()


def _checked(
    sequences: Ragged, keys: NDArray[np.uint32], qualities: Ragged | None
) -> NDArray[np.uint32]:
    """Checks that keys and qualities fit the sequences."""
    words = np.ascontiguousarray(keys)
    if words.dtype != np.uint32 or words.shape != (len(sequences), 2):
        raise ShapeError(
            f"keys must be uint32 of shape ({len(sequences)}, 2), as Key.each makes them; "
            f"got {words.dtype} {words.shape}"
        )
    if qualities is not None and not np.array_equal(qualities.offsets, sequences.offsets):
        raise ShapeError("there must be one quality for each letter of each sequence")
    return words


def _letters_of(sequence: Any) -> Any:
    """Takes one sequence as bytes."""
    if isinstance(sequence, str) and sequence.isascii():
        return sequence.encode("ascii")
    if isinstance(sequence, (bytes, bytearray)):
        return sequence
    raise ArgumentError(f"a sequence must be ASCII text or bytes, got {sequence!r}")


def _key_of(key: Any) -> Key:
    """Takes a key, or makes one of a whole number."""
    if isinstance(key, Key):
        return key
    try:
        return Key(operator.index(key))
    except TypeError:
        raise ArgumentError(
            f"key must be an sl.Key or a whole number, got {key!r}"
        ) from None


def share(name: str, value: Any) -> float:
    """Checks that a share is a number; the kernel knows its limits."""
    try:
        return operator.index(value) if hasattr(value, "__index__") else float(value + 0)
    except TypeError:
        raise ArgumentError(f"{name} must be a number, got {value!r}") from None


def letter_byte(letter: str) -> int:
    """Checks that a letter is one of ASCII."""
    if not isinstance(letter, str):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller may give anything
        raise ArgumentError(f"letter must be one ASCII letter, got {letter!r}")
    if len(letter) != 1 or not letter.isascii() or not letter.isprintable():
        raise ArgumentError(f"letter must be one ASCII letter, got {letter!r}")
    return ord(letter)


def whole_number(name: str, value: int, *, least: int) -> int:
    """Checks a number of letters."""
    if not hasattr(value, "__index__") or not least <= value < 1 << 61:
        raise ArgumentError(
            f"{name} must be a whole number of at least {least}, got {value!r}"
        )
    return value
