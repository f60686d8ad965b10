"""Linear layers of 8-bit weights on a CPU: the Rust kernels, on torch's memory.

Each is an operation of the library ``seqloom`` with a fake form, so that ``torch.compile``
takes it as one node.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from seqloom.tensor.backends._torch._host import array_of, host, tensor_of
from seqloom.tensor.backends._torch._operation import operation


@operation("linear_int8")
def linear_int8(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
) -> Tensor:
    """The layer's outputs ``(..., out)``."""
    given = _arrays(x, weight, scale, factor, bias, residual)
    return tensor_of(host().linear_int8(*given))


@operation("rotary_linear_int8")
def rotary_linear_int8(
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    cosine: Tensor,
    sine: Tensor,
    heads: int,
) -> Tensor:
    """Queries, keys and values, of which the first two are turned, ``(..., 3, h, d)``."""
    made = x.new_empty((*x.shape[:-1], weight.shape[0]))
    given = _arrays(x, weight, scale, factor, bias, cosine, sine)
    host().rotary_linear_int8(*given, heads=heads, into=array_of(made))
    return made.unflatten(-1, (3, heads, -1))


@operation("feed_forward_int8")
def feed_forward_int8(
    x: Tensor,
    norm_weight: Tensor,
    norm_bias: Tensor,
    weight_in: Tensor,
    scale_in: Tensor,
    factor_in: Tensor,
    bias_in: Tensor | None,
    weight_out: Tensor,
    scale_out: Tensor,
    factor_out: Tensor,
    bias_out: Tensor | None,
    eps: float,
) -> Tensor:
    """``x`` and what the two layers add to it."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    given = _arrays(x, norm_weight, norm_bias, *inner, *outer)
    return tensor_of(host().feed_forward_int8(*given, eps=eps))


def serves(x: Tensor, *arrays: Tensor | None) -> bool:
    """Whether the kernels take these arrays: on a CPU, floats of 32 bits, some of them."""
    given = [x, *(array for array in arrays if array is not None)]
    on_cpu = all(array.device.type == "cpu" and array.numel() for array in given)
    return on_cpu and x.dtype is torch.float32


def _arrays(*given: Tensor | None) -> list[Any]:
    """Arrays of torch's as NumPy's, on the same memory."""
    return [None if array is None else array_of(array) for array in given]


@linear_int8.register_fake
def _outputs(x: Tensor, weight: Tensor, *_rest: object) -> Tensor:
    """The shape of the layer's outputs."""
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


@rotary_linear_int8.register_fake
def _heads(x: Tensor, weight: Tensor, *rest: Any) -> Tensor:
    """The shape of queries, keys and values together."""
    heads = rest[-1]
    return x.new_empty((*x.shape[:-1], 3, heads, weight.shape[0] // (3 * heads)))


@feed_forward_int8.register_fake
def _fed(x: Tensor, *_rest: object) -> Tensor:
    """The shape of the result."""
    return x.new_empty(x.shape)
