"""Random numbers by key, the same bits on every backend.

The words are Threefry-2x32's with 20 rounds (Salmon et al. 2011), laid out as jax lays
them out: number i of an array is made from the counter i alone. What is made of the words
follows jax's definitions, so that jax's own generator is the implementation there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from seqloom.tensor._defaults import _drawn as drawn
from seqloom.tensor._defaults._normal import erf_inv
from seqloom.tensor._defaults._shape import Shapes
from seqloom.tensor._defaults._threefry import counter, threefry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array

_WORD = 32  # bits
_SPLITS = 1 << 31  # the high word of the counters that keys are split by
# Of each type: random bits that a number takes, and how many of them are kept.
_BITS = {"float16": (16, 10), "bfloat16": (8, 7), "float32": (32, 23), "float64": (64, 52)}


class Randomness(Shapes):
    """What depends on a key: a `seqloom.Key`, or its two words as a uint32 array.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> B.uniform(sl.Key(0), (2, 3)).shape
        (2, 3)
    """

    def key_words(self, key: Any) -> Array:
        """The two words of a key as a uint32 array."""
        words = getattr(key, "words", None)
        return key if words is None else self.asarray(list(words), dtype="uint32")

    def fold_in(self, key: Any, word: Any) -> Array:
        """The words of the key of one thing below a key, as ``Key.fold``."""
        high, low = counter(word)
        counts = (self._word(high), self._word(low))
        return self.concat(list(threefry(self, self.key_words(key), *counts)), axis=0)

    def split(self, key: Any, n: int) -> Array:
        """Keys below a key, one for each row of ``(n, 2)``, as ``Key.split``."""
        low = self.arange(n, dtype="uint32")
        high = self.full((n,), _SPLITS, dtype="uint32")
        return self.stack(list(threefry(self, self.key_words(key), high, low)), axis=-1)

    def random_bits(self, key: Any, shape: Sequence[int]) -> Array:
        """Words of 32 random bits."""
        shape = drawn.sized(shape)
        return self.reshape(self.bitwise_xor(*self._pairs(key, shape)), shape)

    def uniform(self, key: Any, shape: Sequence[int], *, dtype: Any = "float32") -> Array:
        """Numbers from 0 (included) to 1 (excluded)."""
        name, shape = np.dtype(dtype).name, drawn.sized(shape)
        width, kept = _BITS[name]
        if width > _WORD:
            high, low = (self.astype(each, "uint64") for each in self._pairs(key, shape))
            high = self.bitwise_left_shift(high, 32)
            bits = self.reshape(self.bitwise_or(high, low), shape)
        else:
            bits = self.bitwise_and(self.random_bits(key, shape), (1 << width) - 1)
        bits = self.bitwise_right_shift(bits, width - kept)
        return self.multiply(self.astype(bits, dtype), 2.0**-kept)

    def normal(self, key: Any, shape: Sequence[int], *, dtype: Any = "float32") -> Array:
        """Numbers of mean 0 and deviation 1."""
        low = float(np.nextafter(np.asarray(-1, dtype), np.asarray(0, dtype)))
        return self._bent(self._between(key, shape, low, 1.0, dtype), dtype)

    def truncated_normal(
        self,
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
        low, high = (
            float(one(math.erf(float(one(bound) / root)))) for bound in (lower, upper)
        )
        least = float(np.nextafter(one(lower), one(math.inf)))
        most = float(np.nextafter(one(upper), one(-math.inf)))
        shares = self._between(key, shape, low, high, dtype)
        edge = drawn.beyond(low, high, least, most)
        if edge is None:
            return self.clip(self._bent(shares, dtype), least, most)
        whole = self.greater_equal(self.abs(shares), 1.0)
        out = self._bent(self.where(whole, 0.0, shares), dtype)
        return self.where(whole, edge, self.clip(out, least, most))

    def bernoulli(self, key: Any, p: Any, shape: Sequence[int]) -> Array:
        """True with probability `p`, in float32."""
        if isinstance(p, (int, float)):
            p = float(np.float32(drawn.share(p)))
        return self.less(self.uniform(key, shape), p)

    def randint(self, key: Any, low: int, high: int, shape: Sequence[int]) -> Array:
        """Whole numbers (int32) from `low` (included) to `high` (excluded)."""
        low, high = drawn.rising(low, high)
        first, second = self._jax_split(key)
        span = high - low
        factor = ((1 << 16) % span) ** 2 % (1 << 32) % span
        upper = self.remainder(self.random_bits(first, shape), span)
        lower = self.remainder(self.random_bits(second, shape), span)
        offset = self.add(self.multiply(upper, factor), lower)
        return self.add(self.astype(self.remainder(offset, span), "int32"), low)

    def permutation(self, key: Any, n: int) -> Array:
        """The numbers (int32) from 0 to n - 1 in random order."""
        n = drawn.counted(n)
        order = self.arange(n, dtype="int32")
        rounds = math.ceil(3 * math.log(max(1, n)) / math.log((1 << 32) - 1))
        for _ in range(rounds):
            key, sub = self._jax_split(key)
            places = self.argsort(self.random_bits(sub, (n,)))
            order = self.take(order, places, axis=0)
        return order

    def dropout(self, x: Array, key: Any, rate: float) -> Array:
        """Zeros a share `rate` of the values; its derivative is itself, of the gradient."""
        if rate == 0:
            return x
        kept = self.bernoulli(key, 1.0 - rate, x.shape)
        return self.where(kept, self.multiply(x, 1.0 / (1.0 - rate)), 0)

    def _word(self, value: Any) -> Array:
        """One word as an array of one."""
        if isinstance(value, int):
            return self.full((1,), value, dtype="uint32")
        return self.reshape(self.astype(value, "uint32"), (1,))

    def _pairs(self, key: Any, shape: Sequence[int]) -> tuple[Array, Array]:
        """Both words of the counters 0, 1, …, as rows."""
        low = self.arange(math.prod(shape), dtype="uint32")
        return threefry(self, self.key_words(key), self.multiply(low, 0), low)

    def _jax_split(self, key: Any) -> tuple[Array, Array]:
        """Two keys by jax's own way, which differs from `split`."""
        pair = self.stack(list(self._pairs(key, (2,))), axis=-1)
        return self.index(pair, (0, ...)), self.index(pair, (1, ...))

    def _between(
        self, key: Any, shape: Sequence[int], low: float, high: float, dtype: Any
    ) -> Array:
        """Uniform numbers between two, rounded once, as one fused instruction does."""
        one = np.dtype(dtype).type
        span, share = float(one(high) - one(low)), self.uniform(key, shape, dtype=dtype)
        wide = self.astype(share, "float64")
        bent = self.add(self.multiply(wide, span), low)
        return self.maximum(self.astype(bent, dtype), low)

    def _bent(self, u: Array, dtype: Any) -> Array:
        """Numbers between -1 and 1 to normal ones, in float32 at least."""
        narrow = np.dtype(dtype).name != "float64"
        wide = self.astype(u, "float32" if narrow else "float64")
        out = self.multiply(erf_inv(cast("Any", self), wide, narrow=narrow), math.sqrt(2))
        return self.astype(out, dtype)
