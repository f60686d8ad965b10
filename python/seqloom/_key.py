"""Keys for random numbers that do not depend on random numbers generated earlier."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, SupportsIndex

import numpy as np

from seqloom._arguments import as_integer
from seqloom._rust import _native
from seqloom.errors import ArgumentError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

_WORD_MASK = 0xFFFF_FFFF
# Numbers, names and splits use separate ranges of the Threefry counter, so their keys
# never collide.
_NUMBER_RANGE = 1 << 62
_NAME_RANGE = 1 << 62
_SPLIT_RANGE = 1 << 63


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Key:
    """A key for random numbers, which are generated with Threefry-2x32 (20 rounds).

    ``Key(seed, epoch, index)`` is equal to ``Key(seed).fold(epoch).fold(index)``. Keys
    created from equal arguments are equal. ``threefry2x32`` in JAX generates the same
    numbers.

    Args:
        *words: A seed below 2**64, followed by the numbers or names to fold into the key.

    Examples:
        >>> Key(0, 3) == Key(0).fold(3)
        True
        >>> Key(7).words
        (0, 7)
    """

    words: tuple[int, int]

    def __init__(self, *words: SupportsIndex | str) -> None:
        seed, *rest = words or (0,)
        key = _split_into_words(_to_bounded_int(seed, below=1 << 64))
        for word in rest:
            key = _native.threefry(*key, *to_threefry_counter(word))
        object.__setattr__(self, "words", key)

    def fold(self, word: SupportsIndex | str) -> Key:
        """Derive a new key from this key and a number or a name.

        Args:
            word: The number or name to fold into the key.

        Returns:
            A new key.

        Examples:
            >>> Key(0).fold("dropout") == Key(0).fold("dropout")
            True
            >>> Key(0).fold(1) == Key(0).fold("1")
            False
        """
        return _make_key(_native.threefry(*self.words, *to_threefry_counter(word)))

    def split(self, n: int) -> list[Key]:
        """Derive several keys that differ from each other and from all keys of `fold`.

        Args:
            n: Number of keys.

        Returns:
            New keys; key ``i`` is the same for every ``n``.

        Examples:
            >>> Key(0).split(3)[:2] == Key(0).split(2)
            True
        """
        counts = (_split_into_words(_SPLIT_RANGE | i) for i in range(n))
        return [_make_key(_native.threefry(*self.words, *count)) for count in counts]

    def each(self, words: ArrayLike) -> NDArray[np.uint32]:
        """Derive a key for each number, and return all keys as one array.

        Args:
            words: Nonnegative integers, such as the indices of a batch's items.

        Returns:
            An array of shape (len(words), 2); row ``i`` is ``fold(words[i]).words``.

        Raises:
            ArgumentError: ``words`` is not a 1-d array of integers from 0 to 2**62 - 1.

        Examples:
            >>> Key(0, 3).each([7, 8])[1].tolist() == list(Key(0, 3, 8).words)
            True
        """
        numbers = np.asarray(words)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ArgumentError(
                f"words must be a 1-d array of integers, got {numbers.dtype} of shape "
                f"{numbers.shape}"
            )
        for extreme in (numbers.min(), numbers.max()) if numbers.size else ():
            _to_bounded_int(extreme, below=_NUMBER_RANGE)
        out = np.empty((numbers.size, 2), np.uint32)
        _native.fold_each(*self.words, np.ascontiguousarray(numbers, np.int64), out)
        return out

    def bits(self, n: int) -> NDArray[np.uint32]:
        """Generate random 32-bit words.

        Args:
            n: Number of words.

        Returns:
            A new array; every call returns equal values.

        Raises:
            ArgumentError: ``n`` is not an integer, is negative, or is 2**62 or more.
            MemoryLimitError: There is not enough memory.

        Examples:
            >>> Key(0).bits(2).dtype
            dtype('uint32')
        """
        n = as_integer("n", n, limit=1 << 62)
        try:
            out = np.empty(n, np.uint32)
        except (MemoryError, ValueError) as error:
            raise MemoryLimitError(
                f"n: not enough memory for {n:,} random numbers"
            ) from error
        _native.random_bits(*self.words, out)
        return out

    def uniform(self, n: int) -> NDArray[np.float32]:
        """Generate uniform numbers from 0 (included) to 1 (excluded).

        Args:
            n: Number of random numbers.

        Returns:
            A new array; every call returns equal values.

        Raises:
            ArgumentError: ``n`` is not an integer, is negative, or is 2**62 or more.
            MemoryLimitError: There is not enough memory.

        Examples:
            >>> u = Key(0).uniform(1000)
            >>> bool((0 <= u.min()) & (u.max() < 1))
            True
        """
        return (self.bits(n) >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)

    def to_json(self) -> list[int]:
        """Return the key as a list of two numbers.

        Returns:
            Two numbers that ``from_json`` accepts.

        Examples:
            >>> Key(7).to_json()
            [0, 7]
        """
        return list(self.words)

    @staticmethod
    def from_json(words: Sequence[int]) -> Key:
        """Create a key from its two numbers.

        Args:
            words: The result of ``to_json``.

        Returns:
            The same key.

        Raises:
            ArgumentError: ``words`` does not consist of two integers below 2**32.

        Examples:
            >>> Key.from_json(Key(7, 1).to_json()) == Key(7, 1)
            True
        """
        if len(words) != len(Key(0).words):
            raise ArgumentError(f"words of a key must be two integers, got {list(words)}")
        first, second = (_to_bounded_int(word, below=1 << 32) for word in words)
        return _make_key((first, second))

    def __repr__(self) -> str:
        return f"Key.from_json([{self.words[0]}, {self.words[1]}])"


def _make_key(words: tuple[int, int]) -> Key:
    """Create a key from its two 32-bit words."""
    key = object.__new__(Key)
    object.__setattr__(key, "words", words)
    return key


def to_threefry_counter(word: SupportsIndex | str) -> tuple[int, int]:
    """Convert a number or a name to the Threefry counter of `fold`."""
    if isinstance(word, str):
        import hashlib  # imported here because hashlib loads OpenSSL

        digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
        return _split_into_words(_NAME_RANGE | int.from_bytes(digest) % _NAME_RANGE)
    return _split_into_words(_to_bounded_int(word, below=_NUMBER_RANGE))


def _to_bounded_int(word: SupportsIndex | str, *, below: int) -> int:
    """Convert a number to ``int``; raise unless ``0 <= number < limit``."""
    try:
        number = operator.index(word)  # pyright: ignore[reportArgumentType] - checked here
    except TypeError as error:
        raise ArgumentError(
            f"a word of a key must be an integer or a string, got {word!r}"
        ) from error
    if not 0 <= number < below:
        raise ArgumentError(f"a word of a key must be from 0 to {below - 1}, got {number}")
    return number


def _split_into_words(number: int) -> tuple[int, int]:
    """Split a number below 2**64 into its high and low 32 bits."""
    return number >> 32, number & _WORD_MASK
