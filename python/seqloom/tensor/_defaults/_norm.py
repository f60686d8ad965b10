"""Normalisation: numbers with a mean and a deviation.

Statistics are further results, which no derivative follows; the derivatives here
compute them again from the input, so that they can be differentiated themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions


def layer_norm(
    b: Functions, x: Array, weight: Array | None, bias: Array | None, *, eps: float
) -> tuple[Array, Array, Array]:
    """The result, and the mean and 1 / deviation of each row (Ba et al. 2016)."""
    scaled, mean, rstd = _standardise(b, x, eps)
    out = scaled if weight is None else b.multiply(scaled, weight)
    out = out if bias is None else b.add(out, bias)
    return out, b.squeeze(mean, axis=-1), b.squeeze(rstd, axis=-1)


def layer_norm_grad(
    b: Functions, grad: Array, x: Array, weight: Array | None, mean: Array, rstd: Array
) -> tuple[Array, Array, Array]:
    """The derivatives of ``layer_norm`` by its input, weight and bias."""
    scaled, rstd = _again(b, x, mean, rstd)
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
    """The result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
    power = b.mean(b.square(x), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(power, eps))
    out = b.multiply(x, rstd)
    out = out if weight is None else b.multiply(out, weight)
    return out, b.squeeze(rstd, axis=-1)


def rms_norm_grad(
    b: Functions, grad: Array, x: Array, weight: Array | None, rstd: Array
) -> tuple[Array, Array]:
    """The derivatives of ``rms_norm`` by its input and weight."""
    power = b.mean(b.square(x), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(power, _eps(b, power, rstd)))
    scaled = b.multiply(x, rstd)
    inward = grad if weight is None else b.multiply(grad, weight)
    slope = b.mean(b.multiply(inward, scaled), axis=-1, keepdims=True)
    rest = b.subtract(inward, b.multiply(scaled, slope))
    rows = tuple(range(len(x.shape) - 1))
    return b.multiply(rest, rstd), b.sum(b.multiply(grad, scaled), axis=rows)


def _standardise(b: Functions, x: Array, eps: Any) -> tuple[Array, Array, Array]:
    """Rows of mean 0 and deviation 1, with their mean and 1 / deviation."""
    mean = b.mean(x, axis=-1, keepdims=True)
    centred = b.subtract(x, mean)
    variance = b.mean(b.square(centred), axis=-1, keepdims=True)
    rstd = b.rsqrt(b.add(variance, eps))
    return b.multiply(centred, rstd), mean, rstd


def _again(b: Functions, x: Array, mean: Array, rstd: Array) -> tuple[Array, Array]:
    """Standardised rows and 1 / deviation from the input; of rstd only eps is taken."""
    del mean
    variance = b.var(b.stop_gradient(x), axis=-1, keepdims=True)
    scaled, _, rstd = _standardise(b, x, _eps(b, variance, rstd))
    return scaled, rstd


def _eps(b: Functions, variance: Array, rstd: Array) -> Array:
    """What had been added to the variance, a constant: ``rstd**-2 - variance``."""
    rstd = b.stop_gradient(b.expand_dims(rstd, axis=-1))
    inverse = b.reciprocal(b.square(rstd))
    return b.subtract(inverse, b.stop_gradient(variance))
