"""Random numbers on a device, with one compiled kernel for each function.

PyTorch has few operations on uint32, so words are stored in int64 and masked to 32 bits.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from seqloom.tensor._families._error_function import erf_inv
from seqloom.tensor.backends._torch._creation import to_numpy_type

if TYPE_CHECKING:
    from collections.abc import Callable

_WORD_MASK = 0xFFFF_FFFF
_THREEFRY_PARITY = 0x1BD11BDA
_THREEFRY_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
Pair = tuple[Tensor, Tensor]


def as_kernel(function: Callable[..., Any], *args: Any) -> Any:
    """Run a function as a compiled kernel, or directly while a program is compiled."""
    if torch.compiler.is_compiling():
        return function(*args)
    return _compile_function(function)(*args)


@cache
def _compile_function(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function; PyTorch compiles it again for each shape."""
    return torch.compile(function)


def threefry(key: Pair, high: Tensor, low: Tensor) -> Pair:
    """Return two random 32-bit words for each counter."""
    words = (*key, key[0] ^ key[1] ^ _THREEFRY_PARITY)
    high, low = (high + words[0]) & _WORD_MASK, (low + words[1]) & _WORD_MASK
    for group in range(5):
        for rotation in _THREEFRY_ROTATIONS[group % 2]:
            high = (high + low) & _WORD_MASK
            low = ((low << rotation | low >> (32 - rotation)) & _WORD_MASK) ^ high
        high = (high + words[(group + 1) % 3]) & _WORD_MASK
        low = (low + words[(group + 2) % 3] + group + 1) & _WORD_MASK
    return high, low


def _key_pair(key: Tensor) -> Pair:
    """Return the two words of a key as int64."""
    words = key.to(torch.int64)
    return words[0], words[1]


def _counter_words(key: Pair, count: int) -> Pair:
    """Return two random words for each of the counters 0, 1, 2, …."""
    positions = torch.arange(count, device=key[0].device)
    return threefry(key, positions >> 32, positions & _WORD_MASK)


def _random_words(key: Pair, shape: tuple[int, ...]) -> Tensor:
    """Return 32 random bits for each element."""
    high, low = _counter_words(key, math.prod(shape))
    return (high ^ low).reshape(shape)


def _split_like_jax(key: Pair) -> tuple[Pair, Pair]:
    """Split a key into two keys, as in JAX."""
    high, low = _counter_words(key, 2)
    return (high[0], low[0]), (high[1], low[1])


def random_bits(key: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return random 32-bit integers."""
    return _random_words(_key_pair(key), shape).to(torch.uint32)


def uniform(key: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Return uniform random numbers from 0 (included) to 1 (excluded)."""
    if dtype is torch.float64:
        high, low = _counter_words(_key_pair(key), math.prod(shape))
        return ((high << 20 | low >> 12).to(dtype) * 2.0**-52).reshape(shape)
    width, kept = {torch.float16: (16, 10), torch.bfloat16: (8, 7)}.get(dtype, (32, 23))
    bits = (_random_words(_key_pair(key), shape) & ((1 << width) - 1)) >> (width - kept)
    return bits.to(dtype) * 2.0**-kept


def draw_normal(
    key: Tensor, low: float, high: float, shape: tuple[int, ...], dtype: torch.dtype
) -> Tensor:
    """Return normal random numbers, from uniform numbers between `low` and `high`."""
    one = to_numpy_type(dtype).type
    span, share = float(one(high) - one(low)), uniform(key, shape, dtype)
    u = torch.clamp((share.double() * span + low).to(dtype), min=low)
    narrow = dtype is not torch.float64
    wide = u.float() if narrow else u
    return (erf_inv(cast("Any", _TorchOps), wide, narrow=narrow) * math.sqrt(2)).to(dtype)


class _TorchOps:
    """PyTorch functions under the names that `erf_inv` calls."""

    add, multiply, subtract = torch.add, torch.multiply, torch.subtract
    less, where, sqrt, log1p = torch.less, torch.where, torch.sqrt, torch.log1p
    negative, square = torch.negative, torch.square


def bernoulli(key: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """Return random booleans that are True with probability `p`."""
    return uniform(key, shape, torch.float32) < p


def randint(key: Tensor, low: int, high: int, shape: tuple[int, ...]) -> Tensor:
    """Return random integers from `low` (included) to `high` (excluded)."""
    first, second = _split_like_jax(_key_pair(key))
    span = max(high - low, 1)
    factor = ((1 << 16) % span) ** 2 % (1 << 32) % span
    upper, lower = _random_words(first, shape) % span, _random_words(second, shape) % span
    offset = ((upper * factor & _WORD_MASK) + lower & _WORD_MASK) % span
    return (offset + low).to(torch.int32)


def permutation(key: Tensor, n: int) -> Tensor:
    """Return the integers from 0 to n - 1 in random order."""
    pair, order = (_key_pair(key), torch.arange(n, dtype=torch.int32, device=key.device))
    for _ in range(math.ceil(3 * math.log(max(1, n)) / math.log(_WORD_MASK))):
        pair, sub = _split_like_jax(pair)
        order = order[torch.argsort(_random_words(sub, (n,)), stable=True)]
    return order


def dropout(x: Tensor, key: Tensor, rate: float, p: float) -> Tensor:
    """Set a random fraction of the values to 0, and scale all other values."""
    kept = bernoulli(key, p, tuple(x.shape))
    return torch.where(kept, x * (1.0 / (1.0 - rate)), 0.0)


def fold_in(key: Tensor, high: Tensor, low: Tensor) -> Tensor:
    """Return a derived key as two words."""
    return torch.stack(threefry(_key_pair(key), high, low & _WORD_MASK)).to(torch.uint32)


def split(key: Tensor, n: int) -> Tensor:
    """Return `n` derived keys as an array ``(n, 2)``."""
    low = torch.arange(n, device=key.device)
    return torch.stack(threefry(_key_pair(key), low * 0 + (1 << 31), low), -1).to(
        torch.uint32
    )
