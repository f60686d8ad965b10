"""Random numbers by key, the same bits on every backend.

The words are Threefry-2x32's with 20 rounds (Salmon et al. 2011), laid out as jax lays
them out: number i of an array is made from the counter i alone. What is made of the words
follows jax's definitions, so that jax's own generator is the implementation there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.tensor._defaults import _drawn as drawn
from seqloom.tensor._defaults._normal import erf_inv
from seqloom.tensor._defaults._threefry import counter, threefry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions

_WORD = 32  # bits
_SPLITS = 1 << 31  # the high word of the counters that keys are split by
# Of each type: random bits that a number takes, and how many of them are kept.
_BITS = {"float16": (16, 10), "bfloat16": (8, 7), "float32": (32, 23), "float64": (64, 52)}


def key_words(b: Functions, key: Any) -> Array:
    """The two words of a key as a uint32 array."""
    words = getattr(key, "words", None)
    return key if words is None else b.asarray(list(words), dtype="uint32")


def fold_in(b: Functions, key: Any, word: Any) -> Array:
    """The words of the key of one thing below a key, as ``Key.fold``."""
    high, low = counter(word)
    counts = (_word(b, high), _word(b, low))
    return b.concat(list(threefry(b, b.key_words(key), *counts)), axis=0)


def split(b: Functions, key: Any, n: int) -> Array:
    """Keys below a key, one for each row of ``(n, 2)``, as ``Key.split``."""
    low = b.arange(n, dtype="uint32")
    high = b.full((n,), _SPLITS, dtype="uint32")
    return b.stack(list(threefry(b, b.key_words(key), high, low)), axis=-1)


def random_bits(b: Functions, key: Any, shape: Sequence[int]) -> Array:
    """Words of 32 random bits."""
    shape = drawn.to_shape(shape)
    return b.reshape(b.bitwise_xor(*_pairs(b, key, shape)), shape)


def uniform(
    b: Functions, key: Any, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Numbers from 0 (included) to 1 (excluded)."""
    name, shape = np.dtype(dtype).name, drawn.to_shape(shape)
    width, kept = _BITS[name]
    if width > _WORD:
        high, low = (b.astype(pair, "uint64") for pair in _pairs(b, key, shape))
        high = b.bitwise_left_shift(high, 32)
        bits = b.reshape(b.bitwise_or(high, low), shape)
    else:
        bits = b.bitwise_and(b.random_bits(key, shape), (1 << width) - 1)
    bits = b.bitwise_right_shift(bits, width - kept)
    return b.multiply(b.astype(bits, dtype), 2.0**-kept)


def normal(
    b: Functions, key: Any, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Numbers of mean 0 and deviation 1."""
    low = float(np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)))
    return _bent(b, _between(b, key, shape, low, 1.0, dtype), dtype)


def truncated_normal(
    b: Functions,
    key: Any,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
) -> Array:
    """Normal numbers, given that they lie between two bounds."""
    root, one = np.asarray(math.sqrt(2), dtype), np.dtype(dtype).type
    lower, upper = drawn.bounds(lower, upper)
    low, high = (float(one(math.erf(float(one(bound) / root)))) for bound in (lower, upper))
    least = float(np.nextafter(one(lower), one(math.inf)))
    most = float(np.nextafter(one(upper), one(-math.inf)))
    shares = _between(b, key, shape, low, high, dtype)
    edge = drawn.beyond(low, high, least, most)
    if edge is None:
        return b.clip(_bent(b, shares, dtype), least, most)
    whole = b.greater_equal(b.abs(shares), 1.0)
    out = _bent(b, b.where(whole, 0.0, shares), dtype)
    return b.where(whole, edge, b.clip(out, least, most))


def bernoulli(b: Functions, key: Any, p: Any, shape: Sequence[int]) -> Array:
    """True with probability `p`, in float32."""
    if isinstance(p, (int, float)):
        p = float(np.float32(drawn.share(p)))
    return b.less(b.uniform(key, shape), p)


def randint(b: Functions, key: Any, low: int, high: int, shape: Sequence[int]) -> Array:
    """Whole numbers (int32) from `low` (included) to `high` (excluded)."""
    low, high = drawn.rising(low, high)
    first, second = _jax_split(b, key)
    span = high - low
    factor = ((1 << 16) % span) ** 2 % (1 << 32) % span
    upper = b.remainder(b.random_bits(first, shape), span)
    lower = b.remainder(b.random_bits(second, shape), span)
    offset = b.add(b.multiply(upper, factor), lower)
    return b.add(b.astype(b.remainder(offset, span), "int32"), low)


def permutation(b: Functions, key: Any, n: int) -> Array:
    """The numbers (int32) from 0 to n - 1 in random order."""
    n = drawn.to_count(n)
    order = b.arange(n, dtype="int32")
    rounds = math.ceil(3 * math.log(max(1, n)) / math.log((1 << 32) - 1))
    for _ in range(rounds):
        key, sub = _jax_split(b, key)
        positions = b.argsort(b.random_bits(sub, (n,)))
        order = b.take(order, positions, axis=0)
    return order


def dropout(b: Functions, x: Array, key: Any, rate: float) -> Array:
    """Zeros a share `rate` of the values; its derivative is itself, of the gradient."""
    if rate == 0:
        return x
    kept = b.bernoulli(key, 1.0 - rate, x.shape)
    return b.where(kept, b.multiply(x, 1.0 / (1.0 - rate)), 0)


def _word(b: Functions, value: Any) -> Array:
    """One word as an array of one."""
    if isinstance(value, int):
        return b.full((1,), value, dtype="uint32")
    return b.reshape(b.astype(value, "uint32"), (1,))


def _pairs(b: Functions, key: Any, shape: Sequence[int]) -> tuple[Array, Array]:
    """Both words of the counters 0, 1, …, as rows."""
    low = b.arange(math.prod(shape), dtype="uint32")
    return threefry(b, b.key_words(key), b.multiply(low, 0), low)


def _jax_split(b: Functions, key: Any) -> tuple[Array, Array]:
    """Two keys by jax's own way, which differs from `split`."""
    pair = b.stack(list(_pairs(b, key, (2,))), axis=-1)
    return b.index(pair, (0, ...)), b.index(pair, (1, ...))


def _between(
    b: Functions, key: Any, shape: Sequence[int], low: float, high: float, dtype: Any
) -> Array:
    """Uniform numbers between two, rounded once, as one fused instruction does."""
    one = np.dtype(dtype).type
    span, share = float(one(high) - one(low)), b.uniform(key, shape, dtype=dtype)
    wide = b.astype(share, "float64")
    bent = b.add(b.multiply(wide, span), low)
    return b.maximum(b.astype(bent, dtype), low)


def _bent(b: Functions, u: Array, dtype: Any) -> Array:
    """Numbers between -1 and 1 to normal ones, in float32 at least."""
    narrow = np.dtype(dtype).name != "float64"
    wide = b.astype(u, "float32" if narrow else "float64")
    out = b.multiply(erf_inv(b, wide, narrow=narrow), math.sqrt(2))
    return b.astype(out, dtype)
