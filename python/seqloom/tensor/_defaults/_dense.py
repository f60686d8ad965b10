"""Linear layers over rows, with what stands before and after them in a transformer."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def linear_by_row(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    residual: Array | None = None,
) -> Array:
    """``x @ weight.T + bias + residual``, on NumPy the same bits for a row alone."""
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
    """Queries, keys and values, the first two turned by angles (Su et al. 2021).

    Args:
        b: The backend.
        x: ``(..., in)``.
        weight: ``(3 * heads * d, in)``: rows of queries, of keys and of values.
        bias: ``(3 * heads * d,)``, or None.
        cosine: The angles' cosines ``(..., d / 2)``: one angle for each number of the first
            half of a head and its partner in the second half.
        sine: Their sines.
        heads: Number of heads.

    Returns:
        Three times ``(..., heads, d)``.
    """
    width = weight.shape[0] // (3 * heads)
    parts = b.reshape(b.linear(x, weight, bias), (*x.shape[:-1], 3, heads, width))
    q, k, v = b.unstack(parts, axis=-3)
    return _turn(b, q, cosine, sine), _turn(b, k, cosine, sine), v


def _turn(b: Functions, x: Array, cosine: Array, sine: Array) -> Array:
    """Turns pairs of numbers; those of half precision in the angles' own."""
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
    """``x`` plus its layer norm after a linear layer, gelu and another linear layer."""
    normal = b.layer_norm(x, norm_weight, norm_bias, eps=eps)[0]
    hidden = b.gelu(b.linear(normal, weight_in, bias_in))
    return b.add(x, b.linear(hidden, weight_out, bias_out))
