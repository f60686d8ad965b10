"""Random numbers from a key, with the generator of JAX."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, random
from jax.extend.random import threefry_2x32

from seqloom.tensor._families import _keys as keys
from seqloom.tensor.backends._jax._standard import to_dtype

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom._key import Key
    from seqloom.tensor._backend import Backend

_SPLIT_COUNTER = 1 << 31  # high 32 bits of the counters for `split`


def key_words(key: Key | Array) -> Any:
    """Return the two uint32 words of a key as a NumPy array, which JAX transfers faster."""
    words = getattr(key, "words", None)
    return key if words is None else np.array(words, np.uint32)


def fold_in(b: Backend, key: Key | Array, word: Any) -> Array:
    """Return a derived key as two uint32 words, like ``Key.fold``."""
    halves = [jnp.asarray(part, jnp.uint32).reshape(()) for part in keys.split_word(word)]
    return threefry_2x32(b.key_words(key), jnp.stack(halves))


def split(b: Backend, key: Key | Array, n: int) -> Array:
    """Return `n` derived keys as an array ``(n, 2)``, like ``Key.split``."""
    high, low = jnp.full(n, _SPLIT_COUNTER, jnp.uint32), jnp.arange(n, dtype=jnp.uint32)
    return threefry_2x32(b.key_words(key), jnp.stack([high, low])).T


def random_bits(b: Backend, key: Key | Array, shape: Sequence[int]) -> Array:
    """Return random 32-bit integers (uint32)."""
    return random.bits(_wrap_key(b, key), keys.to_shape(shape), jnp.uint32)


def uniform(
    b: Backend, key: Key | Array, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Return uniform random numbers from 0 (included) to 1 (excluded)."""
    return random.uniform(_wrap_key(b, key), keys.to_shape(shape), to_dtype(dtype))


def normal(
    b: Backend, key: Key | Array, shape: Sequence[int], *, dtype: Any = "float32"
) -> Array:
    """Return normal random numbers with mean 0 and standard deviation 1."""
    return random.normal(_wrap_key(b, key), keys.to_shape(shape), to_dtype(dtype))


def truncated_normal(
    b: Backend,
    key: Key | Array,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
) -> Array:
    """Return random numbers from a normal distribution that is truncated to two bounds."""
    kind, (lower, upper) = to_dtype(dtype), keys.check_normal_bounds(lower, upper)
    return random.truncated_normal(
        _wrap_key(b, key), lower, upper, keys.to_shape(shape), kind
    )


def bernoulli(b: Backend, key: Key | Array, p: Any, shape: Sequence[int]) -> Array:
    """Return random booleans that are True with probability `p`, computed in float32."""
    p = (
        np.float32(keys.check_rate(p))
        if isinstance(p, (int, float))
        else p.astype(jnp.float32)
    )
    return random.bernoulli(_wrap_key(b, key), p, keys.to_shape(shape))


def randint(
    b: Backend, key: Key | Array, low: int, high: int, shape: Sequence[int]
) -> Array:
    """Return random integers (int32) from `low` (included) to `high` (excluded)."""
    low, high = keys.check_range(low, high)
    return random.randint(_wrap_key(b, key), keys.to_shape(shape), low, high, jnp.int32)


def permutation(b: Backend, key: Key | Array, n: int) -> Array:
    """Return the integers (int32) from 0 to n - 1 in random order."""
    return random.permutation(_wrap_key(b, key), keys.check_length(n)).astype(jnp.int32)


def _wrap_key(b: Backend, key: Key | Array) -> Array:
    """Convert a seqloom key to a JAX key."""
    return jax.random.wrap_key_data(jnp.asarray(b.key_words(key)), impl="threefry2x32")
