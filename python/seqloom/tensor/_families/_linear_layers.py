"""Linear layers that process each row independently, with floats or 8-bit integers.

An int8 layer consists of four arrays. `weight` has dtype int8 and shape ``(out, in)``.
`scale` ``(out,)`` multiplies the rows of the weight. `factor` ``(in,)`` multiplies the
inputs. `bias` is an array ``(out,)`` or None. The default implementations convert the
weight to floats. A backend with integer matrix products also rounds the inputs to int8,
with one scale per row.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    all_contiguous,
    allocate,
    can_use_rust,
    in_float32,
    make_out,
    split_heads,
    to_contiguous,
    to_rows,
    write_out,
)
from seqloom.tensor._families._products import multiplies_in_rust

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions


# Default implementations ---------------------------------------------------------------


def linear_by_row(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    residual: Array | None = None,
) -> Array:
    """Return ``x @ weight.T + bias + residual``; on NumPy, no row affects another row."""
    out = b.linear(x, weight, bias)
    return out if residual is None else b.add(residual, out)


def rotary_linear(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None,
    cosine: Array,
    sine: Array,
    *,
    heads: int,
) -> tuple[Array, Array, Array]:
    """Return queries, keys and values, with rotary embeddings (Su et al., 2021).

    Args:
        b: The backend.
        x: Input of shape ``(..., in)``.
        weight: Weight of shape ``(3 * heads * d, in)``: first the rows of queries, then of
            keys, then of values.
        bias: Bias of shape ``(3 * heads * d,)``, or None.
        cosine: Cosines of the angles, ``(..., d / 2)``. Each angle rotates an element of
            the first half of a head together with the corresponding element of the
            second half.
        sine: Sines of the angles, of shape ``(..., d / 2)``.
        heads: Number of heads.

    Returns:
        Three arrays of shape ``(..., heads, d)``.
    """
    width = weight.shape[0] // (3 * heads)
    parts = b.reshape(b.linear(x, weight, bias), (*x.shape[:-1], 3, heads, width))
    q, k, v = b.unstack(parts, axis=-3)
    return _rotate(b, q, cosine, sine), _rotate(b, k, cosine, sine), v


def _rotate(b: Functions, x: Array, cosine: Array, sine: Array) -> Array:
    """Rotate pairs of elements, computed in the dtype of the angles."""
    dtype, half = b.dtype(x), x.shape[-1] // 2
    cosine, sine = b.expand_dims(cosine, axis=-2), b.expand_dims(sine, axis=-2)
    x = b.astype(x, b.dtype(cosine))
    first, second = b.index(x, (..., slice(0, half))), b.index(x, (..., slice(half, None)))
    turned = b.concat(
        [
            b.subtract(b.multiply(first, cosine), b.multiply(second, sine)),
            b.add(b.multiply(second, cosine), b.multiply(first, sine)),
        ],
        axis=-1,
    )
    return b.astype(turned, dtype)


def feed_forward(
    b: Functions,
    x: Array,
    norm_weight: Array,
    norm_bias: Array,
    weight_in: Array,
    bias_in: Array | None,
    weight_out: Array,
    bias_out: Array | None,
    *,
    eps: float,
) -> Array:
    """Return ``x`` plus a feed-forward block: layer norm, linear, gelu, linear layer."""
    normal = b.layer_norm(x, norm_weight, norm_bias, eps=eps)[0]
    hidden = b.gelu(b.linear(normal, weight_in, bias_in))
    return b.add(x, b.linear(hidden, weight_out, bias_out))


def linear_int8(
    b: Functions,
    x: Array,
    weight: Array,
    scale: Array,
    factor: Array,
    bias: Array | None = None,
    residual: Array | None = None,
) -> Array:
    """Return ``(x * factor) @ (weight * scale).T + bias + residual``."""
    return b.linear_by_row(x, *_restore_layer(b, x, weight, scale, factor, bias), residual)


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
    """Return the same queries, keys and values as ``rotary_linear``, with an int8 layer."""
    layer = _restore_layer(b, x, weight, scale, factor, bias)
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
    """Return the same result as ``feed_forward``, with two int8 layers."""
    inner = _restore_layer(b, x, weight_in, scale_in, factor_in, bias_in)
    outer = _restore_layer(b, x, weight_out, scale_out, factor_out, bias_out)
    return b.feed_forward(x, norm_weight, norm_bias, *inner, *outer, eps=eps)


def _restore_layer(
    b: Functions, x: Array, weight: Array, scale: Array, factor: Array, bias: Array | None
) -> tuple[Array, Array | None]:
    """Convert an int8 layer to weight and bias in the dtype of the input."""
    dtype = b.dtype(x)
    wide = b.multiply(b.astype(weight, b.dtype(scale)), b.expand_dims(scale, axis=1))
    plain = b.astype(b.multiply(wide, factor), dtype)
    return plain, None if bias is None else b.astype(bias, dtype)


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_linear_by_row(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    residual: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return ``x @ weight.T + bias + residual``; no row affects the rounding of another."""
    if not (multiplies_in_rust(b) and can_use_rust(x, weight, bias, residual)):
        return write_out(linear_by_row(b, x, weight, bias, residual), out)
    made = make_out(out, (*x.shape[:-1], weight.shape[0]), x.dtype)
    into, added = to_rows(made), None if residual is None else to_rows(residual)
    _native.linear_by_row(to_rows(x), all_contiguous(weight, bias), added, into, b.threads)
    return write_out(made, out)


