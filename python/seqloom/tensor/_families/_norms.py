"""Batch norm, layer norm and root mean square norm.

The forward functions also return statistics, which the default gradients compute again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    Pair,
    Triple,
    allocate,
    in_float32,
    make_out,
    to_contiguous,
    write_outs,
)
from seqloom.tensor._families._rule import Parts, Rule, ShapeRule, add_grad, infer_same_spec

if TYPE_CHECKING:
    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Needs, Options, Statistics


# Default implementations ---------------------------------------------------------------


def layer_norm(
    b: Functions, x: Array, weight: Array | None, bias: Array | None, *, eps: float
) -> tuple[Array, Array, Array]:
    """Return the result, and the mean and 1 / std of each row (Ba et al., 2016)."""
    scaled, mean, rstd = _standardise(b, x, eps)
    out = scaled if weight is None else b.multiply(scaled, weight)
    out = out if bias is None else b.add(out, bias)
    return out, b.squeeze(mean, axis=-1), b.squeeze(rstd, axis=-1)


def layer_norm_grad(
    b: Functions, grad: Array, x: Array, weight: Array | None, mean: Array, rstd: Array
) -> tuple[Array, Array, Array]:
    """Return the gradients of ``layer_norm`` with respect to input, weight and bias."""
    # Computes the statistics from the input again; uses `rstd` only to derive eps.
    del mean
    variance = b.var(b.stop_gradient(x), axis=-1, keepdims=True)
    scaled, _, rstd = _standardise(b, x, _recover_eps(b, variance, rstd))
    inward = grad if weight is None else b.multiply(grad, weight)
    centre = b.mean(inward, axis=-1, keepdims=True)
    slope = b.mean(b.multiply(inward, scaled), axis=-1, keepdims=True)
    rest = b.subtract(b.subtract(inward, centre), b.multiply(scaled, slope))
    rows = tuple(range(len(x.shape) - 1))
    by_weight = b.sum(b.multiply(grad, scaled), axis=rows)
    return b.multiply(rest, rstd), by_weight, b.sum(grad, axis=rows)


def rms_norm(
    b: Functions, x: Array, weight: Array | None, *, eps: float
) -> tuple[Array, Array]:
    """Return the result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
    power = b.mean(b.square(x), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(power, eps))
    out = b.multiply(x, rstd)
    out = out if weight is None else b.multiply(out, weight)
    return out, b.squeeze(rstd, axis=-1)


def rms_norm_grad(
    b: Functions, grad: Array, x: Array, weight: Array | None, rstd: Array
) -> tuple[Array, Array]:
    """Return the gradients of ``rms_norm`` with respect to input and weight."""
    power = b.mean(b.square(x), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(power, _recover_eps(b, power, rstd)))
    scaled = b.multiply(x, rstd)
    inward = grad if weight is None else b.multiply(grad, weight)
    slope = b.mean(b.multiply(inward, scaled), axis=-1, keepdims=True)
    rest = b.subtract(inward, b.multiply(scaled, slope))
    rows = tuple(range(len(x.shape) - 1))
    return b.multiply(rest, rstd), b.sum(b.multiply(grad, scaled), axis=rows)


def _standardise(b: Functions, x: Array, eps: Any) -> tuple[Array, Array, Array]:
    """Return rows of mean 0 and variance 1, and the old mean and 1 / std."""
    mean = b.mean(x, axis=-1, keepdims=True)
    centred = b.subtract(x, mean)
    variance = b.mean(b.square(centred), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(variance, eps))
    return b.multiply(centred, rstd), mean, rstd


def _recover_eps(b: Functions, variance: Array, rstd: Array) -> Array:
    """Return eps, the constant that was added to the variance."""
    rstd = b.stop_gradient(b.expand_dims(rstd, axis=-1))
    inverse = b.reciprocal(b.square(rstd))
    return b.subtract(inverse, b.stop_gradient(variance))


def batch_norm(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array,
    mask: Array | None = None,
    *,
    eps: float,
) -> tuple[Array, Array, Array]:
    """Return the result, the means and the biased variances ``(c,)``."""
    x = _apply_mask(b, x, mask)
    mean = _compute_channel_mean(b, x, mask)
    centred = b.subtract(x, _to_channels(b, x, mean))
    variance = _compute_channel_mean(b, b.square(centred), mask)
    scale = b.multiply(b.rsqrt(b.add(variance, eps)), weight)
    out = b.multiply(centred, _to_channels(b, x, scale))
    out = b.add(out, _to_channels(b, x, bias))
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
    """Return the gradients of ``batch_norm`` with respect to input, weight and bias."""
    x = _apply_mask(b, x, mask)
    mean = _compute_channel_mean(b, x, mask)
    centred = b.subtract(x, _to_channels(b, x, mean))
    variance = _compute_channel_mean(b, b.square(centred), mask)
    rstd = b.rsqrt(b.add(variance, eps))
    scaled = b.multiply(centred, _to_channels(b, x, rstd))
    grad = _apply_mask(b, grad, mask)
    slope = _compute_channel_mean(b, b.multiply(grad, scaled), mask)
    rest = b.subtract(grad, _to_channels(b, x, _compute_channel_mean(b, grad, mask)))
    rest = b.subtract(rest, b.multiply(scaled, _to_channels(b, x, slope)))
    by_x = b.multiply(rest, _to_channels(b, x, b.multiply(rstd, weight)))
    axes = (0, *range(2, len(x.shape)))
    by_weight = b.sum(b.multiply(grad, scaled), axis=axes)
    return _apply_mask(b, by_x, mask), by_weight, b.sum(grad, axis=axes)


