"""Threefry-2x32 with 20 rounds, on whole arrays of counters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_GROUPS = 5


def threefry(b: Functions, key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """The two words of each counter."""
    first, second = b.index(key, slice(0, 1)), b.index(key, slice(1, 2))
    third = b.bitwise_xor(b.bitwise_xor(first, second), _PARITY)
    words = (first, second, third)
    high, low = b.add(high, first), b.add(low, second)
    for group in range(_GROUPS):
        for rotation in _ROTATIONS[group % 2]:
            high = b.add(high, low)
            low = b.bitwise_xor(_rotate_left(b, low, rotation), high)
        high = b.add(high, words[(group + 1) % 3])
        low = b.add(b.add(low, words[(group + 2) % 3]), group + 1)
    return high, low


def _rotate_left(b: Functions, x: Array, positions: int) -> Array:
    """The bits of each word, rotated to the left."""
    upper = b.bitwise_left_shift(x, positions)
    return b.bitwise_or(upper, b.bitwise_right_shift(x, 32 - positions))


def counter(word: Any) -> tuple[Any, Any]:
    """What is folded into a key, as a high and a low word; a pair is these already."""
    if isinstance(word, tuple):
        return cast("tuple[Any, Any]", word)
    if isinstance(word, (int, str)):
        from seqloom._key import counter_of

        return counter_of(word)
    return 0, word
