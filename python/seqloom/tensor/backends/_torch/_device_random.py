"""Random numbers on a device: each function is one compiled kernel.

Torch has few operations on uint32, so words are kept in int64, cut to 32 bits.
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

_WORD = 0xFFFF_FFFF
_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
Pair = tuple[Tensor, Tensor]


def kernel(function: Callable[..., Any], *args: Any) -> Any:
    """Run a function as one compiled kernel; inside a compiled program, as part of it."""
    if torch.compiler.is_compiling():
        return function(*args)
    return _compile(function)(*args)


@cache
def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """One program for each function; torch makes it for each shape."""
    return torch.compile(function)


def threefry(key: Pair, high: Tensor, low: Tensor) -> Pair:
    """Return the two words of each counter."""
    words = (*key, key[0] ^ key[1] ^ _PARITY)
    high, low = (high + words[0]) & _WORD, (low + words[1]) & _WORD
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            high = (high + low) & _WORD
            low = ((low << rotation | low >> (32 - rotation)) & _WORD) ^ high
        high = (high + words[(group + 1) % 3]) & _WORD
        low = (low + words[(group + 2) % 3] + group + 1) & _WORD
    return high, low


def _pair(key: Tensor) -> Pair:
    """Return the words of a key in int64."""
    words = key.to(torch.int64)
    return words[0], words[1]


def _words(key: Pair, count: int) -> Pair:
    """Both words of the counters 0, 1, …."""
    positions = torch.arange(count, device=key[0].device)
    return threefry(key, positions >> 32, positions & _WORD)


def _bits(key: Pair, shape: tuple[int, ...]) -> Tensor:
    """32 random bits for each value."""
    high, low = _words(key, math.prod(shape))
    return (high ^ low).reshape(shape)


def _jax_split(key: Pair) -> tuple[Pair, Pair]:
    """Two keys by jax's own way."""
    high, low = _words(key, 2)
    return (high[0], low[0]), (high[1], low[1])


def random_bits(key: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Words of 32 random bits."""
    return _bits(_pair(key), shape).to(torch.uint32)


def uniform(key: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    """Numbers from 0 to 1."""
    if dtype is torch.float64:
        high, low = _words(_pair(key), math.prod(shape))
        return ((high << 20 | low >> 12).to(dtype) * 2.0**-52).reshape(shape)
    width, kept = {torch.float16: (16, 10), torch.bfloat16: (8, 7)}.get(dtype, (32, 23))
    bits = (_bits(_pair(key), shape) & ((1 << width) - 1)) >> (width - kept)
    return bits.to(dtype) * 2.0**-kept


def between(
    key: Tensor, low: float, high: float, shape: tuple[int, ...], dtype: torch.dtype
) -> Tensor:
    """Return the inverse of the error function of uniform numbers between two.

    Times root 2.
    """
    one = to_numpy_type(dtype).type
    span, share = float(one(high) - one(low)), uniform(key, shape, dtype)
    u = torch.clamp((share.double() * span + low).to(dtype), min=low)
    narrow = dtype is not torch.float64
    wide = u.float() if narrow else u
    return (erf_inv(cast("Any", _Plain), wide, narrow=narrow) * math.sqrt(2)).to(dtype)


class _Plain:
    """Torch's functions under the names that the polynomials are written in."""

    add, multiply, subtract = torch.add, torch.multiply, torch.subtract
    less, where, sqrt, log1p = torch.less, torch.where, torch.sqrt, torch.log1p
    negative, square = torch.negative, torch.square


def bernoulli(key: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    """True with a probability."""
    return uniform(key, shape, torch.float32) < p


def randint(key: Tensor, low: int, high: int, shape: tuple[int, ...]) -> Tensor:
    """Whole numbers."""
    first, second = _jax_split(_pair(key))
    span = max(high - low, 1)
    factor = ((1 << 16) % span) ** 2 % (1 << 32) % span
    upper, lower = _bits(first, shape) % span, _bits(second, shape) % span
    offset = ((upper * factor & _WORD) + lower & _WORD) % span
    return (offset + low).to(torch.int32)


def permutation(key: Tensor, n: int) -> Tensor:
    """Numbers in random order."""
    pair, order = _pair(key), torch.arange(n, dtype=torch.int32, device=key.device)
    for _ in range(math.ceil(3 * math.log(max(1, n)) / math.log(_WORD))):
        pair, sub = _jax_split(pair)
        order = order[torch.argsort(_bits(sub, (n,)), stable=True)]
    return order


def dropout(x: Tensor, key: Tensor, rate: float, p: float) -> Tensor:
    """Zeros a share of the values."""
    kept = bernoulli(key, p, tuple(x.shape))
    return torch.where(kept, x * (1.0 / (1.0 - rate)), 0.0)


def fold_in(key: Tensor, high: Tensor, low: Tensor) -> Tensor:
    """Return the key of one thing below a key."""
    return torch.stack(threefry(_pair(key), high, low & _WORD)).to(torch.uint32)


def split(key: Tensor, n: int) -> Tensor:
    """Keys below a key."""
    low = torch.arange(n, device=key.device)
    return torch.stack(threefry(_pair(key), low * 0 + (1 << 31), low), -1).to(torch.uint32)
