"""Keys: random numbers that depend on what they are for, not on what was drawn before."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_WORD = 0xFFFF_FFFF
# Numbers, names and splits are folded from three ranges, so that none meets another.
_NUMBERS = 1 << 62
_NAMES = 1 << 62
_SPLITS = 1 << 63


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Key:
    """A point in the tree of random numbers, by Threefry-2x32 with 20 rounds.

    ``Key(seed, epoch, index)`` is ``Key(seed).fold(epoch).fold(index)``; equal words give
    equal keys. Numbers agree with jax's ``threefry2x32``.

    Args:
        *words: A seed below 2**64, then what to fold into it, one by one.

    Examples:
        >>> Key(0, 3) == Key(0).fold(3)
        True
        >>> Key(7).words
        (0, 7)
    """

    words: tuple[int, int]

    def __init__(self, *words: SupportsIndex | str) -> None:
        seed, *rest = words or (0,)
        key = _halves(_whole(seed, below=1 << 64))
        for word in rest:
            key = _native.threefry(*key, *counter_of(word))
        object.__setattr__(self, "words", key)

    def fold(self, word: SupportsIndex | str) -> Key:
        """Derives the key of one thing below this one.

        Args:
            word: Which one, by number or by name.

        Returns:
            A new key.

        Examples:
            >>> Key(0).fold("dropout") == Key(0).fold("dropout")
            True
            >>> Key(0).fold(1) == Key(0).fold("1")
            False
        """
        return _key(_native.threefry(*self.words, *counter_of(word)))

    def split(self, n: int) -> list[Key]:
        """Derives several keys that differ from each other and from all folds.

        Args:
            n: How many.

        Returns:
            New keys; the first ones do not depend on ``n``.

        Examples:
            >>> Key(0).split(3)[:2] == Key(0).split(2)
            True
        """
        counts = (_halves(_SPLITS | i) for i in range(n))
        return [_key(_native.threefry(*self.words, *count)) for count in counts]

    def each(self, words: ArrayLike) -> NDArray[np.uint32]:
        """Derives one key for each number, as an array.

        Args:
            words: Whole numbers from 0, such as the ordinals of a batch.

        Returns:
            An array (numbers, 2); row ``i`` is ``fold(words[i]).words``.

        Raises:
            ArgumentError: They are no row of whole numbers from 0 to 2**62 - 1.

        Examples:
            >>> Key(0, 3).each([7, 8])[1].tolist() == list(Key(0, 3, 8).words)
            True
        """
        numbers = np.asarray(words)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ArgumentError(
                f"words must be one row of whole numbers, got {numbers.dtype} of shape "
                f"{numbers.shape}"
            )
        for extreme in (numbers.min(), numbers.max()) if numbers.size else ():
            _whole(extreme, below=_NUMBERS)
        out = np.empty((numbers.size, 2), np.uint32)
        _native.fold_each(*self.words, np.ascontiguousarray(numbers, np.int64), out)
        return out

    def bits(self, n: int) -> NDArray[np.uint32]:
        """Draws words of 32 random bits.

        Args:
            n: How many.

        Returns:
            A new array; the same for each call.

        Examples:
            >>> Key(0).bits(2).dtype
            dtype('uint32')
        """
        out = np.empty(n, np.uint32)
        _native.random_bits(*self.words, out)
        return out

    def uniform(self, n: int) -> NDArray[np.float32]:
        """Draws numbers from 0 (included) to 1 (excluded).

        Args:
            n: How many.

        Returns:
            A new array; the same for each call.

        Examples:
            >>> u = Key(0).uniform(1000)
            >>> bool((0 <= u.min()) & (u.max() < 1))
            True
        """
        return (self.bits(n) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)

    def to_json(self) -> list[int]:
        """Writes the key as two numbers.

        Returns:
            What ``from_json`` reads.

        Examples:
            >>> Key(7).to_json()
            [0, 7]
        """
        return list(self.words)

    @staticmethod
    def from_json(words: Sequence[int]) -> Key:
        """Reads a key back.

        Args:
            words: What ``to_json`` wrote.

        Returns:
            The same key.

        Raises:
            ArgumentError: These are not two numbers below 2**32.

        Examples:
            >>> Key.from_json(Key(7, 1).to_json()) == Key(7, 1)
            True
        """
        if len(words) != len(Key(0).words):
            raise ArgumentError(f"a key is two numbers, got {list(words)}")
        first, second = (_whole(word, below=1 << 32) for word in words)
        return _key((first, second))

    def __repr__(self) -> str:
        return f"Key.from_json([{self.words[0]}, {self.words[1]}])"


def _key(words: tuple[int, int]) -> Key:
    """Wraps two words that are a key already."""
    key = object.__new__(Key)
    object.__setattr__(key, "words", words)
    return key


def counter_of(word: SupportsIndex | str) -> tuple[int, int]:
    """Turns what is folded into a counter."""
    if isinstance(word, str):
        import hashlib  # loads OpenSSL, which most programs never need

        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        return _halves(_NAMES | int.from_bytes(digest) % _NAMES)
    return _halves(_whole(word, below=_NUMBERS))


def _whole(word: SupportsIndex | str, *, below: int) -> int:
    """Checks that a word is a whole number in range."""
    try:
        number = operator.index(word)  # pyright: ignore[reportArgumentType] - judged here
    except TypeError as error:
        raise ArgumentError(f"a key's word must be a whole number, got {word!r}") from error
    if not 0 <= number < below:
        raise ArgumentError(f"a key's word must lie from 0 to {below - 1}, got {number}")
    return number


def _halves(number: int) -> tuple[int, int]:
    """Cuts a number below 2**64 into its high and its low word."""
    return number >> 32, number & _WORD
