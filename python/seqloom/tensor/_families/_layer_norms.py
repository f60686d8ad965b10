"""Layer norm and root mean square norm: rows of numbers with a mean and a deviation.

Statistics are further results, which no derivative follows, and are kept for the gradient
kernels. The default bodies of the derivatives compute them again from the input, so that
they can be differentiated themselves.
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
    make_out,
    to_contiguous,
    widen,
    write_each,
)
from seqloom.tensor._families._rule import Parts, Rule, add_rule

if TYPE_CHECKING:
    from seqloom.tensor._element_types import Array
    from seqloom.tensor._families._functions import Functions


# Default bodies ------------------------------------------------------------------------


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
    # Standardised rows and 1 / deviation from the input; of rstd only eps is taken.
    del mean
    variance = b.var(b.stop_gradient(x), axis=-1, keepdims=True)
    scaled, _, rstd = _standardise(b, x, _eps(b, variance, rstd))
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


def _eps(b: Functions, variance: Array, rstd: Array) -> Array:
    """What had been added to the variance, a constant: ``rstd**-2 - variance``."""
    rstd = b.stop_gradient(b.expand_dims(rstd, axis=-1))
    inverse = b.reciprocal(b.square(rstd))
    return b.subtract(inverse, b.stop_gradient(variance))


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {}


@add_rule(RULES, "layer_norm", save=keep.statistics)
def _pull_layer_norm(b: Functions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight, *_), (mean, rstd), _ = saved
    return b.layer_norm_grad(grad, x, weight, mean, rstd)


@add_rule(RULES, "rms_norm", save=keep.statistics)
def _pull_rms_norm(b: Functions, saved: Any, grad: Array, _needs: keep.Needs) -> Parts:
    (x, weight), (rstd,), _ = saved
    return b.rms_norm_grad(grad, x, weight, rstd)


# NumPy ---------------------------------------------------------------------------------


@widen
def numpy_layer_norm(
    b: Functions,
    x: Floats,
    weight: Floats | None,
    bias: Floats | None,
    *,
    eps: float,
    out: Triple | None = None,
) -> Triple:
    """The result, and the mean and 1 / deviation of each row (Ba et al. 2016)."""
    if x.size == 0:
        return write_each(layer_norm(b, x, weight, bias, eps=eps), out)
    into = out or (None, None, None)
    return write_each(_normalise(b, x, weight, _row(bias, x, 0), eps, into), out)


@widen
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
    """The derivatives of ``layer_norm`` by its input, weight and bias."""
    if x.size == 0:
        return write_each(layer_norm_grad(b, grad, x, weight, mean, rstd), out)
    parts = _rows_grad(b, grad, x, weight, mean, rstd, out or (None, None, None))
    return write_each(parts, out)


@widen
def numpy_rms_norm(
    b: Functions, x: Floats, weight: Floats | None, *, eps: float, out: Pair | None = None
) -> Pair:
    """The result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
    if x.size == 0:
        return write_each(rms_norm(b, x, weight, eps=eps), out)
    into, inverses = out or (None, None)
    made, _, rstd = _normalise(b, x, weight, None, eps, (into, None, inverses))
    return write_each((made, rstd), out)


@widen
def numpy_rms_norm_grad(
    b: Functions,
    grad: Floats,
    x: Floats,
    weight: Floats | None,
    rstd: Floats,
    *,
    out: Pair | None = None,
) -> Pair:
    """The derivatives of ``rms_norm`` by its input and weight."""
    if x.size == 0:
        return write_each(rms_norm_grad(b, grad, x, weight, rstd), out)
    into = (*(out or (None, None)), None)
    parts = _rows_grad(b, grad, x, weight, None, rstd, into)
    return write_each(parts[:2], out)


def _rows_grad(
    b: Functions, grad: Floats, x: Floats, weight: Any, mean: Any, rstd: Floats, out: Any
) -> Triple:
    """The derivatives by input, weight and bias, of either norm."""
    x, grad, width = to_contiguous(x), to_contiguous(grad), x.shape[-1]
    made = make_out(out[0], x.shape, x.dtype)
    by_weight, by_bias = (make_out(array, (width,), x.dtype) for array in out[1:])
    rows = grad.reshape((-1, width)), x.reshape((-1, width)), _row(weight, x, 1)
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
    """The rows, and two statistics of each."""
    x, width = to_contiguous(x), x.shape[-1]
    made = make_out(out[0], x.shape, x.dtype)
    mean, rstd = (make_out(array, x.shape[:-1], x.dtype) for array in out[1:])
    rows, scale = x.reshape((-1, width)), _row(weight, x, 1)
    into = made.reshape((-1, width)), mean.reshape(-1), rstd.reshape(-1)
    _native.normalise_rows(rows, scale, bias, eps, *into, b.threads)
    return made, mean, rstd


def _row(values: Floats | None, x: Floats, default: int) -> Floats:
    """One number for each column."""
    if values is not None:
        return to_contiguous(values)
    filled: Any = np.full(x.shape[-1], default, x.dtype)
    return filled
