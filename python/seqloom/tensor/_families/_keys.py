"""Random keys and random 32-bit words, with identical bits on every backend.

The words are computed by Threefry-2x32 with 20 rounds (Salmon et al., 2011). The words
have the same order as in JAX: word i of an array depends only on the counter i.
"""

from __future__ import annotations

import math
from operator import index
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom._rust import _native
from seqloom.errors import ArgumentError
from seqloom.tensor._families._numpy_arrays import in_float32, make_out, write_out
from seqloom.tensor._families._rule import Call, ShapeRule, Spec, to_numpy_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom._key import Key
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions

    KeyLike = Key | Array  # A key, or its two 32-bit words.


# Default implementations ---------------------------------------------------------------


_THREEFRY_PARITY = 0x1BD11BDA
_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_THREEFRY_ROUND_GROUPS = 5
_SPLIT_COUNTER = 1 << 31  # The high word of the counters that `split` uses.
_INT32_LIMITS = np.iinfo(np.int32)
_WORD_TYPE = np.dtype(np.uint32)


def threefry(b: Functions, key: Array, high: Array, low: Array) -> tuple[Array, Array]:
    """Return the two random words of each counter."""
    first, second = b.index(key, slice(0, 1)), b.index(key, slice(1, 2))
    third = b.bitwise_xor(b.bitwise_xor(first, second), _THREEFRY_PARITY)
    words = (first, second, third)
    high, low = b.add(high, first), b.add(low, second)
    for group in range(_THREEFRY_ROUND_GROUPS):
        for rotation in _THREEFRY_ROTATIONS[group % 2]:
            high = b.add(high, low)
            low = b.bitwise_xor(_rotate_left(b, low, rotation), high)
        high = b.add(high, words[(group + 1) % 3])
        low = b.add(b.add(low, words[(group + 2) % 3]), group + 1)
    return high, low


def _rotate_left(b: Functions, x: Array, positions: int) -> Array:
    """Rotate the bits of each word to the left."""
    upper = b.bitwise_left_shift(x, positions)
    return b.bitwise_or(upper, b.bitwise_right_shift(x, 32 - positions))


def split_word(word: int | str | Array) -> tuple[int | Array, int | Array]:
    """Return the high and low 32-bit word that are folded into a key."""
    if isinstance(word, tuple):
        return cast("tuple[Any, Any]", word)
    if isinstance(word, (int, str)):
        from seqloom._key import to_threefry_counter

        return to_threefry_counter(word)
    return 0, word


def key_words(b: Functions, key: KeyLike) -> Array:
    """Return the two words of a key as a uint32 array."""
    words = getattr(key, "words", None)
    return key if words is None else b.asarray(list(words), dtype="uint32")


def fold_in(b: Functions, key: KeyLike, word: int | str | Array) -> Array:
    """Return the words of a derived key, the same as from ``Key.fold``."""
    high, low = split_word(word)
    counts = (_to_word(b, high), _to_word(b, low))
    return b.concat(list(threefry(b, b.key_words(key), *counts)), axis=0)


def split(b: Functions, key: KeyLike, n: int) -> Array:
    """Return `n` derived keys as rows ``(n, 2)``, the same as from ``Key.split``."""
    low = b.arange(n, dtype="uint32")
    high = b.full((n,), _SPLIT_COUNTER, dtype="uint32")
    return b.stack(list(threefry(b, b.key_words(key), high, low)), axis=-1)


def random_bits(b: Functions, key: KeyLike, shape: Sequence[int]) -> Array:
    """Return an array of random 32-bit words."""
    shape = to_shape(shape)
    return b.reshape(b.bitwise_xor(*draw_words(b, key, shape)), shape)


def _to_word(b: Functions, value: int | Array) -> Array:
    """Return a 32-bit word as an array of length 1."""
    if isinstance(value, int):
        return b.full((1,), value, dtype="uint32")
    return b.reshape(b.astype(value, "uint32"), (1,))


def draw_words(b: Functions, key: KeyLike, shape: Sequence[int]) -> tuple[Array, Array]:
    """Return both random words of the counters 0, 1, …, as two arrays."""
    low = b.arange(math.prod(shape), dtype="uint32")
    return threefry(b, b.key_words(key), b.multiply(low, 0), low)


