"""Batch norm: each channel by the statistics of the batch, padding left out.

A mask ``(n, l)`` of ones and zeros says which positions count; the others are 0 in the
result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def batch_norm(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array,
    mask: Array | None = None,
    *,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The result, the means and the biased variances ``(c,)``."""
    x = _apply_mask(b, x, mask)
    mean = _channel_mean(b, x, mask)
    centred = b.subtract(x, _wide(b, x, mean))
    variance = _channel_mean(b, b.square(centred), mask)
    scale = b.multiply(b.rsqrt(b.add(variance, eps)), weight)
    out = b.multiply(centred, _wide(b, x, scale))
    out = b.add(out, _wide(b, x, bias))
    return _apply_mask(b, out, mask), mean, variance


def batch_norm_grad(
    b: Functions,
    grad: Array,
    x: Array,
    weight: Array,
    mask: Array | None,
    mean: Array,
    variance: Array,
    *,
    eps: float,
) -> tuple[Array, Array, Array]:
    """The derivatives of ``batch_norm`` by its input, weight and bias."""
    x = _apply_mask(b, x, mask)
    mean = _channel_mean(b, x, mask)
    centred = b.subtract(x, _wide(b, x, mean))
    variance = _channel_mean(b, b.square(centred), mask)
    rstd = b.rsqrt(b.add(variance, eps))
    scaled = b.multiply(centred, _wide(b, x, rstd))
    grad = _apply_mask(b, grad, mask)
    slope = _channel_mean(b, b.multiply(grad, scaled), mask)
    rest = b.subtract(grad, _wide(b, x, _channel_mean(b, grad, mask)))
    rest = b.subtract(rest, b.multiply(scaled, _wide(b, x, slope)))
    by_x = b.multiply(rest, _wide(b, x, b.multiply(rstd, weight)))
    axes = (0, *range(2, len(x.shape)))
    by_weight = b.sum(b.multiply(grad, scaled), axis=axes)
    return _apply_mask(b, by_x, mask), by_weight, b.sum(grad, axis=axes)


def scale_shift(
    b: Functions, x: Array, scale: Array, shift: Array, mask: Array | None = None
) -> Array:
    """``x * scale + shift`` by channel, 0 where the mask ``(n, l)`` is 0."""
    out = b.multiply(x, _wide(b, x, scale))
    return _apply_mask(b, b.add(out, _wide(b, x, shift)), mask)


def _wide(b: Functions, x: Array, channels: Array) -> Array:
    """A number for each channel, shaped to meet ``(n, c, …)``."""
    return b.reshape(channels, (-1, *(1 for _ in x.shape[2:])))


def _apply_mask(b: Functions, x: Array, mask: Array | None) -> Array:
    """Zero where the mask is, NaN or not."""
    if mask is None:
        return x
    mask = b.expand_dims(mask, axis=1)
    return b.where(b.equal(mask, 0), 0.0, b.multiply(x, mask))


def _channel_mean(b: Functions, x: Array, mask: Array | None) -> Array:
    """The mean of each channel over the positions that count."""
    axes = (0, *range(2, len(x.shape)))
    if mask is None:
        return b.mean(x, axis=axes)
    positions = b.maximum(b.sum(mask), 1.0)
    return b.divide(b.sum(_apply_mask(b, x, mask), axis=axes), positions)