@in_float32
def numpy_rotary_linear(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats | None,
    cosine: Floats,
    sine: Floats,
    *,
    heads: int,
) -> tuple[Floats, Floats, Floats]:
    """Return rotary queries, keys and values as views of one array."""
    if not (multiplies_in_rust(b) and can_use_rust(x, weight, bias, cosine, sine)):
        return rotary_linear(b, x, weight, bias, cosine, sine, heads=heads)
    made = allocate((*x.shape[:-1], weight.shape[0]), x.dtype)
    angles = to_rows(cosine), to_rows(sine)
    layer = all_contiguous(weight, bias)
    _native.rotary_linear(to_rows(x), layer, angles, 2 * heads, to_rows(made), b.threads)
    return split_heads(made, heads)


@in_float32
def numpy_feed_forward(
    b: Functions,
    x: Floats,
    norm_weight: Floats,
    norm_bias: Floats,
    weight_in: Floats,
    bias_in: Floats | None,
    weight_out: Floats,
    bias_out: Floats | None,
    *,
    eps: float,
    out: Floats | None = None,
) -> Floats:
    """Return ``x`` plus a feed-forward block: layer norm, linear, gelu, linear layer."""
    weights = norm_weight, norm_bias, weight_in, bias_in, weight_out, bias_out
    if not (multiplies_in_rust(b) and can_use_rust(x, *weights)):
        return write_out(feed_forward(b, x, *weights, eps=eps), out)
    made = make_out(out, x.shape, x.dtype)
    norm = to_contiguous(norm_weight), to_contiguous(norm_bias), eps
    layers = (all_contiguous(weight_in, bias_in), all_contiguous(weight_out, bias_out))
    _native.feed_forward(to_rows(x), norm, *layers, to_rows(made), b.threads)
    return write_out(made, out)


_INT8_KERNEL_TYPES = (np.dtype(np.float32), np.dtype(np.int8))


@in_float32
def numpy_linear_int8(
    b: Functions,
    x: Floats,
    weight: NDArray[np.int8],
    scale: Floats,
    factor: Floats,
    bias: Floats | None = None,
    residual: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return ``(x * factor) @ (weight * scale).T + bias + residual``."""
    layer = weight, scale, factor, bias
    if not _has_int8_kernel(x, weight, scale, factor, bias, residual):
        return write_out(linear_int8(b, x, *layer, residual), out)
    made = make_out(out, (*x.shape[:-1], weight.shape[0]), x.dtype)
    added = None if residual is None else to_rows(residual)
    _native.linear_int8(to_rows(x), all_contiguous(*layer), added, to_rows(made), b.threads)
    return write_out(made, out)


@in_float32
def numpy_rotary_linear_int8(
    b: Functions,
    x: Floats,
    weight: NDArray[np.int8],
    scale: Floats,
    factor: Floats,
    bias: Floats | None,
    cosine: Floats,
    sine: Floats,
    *,
    heads: int,
    into: Floats | None = None,
) -> tuple[Floats, Floats, Floats]:
    """Return rotary queries, keys and values as views of one array, optionally `out`."""
    layer = weight, scale, factor, bias
    if not _has_int8_kernel(x, *layer, cosine, sine):
        return rotary_linear_int8(b, x, *layer, cosine, sine, heads=heads)
    made = make_out(into, (*x.shape[:-1], weight.shape[0]), x.dtype)
    angles = to_rows(cosine), to_rows(sine)
    rows, filled = to_rows(x), to_rows(made)
    _native.rotary_linear_int8(
        rows, all_contiguous(*layer), angles, 2 * heads, filled, b.threads
    )
    return split_heads(made, heads)


@in_float32
def numpy_feed_forward_int8(
    b: Functions,
    x: Floats,
    norm_weight: Floats,
    norm_bias: Floats,
    weight_in: NDArray[np.int8],
    scale_in: Floats,
    factor_in: Floats,
    bias_in: Floats | None,
    weight_out: NDArray[np.int8],
    scale_out: Floats,
    factor_out: Floats,
    bias_out: Floats | None,
    *,
    eps: float,
    out: Floats | None = None,
) -> Floats:
    """Return ``feed_forward`` with int8 layers; hidden values remain in the CPU cache."""
    inner = weight_in, scale_in, factor_in, bias_in
    outer = weight_out, scale_out, factor_out, bias_out
    if not _has_int8_kernel(x, *inner, *outer, norm_weight, norm_bias):
        made = feed_forward_int8(b, x, norm_weight, norm_bias, *inner, *outer, eps=eps)
        return write_out(made, out)
    made = make_out(out, x.shape, x.dtype)
    norm = to_contiguous(norm_weight), to_contiguous(norm_bias), eps
    layers = all_contiguous(*inner), all_contiguous(*outer)
    _native.feed_forward_int8(to_rows(x), norm, *layers, to_rows(made), b.threads)
    return write_out(made, out)


def _has_int8_kernel(x: Floats, weight: NDArray[np.int8], *arrays: Floats | None) -> bool:
    """Return whether the int8 kernel supports the dtypes, and no array is empty."""
    given = [x, weight, *(array for array in arrays if array is not None)]
    return all(array.size and array.dtype in _INT8_KERNEL_TYPES for array in given)
