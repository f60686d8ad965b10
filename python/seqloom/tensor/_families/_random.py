"""Random numbers from a key, with identical bits on every backend.

Random words are converted to numbers as in JAX, so the JAX backend can use JAX's own
generator.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._error_function import erf_in_float32, erf_inv
from seqloom.tensor._families._keys import (
    check_length,
    check_normal_bounds,
    check_range,
    check_rate,
    draw_words,
    find_extreme_normal,
    key_to_words,
    make_draw_rule,
    split_like_jax,
    to_shape,
)
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    in_float32,
    make_out,
    run_kernel,
    write_out,
)
from seqloom.tensor._families._rule import Rule, ShapeRule, infer_same_spec

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keys import KeyLike


# Default implementations ---------------------------------------------------------------


_WORD_BITS = 32
# For each dtype: the number of random bits per number, and of mantissa bits.
_BITS = {"float16": (16, 10), "bfloat16": (8, 7), "float32": (32, 23), "float64": (64, 52)}


def uniform(
    b: Functions, key: KeyLike, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Return uniform random numbers from 0 (included) to 1 (excluded)."""
    name, shape = np.dtype(dtype).name, to_shape(shape)
    width, kept = _BITS[name]
    if width > _WORD_BITS:
        high, low = (b.astype(pair, "uint64") for pair in draw_words(b, key, shape))
        high = b.bitwise_left_shift(high, 32)
        bits = b.reshape(b.bitwise_or(high, low), shape)
    else:
        bits = b.bitwise_and(b.random_bits(key, shape), (1 << width) - 1)
    bits = b.bitwise_right_shift(bits, width - kept)
    return b.multiply(b.astype(bits, dtype), 2.0**-kept)


