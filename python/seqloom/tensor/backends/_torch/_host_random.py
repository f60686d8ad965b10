"""Random numbers on a CPU: the Rust functions, as operations that torch does not look into.

Each is an operation of the library ``seqloom`` with a fake form, so that ``torch.compile``
takes it as one node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence  # noqa: TC003  # torch reads the types
from typing import Any

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._creation import to_numpy_type
from seqloom.tensor.backends._torch._operation import array_of, host, operation, tensor_of


@operation("random_bits")
def random_bits(key: Tensor, shape: Sequence[int]) -> Tensor:
    """Words of 32 random bits."""
    return tensor_of(host().random_bits(array_of(key), tuple(shape)))


@operation("uniform")
def uniform(key: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Numbers from 0 to 1."""
    return tensor_of(
        host().uniform(array_of(key), tuple(shape), dtype=to_numpy_type(dtype))
    )


@operation("normal")
def normal(key: Tensor, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Numbers of mean 0 and deviation 1."""
    return tensor_of(host().normal(array_of(key), tuple(shape), dtype=to_numpy_type(dtype)))


@operation("truncated_normal")
def truncated_normal(
    key: Tensor, lower: float, upper: float, shape: Sequence[int], dtype: torch.dtype
) -> Tensor:
    """Normal numbers between two bounds."""
    kind = to_numpy_type(dtype)
    found = host().truncated_normal(array_of(key), lower, upper, tuple(shape), dtype=kind)
    return tensor_of(found)


@operation("bernoulli")
def bernoulli(key: Tensor, p: float, shape: Sequence[int]) -> Tensor:
    """True with a probability."""
    return tensor_of(host().bernoulli(array_of(key), p, tuple(shape)))


@operation("randint")
def randint(key: Tensor, low: int, high: int, shape: Sequence[int]) -> Tensor:
    """Whole numbers."""
    return tensor_of(host().randint(array_of(key), low, high, tuple(shape)))


@operation("permutation")
def permutation(key: Tensor, n: int) -> Tensor:
    """Numbers in random order."""
    return tensor_of(host().permutation(array_of(key), n))


@operation("dropout")
def dropout(x: Tensor, key: Tensor, rate: float) -> Tensor:
    """Zeros a share of the values."""
    return tensor_of(host().dropout(array_of(x.contiguous()), array_of(key), rate))


@operation("fold_in")
def fold_in(key: Tensor, word: Tensor) -> Tensor:
    """The key of one thing below a key."""
    return tensor_of(host().fold_in(array_of(key), array_of(word)))


@operation("split")
def split(key: Tensor, n: int) -> Tensor:
    """Keys below a key."""
    return tensor_of(host().split(array_of(key), n))


def _make_fake(dtype: torch.dtype | None) -> Callable[..., Tensor]:
    """What comes out, for tracing: a shape and a type."""

    def fake(key: Tensor, *args: Any) -> Tensor:
        shape = next(arg for arg in args if isinstance(arg, (list, tuple, torch.Size)))
        return key.new_empty(list(shape), dtype=args[-1] if dtype is None else dtype)

    return fake


for _operation in (uniform, normal, truncated_normal):
    _operation.register_fake(_make_fake(None))
random_bits.register_fake(_make_fake(torch.uint32))
bernoulli.register_fake(_make_fake(torch.bool))
randint.register_fake(_make_fake(torch.int32))
permutation.register_fake(lambda key, n: key.new_empty(n, dtype=torch.int32))
dropout.register_fake(lambda x, key, rate: torch.empty_like(x).contiguous())  # noqa: ARG005
fold_in.register_fake(lambda key, word: torch.empty_like(key))  # noqa: ARG005
split.register_fake(lambda key, n: key.new_empty((n, 2)))