def split_like_jax(b: Functions, key: KeyLike) -> tuple[Array, Array]:
    """Return two derived keys, equal to those of JAX but not to those of `split`."""
    pair = b.stack(list(draw_words(b, key, (2,))), axis=-1)
    return b.index(pair, (0, ...)), b.index(pair, (1, ...))


def to_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of an array as a tuple; raise if a length is negative."""
    lengths = tuple(shape)
    if lengths and min(lengths) < 0:
        raise ArgumentError(f"random numbers of shape {lengths}: a length is negative")
    return lengths


def check_length(n: int) -> int:
    """Return the number of elements to permute; raise if it is negative."""
    count = index(n)
    if count < 0:
        raise ArgumentError(f"permutation: n must be at least 0, got {count}")
    return count


def check_rate(p: float) -> float:
    """Return the probability; raise if it is outside [0, 1]."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"a probability must be in [0, 1], got {p}")
    return p


def check_range(low: int, high: int) -> tuple[int, int]:
    """Return the bounds of a range; raise if the range is empty or exceeds int32."""
    if not _INT32_LIMITS.min <= low < high <= _INT32_LIMITS.max:
        raise ArgumentError(
            f"randint: low must be below high, both must fit int32; got {low} and {high}"
        )
    return low, high


def check_normal_bounds(lower: float, upper: float) -> tuple[float, float]:
    """Return the bounds; raise if they are not in ascending order."""
    if not lower < upper:
        raise ArgumentError(f"lower must be below upper, got {lower} and {upper}")
    return lower, upper


def find_extreme_normal(low: float, high: float, least: float, most: float) -> float | None:
    """Return the number that replaces infinite results of ``truncated_normal``.

    Args:
        low: Error function of the lower bound.
        high: Error function of the upper bound.
        least: The smallest allowed number.
        most: The largest allowed number.

    Returns:
        The smallest or largest allowed number, or None if no result can be infinite.

    Examples:
        >>> find_extreme_normal(1.0, 1.0, 20.0, 21.0)
        21.0
    """
    if low > -1 and high < 1:
        return None
    return most if low > -1 else least


# Shape rules ---------------------------------------------------------------------------


def make_draw_rule(position: int, default: str) -> ShapeRule:
    """Return the shape rule of a random function with its shape argument at `position`."""

    def infer_shape(call: Call) -> Spec:
        dtype = to_numpy_dtype(call.target, call.options.get("dtype", default))
        return tuple(call.get(position, "shape")), dtype

    return infer_shape


SHAPE_RULES: dict[str, ShapeRule] = {
    "random_bits": make_draw_rule(1, "uint32"),
    "fold_in": lambda _: ((2,), _WORD_TYPE),
    "split": lambda call: ((call.args[1], 2), _WORD_TYPE),
}


# NumPy versions ------------------------------------------------------------------------


def numpy_fold_in(key: KeyLike, word: int | str | Array) -> NDArray[np.uint32]:
    """Return the words of a derived key, the same as from ``Key.fold``."""
    high, low = (int(part) for part in split_word(word))
    return np.array(_native.threefry(*key_to_words(key), high, low), np.uint32)


def numpy_split(key: KeyLike, n: int) -> NDArray[np.uint32]:
    """Return `n` derived keys as rows ``(n, 2)``, the same as from ``Key.split``."""
    words = key_to_words(key)
    rows = [_native.threefry(*words, _SPLIT_COUNTER, position) for position in range(n)]
    return np.array(rows, np.uint32).reshape(n, 2)


@in_float32
def numpy_random_bits(
    b: Functions,
    key: KeyLike,
    shape: Sequence[int],
    *,
    out: NDArray[np.uint32] | None = None,
) -> NDArray[np.uint32]:
    """Return an array of random 32-bit words."""
    made = make_out(out, to_shape(shape), np.uint32)
    _native.position_bits(*key_to_words(key), made.reshape(-1), b.threads)
    return write_out(made, out)


def key_to_words(key: Any) -> tuple[int, int]:
    """Return the two words of a key as Python integers."""
    words = getattr(key, "words", key)
    try:
        return int(words[0]), int(words[1])
    except (TypeError, IndexError) as error:
        raise ArgumentError(
            "random numbers need a key, sl.Key(seed) or its two words, got "
            f"{type(key).__name__}"
        ) from error