def normal(
    b: Functions, key: KeyLike, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Return normal random numbers with mean 0 and standard deviation 1."""
    low = float(np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)))
    return _to_normal(b, _draw_uniform_between(b, key, shape, low, 1.0, dtype), dtype)


def truncated_normal(
    b: Functions,
    key: KeyLike,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
) -> Array:
    """Return random numbers from a normal distribution that is truncated to two bounds."""
    root, one = np.asarray(math.sqrt(2), dtype), np.dtype(dtype).type
    lower, upper = check_normal_bounds(lower, upper)
    low, high = (float(one(math.erf(float(one(bound) / root)))) for bound in (lower, upper))
    least = float(np.nextafter(one(lower), one(math.inf)))
    most = float(np.nextafter(one(upper), one(-math.inf)))
    shares = _draw_uniform_between(b, key, shape, low, high, dtype)
    edge = find_extreme_normal(low, high, least, most)
    if edge is None:
        return b.clip(_to_normal(b, shares, dtype), least, most)
    whole = b.greater_equal(b.abs(shares), 1.0)
    out = _to_normal(b, b.where(whole, 0.0, shares), dtype)
    return b.where(whole, edge, b.clip(out, least, most))


def bernoulli(b: Functions, key: KeyLike, p: float | Array, shape: Sequence[int]) -> Array:
    """Return random booleans that are True with probability `p`, computed in float32."""
    if isinstance(p, (int, float)):
        p = float(np.float32(check_rate(p)))
    return b.less(b.uniform(key, shape), p)


def randint(b: Functions, key: KeyLike, low: int, high: int, shape: Sequence[int]) -> Array:
    """Return random integers (int32) from `low` (included) to `high` (excluded)."""
    low, high = check_range(low, high)
    first, second = split_like_jax(b, key)
    span = high - low
    factor = ((1 << 16) % span) ** 2 % (1 << 32) % span
    upper = b.remainder(b.random_bits(first, shape), span)
    lower = b.remainder(b.random_bits(second, shape), span)
    offset = b.add(b.multiply(upper, factor), lower)
    return b.add(b.astype(b.remainder(offset, span), "int32"), low)


def permutation(b: Functions, key: KeyLike, n: int) -> Array:
    """Return the integers (int32) from 0 to n - 1 in random order."""
    n = check_length(n)
    order = b.arange(n, dtype="int32")
    rounds = math.ceil(3 * math.log(max(1, n)) / math.log((1 << 32) - 1))
    for _ in range(rounds):
        key, sub = split_like_jax(b, key)
        positions = b.argsort(b.random_bits(sub, (n,)))
        order = b.take(order, positions, axis=0)
    return order


def dropout(b: Functions, x: Array, key: KeyLike, rate: float) -> Array:
    """Set a random fraction `rate` of the elements to 0, and scale the other elements."""
    if rate == 0:
        return x
    kept = b.bernoulli(key, 1.0 - rate, x.shape)
    return b.where(kept, b.multiply(x, 1.0 / (1.0 - rate)), 0)


def _draw_uniform_between(
    b: Functions, key: KeyLike, shape: Sequence[int], low: float, high: float, dtype: Any
) -> Array:
    """Return uniform numbers between two bounds, rounded as by a fused multiply-add."""
    one = np.dtype(dtype).type
    span, share = float(one(high) - one(low)), b.uniform(key, shape, dtype=dtype)
    wide = b.astype(share, "float64")
    bent = b.add(b.multiply(wide, span), low)
    return b.maximum(b.astype(bent, dtype), low)


def _to_normal(b: Functions, u: Array, dtype: Any) -> Array:
    """Convert uniform numbers in (-1, 1) to normal numbers, in float32 or wider."""
    narrow = np.dtype(dtype).name != "float64"
    wide = b.astype(u, "float32" if narrow else "float64")
    out = b.multiply(erf_inv(b, wide, narrow=narrow), math.sqrt(2))
    return b.astype(out, dtype)


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {
    # The gradient uses the same dropout mask, which the key determines.
    "dropout": Rule(keep.save_rest, lambda b, saved, grad, _: (b.dropout(grad, *saved),))
}


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    "uniform": make_draw_rule(1, "float32"),
    "normal": make_draw_rule(1, "float32"),
    "truncated_normal": make_draw_rule(3, "float32"),
    "bernoulli": make_draw_rule(2, "bool"),
    "dropout": infer_same_spec,
}


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_uniform(
    b: Functions,
    key: KeyLike,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Return uniform random numbers from 0 (included) to 1 (excluded)."""
    if np.dtype(dtype).itemsize == 2:  # noqa: PLR2004 - half precision
        return write_out(uniform(b, key, shape, dtype=dtype), out)
    made = make_out(out, to_shape(shape), dtype)
    _native.uniform(*key_to_words(key), made.reshape(-1), b.threads)
    return write_out(made, out)


@in_float32
def numpy_normal(
    b: Functions,
    key: KeyLike,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Return normal random numbers with mean 0 and standard deviation 1."""
    return numpy_truncated_normal(b, key, -math.inf, math.inf, shape, dtype=dtype, out=out)


@in_float32
def numpy_truncated_normal(
    b: Functions,
    key: KeyLike,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
    out: Floats | None = None,
) -> Floats:
    """Return random numbers from a normal distribution that is truncated to two bounds."""
    if np.dtype(dtype).itemsize == 2:  # noqa: PLR2004 - half precision
        whole = truncated_normal(b, key, lower, upper, shape, dtype=dtype)
        return write_out(whole, out)
    made, ends = make_out(out, to_shape(shape), dtype), check_normal_bounds(lower, upper)
    bounds = _erf_bounds(*ends, np.dtype(dtype).type)
    _native.truncated_normal(*key_to_words(key), *bounds, made.reshape(-1), b.threads)
    if math.isinf(lower) and math.isinf(upper):
        return write_out(made, out)
    if (edge := find_extreme_normal(*bounds)) is not None:
        made[np.isnan(made)] = edge
    return write_out(made, out)


@in_float32
def numpy_bernoulli(
    b: Functions,
    key: KeyLike,
    p: float | Array,
    shape: Sequence[int],
    *,
    out: NDArray[np.bool] | None = None,
) -> NDArray[np.bool]:
    """Return random booleans that are True with probability `p`, computed in float32."""
    if not isinstance(p, (int, float)):
        return np.less(b.uniform(key, shape), p, out=out)
    made = make_out(out, to_shape(shape), np.bool)
    _native.bernoulli(*key_to_words(key), check_rate(p), made.reshape(-1), b.threads)
    return write_out(made, out)


@in_float32
def numpy_randint(
    b: Functions,
    key: KeyLike,
    low: int,
    high: int,
    shape: Sequence[int],
    *,
    out: NDArray[np.int32] | None = None,
) -> NDArray[np.int32]:
    """Return random integers (int32) from `low` (included) to `high` (excluded)."""
    low, high = check_range(low, high)
    made = make_out(out, to_shape(shape), np.int32)
    _native.randint(*key_to_words(key), low, high, made.reshape(-1), b.threads)
    return write_out(made, out)


@in_float32
def numpy_permutation(b: Functions, key: KeyLike, n: int) -> NDArray[np.int32]:
    """Return the integers (int32) from 0 to n - 1 in random order."""
    made = np.empty(check_length(n), np.int32)
    _native.shuffled(*key_to_words(key), made, b.threads)
    return made


@in_float32
def numpy_dropout(
    b: Functions, x: Floats, key: KeyLike, rate: float, *, out: Floats | None = None
) -> Floats:
    """Set a random fraction `rate` of the elements to 0, and scale the other elements."""
    kernel, words = _native.dropout, key_to_words(key)
    return run_kernel(kernel, x, *words, rate, threads=b.threads, out=out)


def _erf_bounds(lower: float, upper: float, one: Any) -> tuple[float, float, float, float]:
    """Return erf at both bounds, and the smallest and largest allowed number."""
    if math.isinf(lower) and math.isinf(upper):
        return float(np.nextafter(one(-1), one(0))), 1.0, -math.inf, math.inf
    inverse = one(1) / one(math.sqrt(2))
    low, high = (erf_in_float32(one(bound) * inverse) for bound in (lower, upper))
    least = np.nextafter(one(lower), one(math.inf))
    most = np.nextafter(one(upper), one(-math.inf))
    return low, high, float(least), float(most)
