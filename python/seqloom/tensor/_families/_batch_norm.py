"""Batch norm: each channel by the statistics of the batch, padding left out.

A mask ``(n, l)`` of ones and zeros says which positions count; the others are 0 in the
result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import Floats, Triple, fresh, widen
from seqloom.tensor._families._rule import Parts, Rule, add_rule
from seqloom.tensor._families._shape_rule import ShapeRule, like_first

if TYPE_CHECKING:
    from seqloom.tensor._element_types import Array
    from seqloom.tensor._families._functions import Functions


# Default bodies ------------------------------------------------------------------------


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


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {}


@add_rule(RULES, "batch_norm", save=keep.statistics)
def _pull_batch_norm(b: Functions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight, _bias, *mask), (mean, variance), options = saved
    mask = mask[0] if mask else None
    return b.batch_norm_grad(grad, x, weight, mask, mean, variance, eps=options["eps"])


def _keep_scaled(args: keep.Args, _out: Any, needs: keep.Needs, _options: Any) -> Any:
    """The input if the scale is followed, the scale if the input is; the mask."""
    x, scale, _shift, *mask = args
    kept = x if needs[1] else None, scale if needs[0] else None
    return *kept, mask[0] if mask else None


@add_rule(RULES, "scale_shift", save=_keep_scaled)
def _pull_scale_shift(b: Functions, saved: Any, grad: Array, needs: keep.Needs) -> Parts:
    x, scale, mask = saved
    if mask is not None:
        mask = b.expand_dims(mask, axis=1)
        padding = b.equal(mask, 0)
        grad = b.where(padding, 0.0, b.multiply(grad, mask))
        x = x if x is None else b.where(padding, 0.0, x)
    by_x = b.multiply(grad, b.reshape(scale, (-1, 1))) if needs[0] else None
    by_scale = b.sum(b.multiply(grad, x), axis=(0, 2)) if needs[1] else None
    by_shift = b.sum(grad, axis=(0, 2)) if needs[2] else None
    return by_x, by_scale, by_shift


# Shapes --------------------------------------------------------------------------------


SHAPES: dict[str, ShapeRule] = {
    "scale_shift": like_first,
}


# NumPy ---------------------------------------------------------------------------------


@widen
def numpy_batch_norm(
    b: Functions,
    x: Floats,
    weight: Floats,
    bias: Floats,
    mask: Floats | None = None,
    *,
    eps: float,
    out: Triple | None = None,
) -> Triple:
    """Normalises ``(n, c, l)`` by channel over what the mask ``(n, l)`` keeps.

    Returns:
        The output, 0 at masked positions; the means and the biased variances ``(c,)``.
    """
    x = np.ascontiguousarray(x)
    mean, variance = np.empty((2, x.shape[1]), x.dtype)
    outs = out or (fresh(x.shape, x.dtype), mean, variance)
    _native.batch_norm(x, mask, weight, bias, eps, *outs, b.threads)
    return outs


@widen
def numpy_batch_norm_grad(
    b: Functions,
    grad: Floats,
    x: Floats,
    weight: Floats,
    mask: Floats | None,
    mean: Floats,
    variance: Floats,
    *,
    eps: float,
    out: Triple | None = None,
) -> Triple:
    """The derivatives of ``batch_norm`` by its input, weight and bias."""
    x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
    by_weight, by_bias = np.empty((2, *weight.shape), x.dtype)
    outs = out or (fresh(x.shape, x.dtype), by_weight, by_bias)
    _native.batch_norm_grad(x, grad, mask, weight, mean, variance, eps, *outs, b.threads)
    return outs


@widen
def numpy_scale_shift(
    b: Functions,
    x: Floats,
    scale: Floats,
    shift: Floats,
    mask: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """``x * scale + shift`` by channel, 0 where the mask ``(n, l)`` is 0."""
    x = np.ascontiguousarray(x)
    out = fresh(x.shape, x.dtype) if out is None else out
    _native.scale_shift(x, mask, scale, shift, out, b.threads)
    return out
