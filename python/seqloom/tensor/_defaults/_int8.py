"""Linear layers whose weights are whole numbers of 8 bits.

A layer is four arrays: `weight` int8 ``(out, in)``, `scale` ``(out,)`` that its rows are
multiplied by, `factor` ``(in,)`` that the inputs are, and a bias ``(out,)`` or None. These
bodies multiply by floats again; a backend with products of whole numbers rounds the inputs,
each row by a scale of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def linear_int8(
    b: Functions,
    x: Array,
    weight: Array,
    scale: Array,
    factor: Array,
    bias: Array | None = None,
    residual: Array | None = None,
) -> Array:
    """``(x * factor) @ (weight * scale).T + bias + residual``, each row by itself."""
    return b.linear_by_row(x, *_layer(b, x, weight, scale, factor, bias), residual)


def rotary_linear_int8(
    b: Functions,
    x: Array,
    weight: Array,
    scale: Array,
    factor: Array,
    bias: Array | None,
    cosine: Array,
    sine: Array,
    *,
    heads: int,
) -> tuple[Array, Array, Array]:
    """Queries, keys and values of ``rotary_linear``, by such a layer."""
    layer = _layer(b, x, weight, scale, factor, bias)
    return b.rotary_linear(x, *layer, cosine, sine, heads=heads)


def feed_forward_int8(
    b: Functions,
    x: Array,
    norm_weight: Array,
    norm_bias: Array,
    weight_in: Array,
    scale_in: Array,
    factor_in: Array,
    bias_in: Array | None,
    weight_out: Array,
    scale_out: Array,
    factor_out: Array,
    bias_out: Array | None,
    *,
    eps: float,
) -> Array:
    """``feed_forward`` by two such layers."""
    inner = _layer(b, x, weight_in, scale_in, factor_in, bias_in)
    outer = _layer(b, x, weight_out, scale_out, factor_out, bias_out)
    return b.feed_forward(x, norm_weight, norm_bias, *inner, *outer, eps=eps)


def _layer(
    b: Functions, x: Array, weight: Array, scale: Array, factor: Array, bias: Array | None
) -> tuple[Array, Array | None]:
    """The weight and the bias of a layer of floats, in the type of the input."""
    dtype = b.dtype(x)
    wide = b.multiply(b.astype(weight, b.dtype(scale)), b.expand_dims(scale, axis=1))
    plain = b.astype(b.multiply(wide, factor), dtype)
    return plain, None if bias is None else b.astype(bias, dtype)
