"""Linear layers of 8-bit weights: Rust's kernels on a CPU, elsewhere the default bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._families import _linear_layers
from seqloom.tensor.backends._torch import _host_int8

if TYPE_CHECKING:
    from torch import Tensor

    from seqloom.tensor._backend import Backend


def linear_int8(
    b: Backend,
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
) -> Tensor:
    """``(x * factor) @ (weight * scale).T + bias + residual``, each row by itself."""
    given = x, weight, scale, factor, bias, residual
    if not _host_int8.serves(*given):
        return _linear_layers.linear_int8(b, *given)
    return _host_int8.linear_int8(*given)


def rotary_linear_int8(
    b: Backend,
    x: Tensor,
    weight: Tensor,
    scale: Tensor,
    factor: Tensor,
    bias: Tensor | None,
    cosine: Tensor,
    sine: Tensor,
    *,
    heads: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values, the first two turned by angles."""
    given = x, weight, scale, factor, bias, cosine, sine
    if not _host_int8.serves(*given):
        return _linear_layers.rotary_linear_int8(b, *given, heads=heads)
    query, key, value = _host_int8.rotary_linear_int8(*given, heads).unbind(-3)
    return query, key, value


def feed_forward_int8(
    b: Backend,
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
    *,
    eps: float,
) -> Tensor:
    """``feed_forward`` by two such layers."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    given = x, norm_weight, norm_bias, *inner, *outer
    if not _host_int8.serves(*given):
        return _linear_layers.feed_forward_int8(b, *given, eps=eps)
    return _host_int8.feed_forward_int8(*given, eps)
