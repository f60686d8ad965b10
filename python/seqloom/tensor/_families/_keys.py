"""Keys of random numbers, and the words that they give: the same bits on every backend.

The words are Threefry-2x32's with 20 rounds (Salmon et al. 2011), laid out as jax lays
them out: number i of an array is made from the counter i alone.
"""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.tensor._families._numpy_arrays import make_out, widen, write_to
from seqloom.tensor._families._rule import Call, Kind, ShapeRule, to_numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom._key import Key
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions

    KeyLike = Key | Array  # a key, or its two words


# Default bodies ------------------------------------------------------------------------


_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_GROUPS = 5
_SPLITS = 1 << 31  # the high word of the counters that keys are split by
_WHOLE = np.iinfo(np.int32)
_WORD_TYPE = np.dtype(np.uint32)


def threefry(b: Functions, key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Return the two words of each counter."""
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
    """Return the bits of each word, rotated to the left."""
    upper = b.bitwise_left_shift(x, positions)
    return b.bitwise_or(upper, b.bitwise_right_shift(x, 32 - positions))


def counter(word: int | str | Array) -> tuple[int | Array, int | Array]:
    """What is folded into a key, as a high and a low word; a pair is these already."""
    if isinstance(word, tuple):
        return cast("tuple[Any, Any]", word)
    if isinstance(word, (int, str)):
        from seqloom._key import counter_of

        return counter_of(word)
    return 0, word


def key_words(b: Functions, key: KeyLike) -> Array:
    """Return the two words of a key as a uint32 array."""
    words = getattr(key, "words", None)
    return key if words is None else b.asarray(list(words), dtype="uint32")


def fold_in(b: Functions, key: KeyLike, word: int | str | Array) -> Array:
    """Return the words of the key of one thing below a key, as ``Key.fold``."""
    high, low = counter(word)
    counts = (_word(b, high), _word(b, low))
    return b.concat(list(threefry(b, b.key_words(key), *counts)), axis=0)


def split(b: Functions, key: KeyLike, n: int) -> Array:
    """Keys below a key, one for each row of ``(n, 2)``, as ``Key.split``."""
    low = b.arange(n, dtype="uint32")
    high = b.full((n,), _SPLITS, dtype="uint32")
    return b.stack(list(threefry(b, b.key_words(key), high, low)), axis=-1)


def random_bits(b: Functions, key: KeyLike, shape: Sequence[int]) -> Array:
    """Words of 32 random bits."""
    shape = to_shape(shape)
    return b.reshape(b.bitwise_xor(*draw_pairs(b, key, shape)), shape)


def _word(b: Functions, value: int | Array) -> Array:
    """One word as an array of one."""
    if isinstance(value, int):
        return b.full((1,), value, dtype="uint32")
    return b.reshape(b.astype(value, "uint32"), (1,))


def draw_pairs(b: Functions, key: KeyLike, shape: Sequence[int]) -> tuple[Array, Array]:
    """Both words of the counters 0, 1, …, as rows."""
    low = b.arange(math.prod(shape), dtype="uint32")
    return threefry(b, b.key_words(key), b.multiply(low, 0), low)


def jax_split(b: Functions, key: KeyLike) -> tuple[Array, Array]:
    """Two keys by jax's own way, which differs from `split`."""
    pair = b.stack(list(draw_pairs(b, key, (2,))), axis=-1)
    return b.index(pair, (0, ...)), b.index(pair, (1, ...))


def to_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape to draw, without lengths below 0."""
    lengths = tuple(shape)
    if lengths and min(lengths) < 0:
        raise ArgumentError(f"random numbers of shape {lengths}: a length is below 0")
    return lengths


def to_count(n: int) -> int:
    """How many numbers to bring into a random order."""
    count = index(n)
    if count < 0:
        raise ArgumentError(f"a permutation of {count} numbers: there must be 0 at least")
    return count


def check_share(p: float) -> float:
    """Return a probability."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"a probability must lie in [0, 1], got {p}")
    return p


def check_range(low: int, high: int) -> tuple[int, int]:
    """Return the ends of a range of int32 numbers that is not empty."""
    if not _WHOLE.min <= low < high <= _WHOLE.max:
        raise ArgumentError(
            f"randint: low must be below high, both of int32; got {low} and {high}"
        )
    return low, high


def check_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Two bounds that numbers fit between."""
    if not lower < upper:
        raise ArgumentError(f"lower must be below upper, got {lower} and {upper}")
    return lower, upper


def find_edge(low: float, high: float, least: float, most: float) -> float | None:
    """What a normal number is whose share of the distribution rounds to 0 or 1.

    Args:
        low: The error function at the lower bound.
        high: At the upper one.
        least: The smallest number that may be given.
        most: The largest.

    Returns:
        The bound that it has reached; None where no share rounds so.

    Examples:
        >>> find_edge(1.0, 1.0, 20.0, 21.0)
        21.0
    """
    if low > -1 and high < 1:
        return None
    return most if low > -1 else least


# Shapes --------------------------------------------------------------------------------


def draw_shape(position: int, default: str) -> ShapeRule:
    """Make the rule of a draw whose shape is the argument at a position."""

    def rule(call: Call) -> Kind:
        dtype = to_numpy_dtype(call.target, call.options.get("dtype", default))
        return tuple(call.get(position, "shape")), dtype

    return rule


SHAPES: dict[str, ShapeRule] = {
    "random_bits": draw_shape(1, "uint32"),
    "fold_in": lambda _: ((2,), _WORD_TYPE),
    "split": lambda call: ((call.args[1], 2), _WORD_TYPE),
}


# NumPy ---------------------------------------------------------------------------------


def numpy_fold_in(key: KeyLike, word: int | str | Array) -> NDArray[np.uint32]:
    """Return the words of the key of one thing below a key, as ``Key.fold``."""
    high, low = (int(part) for part in counter(word))
    return np.array(_native.threefry(*words_of(key), high, low), np.uint32)


def numpy_split(key: KeyLike, n: int) -> NDArray[np.uint32]:
    """Keys below a key, one for each row of ``(n, 2)``, as ``Key.split``."""
    words = words_of(key)
    rows = [_native.threefry(*words, _SPLITS, position) for position in range(n)]
    return np.array(rows, np.uint32).reshape(n, 2)


@widen
def numpy_random_bits(
    b: Functions,
    key: KeyLike,
    shape: Sequence[int],
    *,
    out: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]:
    """Words of 32 random bits."""
    made = make_out(out, to_shape(shape), np.uint32)
    _native.position_bits(*words_of(key), made.reshape(-1), b.threads)
    return write_to(made, out)


def words_of(key: Any) -> tuple[int, int]:
    """Return the two words of a key."""
    words = getattr(key, "words", key)
    try:
        return int(words[0]), int(words[1])
    except (TypeError, IndexError) as error:
        raise ArgumentError(
            "random numbers are drawn by a key, sl.Key(seed) or its two words; this is "
            f"{type(key).__name__}"
        ) from error
