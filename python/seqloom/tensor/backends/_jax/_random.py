"""Random numbers by key: jax's own generator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from jax.extend.random import threefry_2x32

from seqloom.tensor._backend import Backend
from seqloom.tensor._defaults import _drawn as drawn, counter
from seqloom.tensor.backends._jax._standard import checked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom._key import Key

Array = Any
_SPLITS = 1 << 31  # the high word of the counters that keys are split by


class Randomness(Backend):
    """What depends on a key."""

    def key_words(self, key: Key | Array) -> Array:
        """The two words of a key as a uint32 array: NumPy's, as jax moves those quicker."""
        words = getattr(key, "words", None)
        return key if words is None else np.array(words, np.uint32)

    def fold_in(self, key: Key | Array, word: Any) -> Array:
        """The words of the key of one thing below a key."""
        halves = [jnp.asarray(each, jnp.uint32).reshape(()) for each in counter(word)]
        return threefry_2x32(self.key_words(key), jnp.stack(halves))

    def split(self, key: Key | Array, n: int) -> Array:
        """Keys below a key, one for each row of ``(n, 2)``."""
        high, low = jnp.full(n, _SPLITS, jnp.uint32), jnp.arange(n, dtype=jnp.uint32)
        return threefry_2x32(self.key_words(key), jnp.stack([high, low])).T

    def random_bits(self, key: Key | Array, shape: Sequence[int]) -> Array:
        """Words of 32 random bits."""
        return random.bits(self._wrapped(key), drawn.sized(shape), jnp.uint32)

    def uniform(
        self, key: Key | Array, shape: Sequence[int], *, dtype: Any = "float32"
    ) -> Array:
        """Numbers from 0 (included) to 1 (excluded)."""
        return random.uniform(self._wrapped(key), drawn.sized(shape), checked(dtype))

    def normal(
        self, key: Key | Array, shape: Sequence[int], *, dtype: Any = "float32"
    ) -> Array:
        """Numbers of mean 0 and deviation 1."""
        return random.normal(self._wrapped(key), drawn.sized(shape), checked(dtype))

    def truncated_normal(
        self,
        key: Key | Array,
        lower: float,
        upper: float,
        shape: Sequence[int],
        *,
        dtype: Any = "float32",
    ) -> Array:
        """Normal numbers, given that they lie between two bounds."""
        kind, (lower, upper) = checked(dtype), drawn.bounds(lower, upper)
        return random.truncated_normal(
            self._wrapped(key), lower, upper, drawn.sized(shape), kind
        )

    def bernoulli(self, key: Key | Array, p: Any, shape: Sequence[int]) -> Array:
        """True with probability `p`, in float32."""
        p = (
            np.float32(drawn.share(p))
            if isinstance(p, (int, float))
            else p.astype(jnp.float32)
        )
        return random.bernoulli(self._wrapped(key), p, drawn.sized(shape))

    def randint(self, key: Key | Array, low: int, high: int, shape: Sequence[int]) -> Array:
        """Whole numbers (int32) from `low` (included) to `high` (excluded)."""
        low, high = drawn.rising(low, high)
        return random.randint(self._wrapped(key), drawn.sized(shape), low, high, jnp.int32)

    def permutation(self, key: Key | Array, n: int) -> Array:
        """The numbers (int32) from 0 to n - 1 in random order."""
        return random.permutation(self._wrapped(key), drawn.counted(n)).astype(jnp.int32)

    def _wrapped(self, key: Key | Array) -> Array:
        """A key as jax knows one."""
        return jax.random.wrap_key_data(
            jnp.asarray(self.key_words(key)), impl="threefry2x32"
        )