def scale_shift(
    b: Functions, x: Array, scale: Array, shift: Array, mask: Array | None = None
) -> Array:
    """Return ``x * scale + shift`` per channel; 0 where the mask ``(n, l)`` is 0."""
    out = b.multiply(x, _to_channels(b, x, scale))
    return _apply_mask(b, b.add(out, _to_channels(b, x, shift)), mask)


def _to_channels(b: Functions, x: Array, channels: Array) -> Array:
    """Reshape one number per channel so that it broadcasts with ``(n, c, …)``."""
    return b.reshape(channels, (-1, *(1 for _ in x.shape[2:])))


def _apply_mask(b: Functions, x: Array, mask: Array | None) -> Array:
    """Multiply by a mask; where the mask is 0, the result is 0 even for NaN."""
    if mask is None:
        return x
    mask = b.expand_dims(mask, axis=1)
    return b.where(b.equal(mask, 0), 0.0, b.multiply(x, mask))


def _compute_channel_mean(b: Functions, x: Array, mask: Array | None) -> Array:
    """Return the mean of each channel over the unmasked positions."""
    axes = (0, *range(2, len(x.shape)))
    if mask is None:
        return b.mean(x, axis=axes)
    positions = b.maximum(b.sum(mask), 1.0)
    return b.divide(b.sum(_apply_mask(b, x, mask), axis=axes), positions)


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


@add_grad(GRAD_RULES, "layer_norm", save=keep.save_statistics)
def _grad_layer_norm(b: Functions, saved: Statistics, grad: Array, _needs: Needs) -> Parts:
    (x, weight, *_), (mean, rstd), _ = saved
    return b.layer_norm_grad(grad, x, weight, mean, rstd)


@add_grad(GRAD_RULES, "rms_norm", save=keep.save_statistics)
def _grad_rms_norm(b: Functions, saved: Statistics, grad: Array, _needs: Needs) -> Parts:
    (x, weight), (rstd,), _ = saved
    return b.rms_norm_grad(grad, x, weight, rstd)


@add_grad(GRAD_RULES, "batch_norm", save=keep.save_statistics)
def _grad_batch_norm(b: Functions, saved: Statistics, grad: Array, _needs: Needs) -> Parts:
    (x, weight, _bias, *mask), (mean, variance), options = saved
    mask = mask[0] if mask else None
    return b.batch_norm_grad(grad, x, weight, mask, mean, variance, eps=options["eps"])


def _save_factors(args: Args, _out: Array, needs: Needs, _options: Options) -> Any:
    """Save the factors that the gradients of tracked inputs need, and the mask."""
    x, scale, _shift, *mask = args
    kept = x if needs[1] else None, scale if needs[0] else None
    return *kept, mask[0] if mask else None


@add_grad(GRAD_RULES, "scale_shift", save=_save_factors)
def _grad_scale_shift(b: Functions, saved: Any, grad: Array, needs: Needs) -> Parts:
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


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {"scale_shift": infer_same_spec}


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_layer_norm(
    b: Functions,
    x: Floats,
    weight: Floats | None,
    bias: Floats | None,
    *,
    eps: float,
    out: Triple | None = None,
) -> Triple:
    """Return the result, and the mean and 1 / std of each row (Ba et al., 2016)."""
    if x.size == 0:
        return write_outs(layer_norm(b, x, weight, bias, eps=eps), out)
    into = out or (None, None, None)
    return write_outs(_normalise(b, x, weight, _fill_columns(bias, x, 0), eps, into), out)


@in_float32
def numpy_layer_norm_grad(
    b: Functions,
    grad: Floats,
    x: Floats,
    weight: Floats | None,
    mean: Floats,
    rstd: Floats,
    *,
    out: Triple | None = None,
) -> Triple:
    """Return the gradients of ``layer_norm`` with respect to input, weight and bias."""
    if x.size == 0:
        return write_outs(layer_norm_grad(b, grad, x, weight, mean, rstd), out)
    parts = _grad_row_norm(b, grad, x, weight, mean, rstd, out or (None, None, None))
    return write_outs(parts, out)


