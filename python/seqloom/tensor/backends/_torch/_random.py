"""Random numbers by key: the Rust functions on a CPU, one compiled kernel elsewhere."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from seqloom.tensor._families import _keys as keys
from seqloom.tensor.backends._torch import (
    _device_random as device_random,
    _host_random as host_random,
)
from seqloom.tensor.backends._torch._creation import to_numpy_type, to_torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom._key import Key
    from seqloom.tensor._backend import Backend


def key_words(b: Backend, key: Key | Tensor) -> Tensor:
    """The two words of a key as a uint32 array."""
    if isinstance(key, Tensor):
        return key
    high, low = key.words
    if b.device == "cpu":
        return torch.tensor([high, low], dtype=torch.uint32)
    # Filled, not copied there: a copy would wait for the device.
    words = torch.full((2,), high, dtype=torch.int64, device=b.device)
    words[1].fill_(low)
    return words.to(torch.uint32)


def fold_in(b: Backend, key: Key | Tensor, word: Any) -> Tensor:
    """The words of the key of one thing below a key."""
    words = b.key_words(key)
    if b.device == "cpu" and isinstance(word, Tensor):
        return host_random.fold_in(words, word)
    halves = (_word(b, part) for part in keys.counter(word))
    return device_random.kernel(device_random.fold_in, words, *halves)


def split(b: Backend, key: Key | Tensor, n: int) -> Tensor:
    """Keys below a key, one for each row of ``(n, 2)``."""
    return _compute(b, "split", key, n)


def random_bits(b: Backend, key: Key | Tensor, shape: Sequence[int]) -> Tensor:
    """Words of 32 random bits."""
    return _compute(b, "random_bits", key, keys.to_shape(shape))


def uniform(
    b: Backend, key: Key | Tensor, shape: Sequence[int], *, dtype: Any = "float32"
) -> Tensor:
    """Numbers from 0 (included) to 1 (excluded)."""
    return _compute(b, "uniform", key, keys.to_shape(shape), to_torch(dtype))


def normal(
    b: Backend, key: Key | Tensor, shape: Sequence[int], *, dtype: Any = "float32"
) -> Tensor:
    """Numbers of mean 0 and deviation 1."""
    words, kind, shape = b.key_words(key), to_torch(dtype), keys.to_shape(shape)
    if b.device == "cpu":
        return host_random.normal(words, shape, kind)
    one = to_numpy_type(kind).type
    bounds = float(np.nextafter(one(-1), one(0))), 1.0
    return device_random.kernel(device_random.between, words, *bounds, shape, kind)


def truncated_normal(
    b: Backend,
    key: Key | Tensor,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: Any = "float32",
) -> Tensor:
    """Normal numbers, given that they lie between two bounds."""
    words, kind, shape = b.key_words(key), to_torch(dtype), keys.to_shape(shape)
    lower, upper = keys.check_bounds(lower, upper)
    if b.device == "cpu":
        return host_random.truncated_normal(words, lower, upper, shape, kind)
    one = to_numpy_type(kind).type
    root = one(math.sqrt(2))
    bounds = [float(one(math.erf(float(one(bound) / root)))) for bound in (lower, upper)]
    found = device_random.kernel(device_random.between, words, *bounds, shape, kind)
    least = float(np.nextafter(one(lower), one(math.inf)))
    most = float(np.nextafter(one(upper), one(-math.inf)))
    edge = keys.find_edge(bounds[0], bounds[1], least, most)
    found = found.clamp(least, most)
    return found if edge is None else found.where(~found.isnan(), edge)


def bernoulli(b: Backend, key: Key | Tensor, p: Any, shape: Sequence[int]) -> Tensor:
    """True with probability `p`, in float32."""
    if isinstance(p, Tensor):
        return b.uniform(key, shape) < p
    return _compute(
        b, "bernoulli", key, float(np.float32(keys.check_share(p))), keys.to_shape(shape)
    )


def randint(
    b: Backend, key: Key | Tensor, low: int, high: int, shape: Sequence[int]
) -> Tensor:
    """Whole numbers (int32) from `low` (included) to `high` (excluded)."""
    return _compute(b, "randint", key, *keys.check_range(low, high), keys.to_shape(shape))


def permutation(b: Backend, key: Key | Tensor, n: int) -> Tensor:
    """The numbers (int32) from 0 to n - 1 in random order."""
    return _compute(b, "permutation", key, keys.to_count(n))


def dropout(b: Backend, x: Tensor, key: Key | Tensor, rate: float) -> Tensor:
    """Zeros a share `rate` of the values by the key and scales up the others."""
    if rate == 0:
        return x
    words = b.key_words(key)
    if b.device == "cpu":
        return host_random.dropout(x, words, rate)
    kept = float(np.float32(1.0 - rate))
    return device_random.kernel(device_random.dropout, x, words, rate, kept)


def _compute(b: Backend, name: str, key: Key | Tensor, *args: Any) -> Tensor:
    """A function of that name, where the backend computes."""
    words = b.key_words(key)
    if b.device == "cpu":
        return getattr(host_random, name)(words, *args)
    return device_random.kernel(getattr(device_random, name), words, *args)


def _word(b: Backend, value: Any) -> Tensor:
    """One word of a counter in int64."""
    if isinstance(value, Tensor):
        return value.to(torch.int64)
    return torch.full((), value, dtype=torch.int64, device=b.device)
