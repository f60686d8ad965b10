"""Random numbers from a key, computed in Rust or, on a device, in a compiled kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from seqloom.tensor._families import _keys as keys
from seqloom.tensor.backends._torch import _device_random as device_random
from seqloom.tensor.backends._torch._creation import to_numpy_type, to_torch
from seqloom.tensor.backends._torch._kernels import get_numpy, register, to_array, to_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom._key import Key
    from seqloom.tensor._backend import Backend
    from seqloom.tensor.backends._torch._creation import DType

    Word = int | str | Tensor | tuple[int | Tensor, int | Tensor]


def key_words(b: Backend, key: Key | Tensor) -> Tensor:
    """Return the two uint32 words of a key as an array."""
    if isinstance(key, Tensor):
        return key
    high, low = key.words
    if b.device == "cpu":
        return torch.tensor([high, low], dtype=torch.uint32)
    # unlike a copy, `full` does not wait for the device
    words = torch.full((2,), high, dtype=torch.int64, device=b.device)
    words[1].fill_(low)
    return words.to(torch.uint32)


def fold_in(b: Backend, key: Key | Tensor, word: Word) -> Tensor:
    """Return a derived key as two uint32 words, like ``Key.fold``."""
    words = b.key_words(key)
    if b.device == "cpu" and isinstance(word, Tensor):
        return _CPU_FUNCTIONS["fold_in"](words, word)
    halves = (
        part.to(torch.int64)
        if isinstance(part, Tensor)
        else torch.full((), part, dtype=torch.int64, device=b.device)
        for part in keys.split_word(word)
    )
    return device_random.as_kernel(device_random.fold_in, words, *halves)


def split(b: Backend, key: Key | Tensor, n: int) -> Tensor:
    """Return `n` derived keys as an array ``(n, 2)``, like ``Key.split``."""
    return _run_random(b, "split", key, n)


def random_bits(b: Backend, key: Key | Tensor, shape: Sequence[int]) -> Tensor:
    """Return random 32-bit integers (uint32)."""
    return _run_random(b, "random_bits", key, keys.to_shape(shape))


def uniform(
    b: Backend, key: Key | Tensor, shape: Sequence[int], *, dtype: DType = "float32"
) -> Tensor:
    """Return uniform random numbers from 0 (included) to 1 (excluded)."""
    return _run_random(b, "uniform", key, keys.to_shape(shape), to_torch(dtype))


def normal(
    b: Backend, key: Key | Tensor, shape: Sequence[int], *, dtype: DType = "float32"
) -> Tensor:
    """Return normal random numbers with mean 0 and standard deviation 1."""
    words, kind, shape = b.key_words(key), to_torch(dtype), keys.to_shape(shape)
    if b.device == "cpu":
        return _CPU_FUNCTIONS["normal"](words, shape, kind)
    one = to_numpy_type(kind).type
    bounds = float(np.nextafter(one(-1), one(0))), 1.0
    return device_random.as_kernel(device_random.draw_normal, words, *bounds, shape, kind)


def truncated_normal(
    b: Backend,
    key: Key | Tensor,
    lower: float,
    upper: float,
    shape: Sequence[int],
    *,
    dtype: DType = "float32",
) -> Tensor:
    """Return random numbers from a normal distribution that is truncated to two bounds."""
    words, kind, shape = b.key_words(key), to_torch(dtype), keys.to_shape(shape)
    lower, upper = keys.check_normal_bounds(lower, upper)
    if b.device == "cpu":
        return _CPU_FUNCTIONS["truncated_normal"](words, lower, upper, shape, kind)
    one = to_numpy_type(kind).type
    root = one(math.sqrt(2))
    bounds = [float(one(math.erf(float(one(bound) / root)))) for bound in (lower, upper)]
    found = device_random.as_kernel(device_random.draw_normal, words, *bounds, shape, kind)
    least = float(np.nextafter(one(lower), one(math.inf)))
    most = float(np.nextafter(one(upper), one(-math.inf)))
    edge = keys.find_extreme_normal(bounds[0], bounds[1], least, most)
    found = found.clamp(least, most)
    return found if edge is None else found.where(~found.isnan(), edge)


def bernoulli(
    b: Backend, key: Key | Tensor, p: float | Tensor, shape: Sequence[int]
) -> Tensor:
    """Return random booleans that are True with probability `p`, computed in float32."""
    if isinstance(p, Tensor):
        return b.uniform(key, shape) < p
    return _run_random(
        b, "bernoulli", key, float(np.float32(keys.check_rate(p))), keys.to_shape(shape)
    )


def randint(
    b: Backend, key: Key | Tensor, low: int, high: int, shape: Sequence[int]
) -> Tensor:
    """Return random integers (int32) from `low` (included) to `high` (excluded)."""
    return _run_random(
        b, "randint", key, *keys.check_range(low, high), keys.to_shape(shape)
    )


def permutation(b: Backend, key: Key | Tensor, n: int) -> Tensor:
    """Return the integers (int32) from 0 to n - 1 in random order."""
    return _run_random(b, "permutation", key, keys.check_length(n))


def dropout(b: Backend, x: Tensor, key: Key | Tensor, rate: float) -> Tensor:
    """Set a random fraction `rate` of the values to 0, and scale all other values."""
    if rate == 0:
        return x
    words = b.key_words(key)
    if b.device == "cpu":
        return _CPU_FUNCTIONS["dropout"](x, words, rate)
    kept = float(np.float32(1.0 - rate))
    return device_random.as_kernel(device_random.dropout, x, words, rate, kept)


def _run_random(b: Backend, name: str, key: Key | Tensor, *args: Any) -> Tensor:
    """Call a random function in Rust on a CPU, or in PyTorch on another device."""
    words = b.key_words(key)
    if b.device == "cpu":
        return _CPU_FUNCTIONS[name](words, *args)
    return device_random.as_kernel(getattr(device_random, name), words, *args)


def _register_cpu_function(
    name: str, arguments: str, fake: Callable[..., Tensor]
) -> Callable[..., Tensor]:
    """Register a random function of the NumPy backend as a torch operation."""

    def draw_numbers(*args: Any) -> Tensor:
        plain: list[Any] = [
            to_array(it.contiguous()) if isinstance(it, Tensor) else it for it in args
        ]
        dtype = plain.pop() if isinstance(plain[-1], torch.dtype) else None
        options = {} if dtype is None else {"dtype": to_numpy_type(dtype)}
        return to_tensor(getattr(get_numpy(), name)(*plain, **options))

    made: Any = register(name, schema=f"({arguments}) -> Tensor")(draw_numbers)
    made.register_fake(fake)
    return made


def _make_fake(dtype: torch.dtype | None) -> Callable[..., Tensor]:
    """Return the fake form of a random function, which only computes shape and dtype."""
    if dtype is None:
        return lambda key, *args: key.new_empty(args[-2], dtype=args[-1])
    return lambda key, *args: key.new_empty(args[-1], dtype=dtype)


# Random functions on a CPU by name, registered with a schema and a fake form.
_CPU_FUNCTIONS = {
    name: _register_cpu_function(name, arguments, fake)
    for name, arguments, fake in (
        ("random_bits", "Tensor key, SymInt[] shape", _make_fake(torch.uint32)),
        ("uniform", "Tensor key, SymInt[] shape, ScalarType dtype", _make_fake(None)),
        ("normal", "Tensor key, SymInt[] shape, ScalarType dtype", _make_fake(None)),
        (
            "truncated_normal",
            "Tensor key, float lower, float upper, SymInt[] shape, ScalarType dtype",
            _make_fake(None),
        ),
        ("bernoulli", "Tensor key, float p, SymInt[] shape", _make_fake(torch.bool)),
        (
            "randint",
            "Tensor key, SymInt low, SymInt high, SymInt[] shape",
            _make_fake(torch.int32),
        ),
        ("permutation", "Tensor key, SymInt n", _make_fake(torch.int32)),
        ("split", "Tensor key, SymInt n", lambda key, n: key.new_empty((n, 2))),
        ("fold_in", "Tensor key, Tensor word", lambda key, _: torch.empty_like(key)),
        (
            "dropout",
            "Tensor x, Tensor key, float rate",
            lambda x, *_: torch.empty_like(x).contiguous(),
        ),
    )
}