@in_float32
def numpy_rms_norm(
    b: Functions, x: Floats, weight: Floats | None, *, eps: float, out: Pair | None = None
) -> Pair:
    """Return the result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
    if x.size == 0:
        return write_outs(rms_norm(b, x, weight, eps=eps), out)
    into, inverses = out or (None, None)
    made, _, rstd = _normalise(b, x, weight, None, eps, (into, None, inverses))
    return write_outs((made, rstd), out)


@in_float32
def numpy_rms_norm_grad(
    b: Functions,
    grad: Floats,
    x: Floats,
    weight: Floats | None,
    rstd: Floats,
    *,
    out: Pair | None = None,
) -> Pair:
    """Return the gradients of ``rms_norm`` with respect to input and weight."""
    if x.size == 0:
        return write_outs(rms_norm_grad(b, grad, x, weight, rstd), out)
    into = (*(out or (None, None)), None)
    parts = _grad_row_norm(b, grad, x, weight, None, rstd, into)
    return write_outs(parts[:2], out)


def _grad_row_norm(
    b: Functions, grad: Floats, x: Floats, weight: Any, mean: Any, rstd: Floats, out: Any
) -> Triple:
    """Return the gradients of layer norm or RMS norm."""
    x, grad, width = to_contiguous(x), to_contiguous(grad), x.shape[-1]
    made = make_out(out[0], x.shape, x.dtype)
    by_weight, by_bias = (make_out(array, (width,), x.dtype) for array in out[1:])
    rows = grad.reshape((-1, width)), x.reshape((-1, width)), _fill_columns(weight, x, 1)
    mean = None if mean is None else to_contiguous(mean).reshape(-1)
    statistics = mean, to_contiguous(rstd).reshape(-1)
    outs = made.reshape((-1, width)), by_weight, by_bias
    _native.normalise_rows_grad(*rows, *statistics, *outs, b.threads)
    return made, by_weight, by_bias


def _normalise(
    b: Functions,
    x: Floats,
    weight: Floats | None,
    bias: Floats | None,
    eps: float,
    out: Any,
) -> Triple:
    """Return the normalised rows, and the mean and 1 / std of each row."""
    x, width = to_contiguous(x), x.shape[-1]
    made = make_out(out[0], x.shape, x.dtype)
    mean, rstd = (make_out(array, x.shape[:-1], x.dtype) for array in out[1:])
    rows, scale = x.reshape((-1, width)), _fill_columns(weight, x, 1)
    into = made.reshape((-1, width)), mean.reshape(-1), rstd.reshape(-1)
    _native.normalise_rows(rows, scale, bias, eps, *into, b.threads)
    return made, mean, rstd


def _fill_columns(values: Floats | None, x: Floats, default: int) -> Floats:
    """Return the values, one per column; for None, an array filled with `default`."""
    if values is not None:
        return to_contiguous(values)
    filled: Any = np.full(x.shape[-1], default, x.dtype)
    return filled


@in_float32
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
    """Return ``(n, c, l)`` normalised per channel over the unmasked positions.

    Returns:
        The output (0 at masked positions), the means and the biased variances ``(c,)``.
    """
    x, mask = np.ascontiguousarray(x), _make_contiguous(mask)
    mean, variance = np.empty((2, x.shape[1]), x.dtype)
    outs = out or (allocate(x.shape, x.dtype), mean, variance)
    _native.batch_norm(x, mask, weight, bias, eps, *outs, b.threads)
    return outs


@in_float32
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
    """Return the gradients of ``batch_norm`` with respect to input, weight and bias."""
    x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
    mask = _make_contiguous(mask)
    by_weight, by_bias = np.empty((2, *weight.shape), x.dtype)
    outs = out or (allocate(x.shape, x.dtype), by_weight, by_bias)
    _native.batch_norm_grad(x, grad, mask, weight, mean, variance, eps, *outs, b.threads)
    return outs


@in_float32
def numpy_scale_shift(
    b: Functions,
    x: Floats,
    scale: Floats,
    shift: Floats,
    mask: Floats | None = None,
    *,
    out: Floats | None = None,
) -> Floats:
    """Return ``x * scale + shift`` per channel; 0 where the mask ``(n, l)`` is 0."""
    x, mask = np.ascontiguousarray(x), _make_contiguous(mask)
    out = allocate(x.shape, x.dtype) if out is None else out
    _native.scale_shift(x, mask, scale, shift, out, b.threads)
    return out


def _make_contiguous(mask: Floats | None) -> Floats | None:
    """Return a contiguous mask, as the kernels require."""
    return None if mask is None else np.ascontiguousarray(mask)
