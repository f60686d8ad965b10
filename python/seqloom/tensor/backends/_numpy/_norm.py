"""Normalisation, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import make_out, to_contiguous, write_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]
    Pair = tuple[Floats, Floats]
    Triple = tuple[Floats, Floats, Floats]


def layer_norm(
    b: Backend,
    x: Floats,
    weight: Floats | None,
    bias: Floats | None,
    *,
    eps: float,
    out: Triple | None = None,
) -> Triple:
    """The result, and the mean and 1 / deviation of each row (Ba et al. 2016)."""
    if x.size == 0:
        return _each_placed(Backend.layer_norm(b, x, weight, bias, eps=eps), out)
    x = to_contiguous(x)
    outs = _result(x, out or (None, None, None))
    affine = _row(weight, x, 1), _row(bias, x, 0)
    _normalise(_native.normalise_rows, x, affine, eps, outs, b.threads)
    return _each_placed(outs, out)


def layer_norm_grad(
    b: Backend,
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
        return _each_placed(Backend.layer_norm_grad(b, grad, x, weight, mean, rstd), out)
    parts = _rows_grad(b, grad, x, weight, mean, rstd, out or (None, None, None))
    return _each_placed(parts, out)


def rms_norm(
    b: Backend, x: Floats, weight: Floats | None, *, eps: float, out: Pair | None = None
) -> Pair:
    """The result and 1 / root mean square of each row (Zhang and Sennrich 2019)."""
    if x.size == 0:
        return _each_placed(Backend.rms_norm(b, x, weight, eps=eps), out)
    x, (into, inverses) = to_contiguous(x), out or (None, None)
    made, mean, rstd = outs = _result(x, (into, None, inverses))
    affine = _row(weight, x, 1), None
    _normalise(_native.normalise_rows, x, affine, eps, outs, b.threads)
    del mean
    return _each_placed((made, rstd), out)


def rms_norm_grad(
    b: Backend,
    grad: Floats,
    x: Floats,
    weight: Floats | None,
    rstd: Floats,
    *,
    out: Pair | None = None,
) -> Pair:
    """The derivatives of ``rms_norm`` by its input and weight."""
    if x.size == 0:
        return _each_placed(Backend.rms_norm_grad(b, grad, x, weight, rstd), out)
    into = (*(out or (None, None)), None)
    parts = _rows_grad(b, grad, x, weight, None, rstd, into)
    return _each_placed(parts[:2], out)


def _rows_grad(
    b: Backend, grad: Floats, x: Floats, weight: Any, mean: Any, rstd: Floats, out: Any
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


def batch_norm(
    b: Backend,
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


def batch_norm_grad(
    b: Backend,
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


def scale_shift(
    b: Backend,
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


def _normalise(
    kernel: Any, x: Floats, affine: Any, eps: float, outs: Triple, threads: int
) -> None:
    """Runs the kernel over rows."""
    width = x.shape[-1]
    made, mean, rstd = outs
    into = made.reshape((-1, width)), mean.reshape(-1), rstd.reshape(-1)
    kernel(x.reshape((-1, width)), *affine, eps, *into, threads)


def _result(x: Floats, out: Any) -> Triple:
    """Room for the rows, and for two numbers of each."""
    made = make_out(out[0], x.shape, x.dtype)
    mean, rstd = (make_out(array, x.shape[:-1], x.dtype) for array in out[1:])
    return made, mean, rstd


def _row(values: Floats | None, x: Floats, default: int) -> Floats:
    """One number for each column."""
    if values is not None:
        return to_contiguous(values)
    filled: Any = np.full(x.shape[-1], default, x.dtype)
    return filled


def _each_placed(made: Any, out: Any) -> Any:
    """What a kernel made, in the given arrays where there are some."""
    if out is None:
        return made
    return tuple(write_to(array, into) for array, into in zip(made, out, strict=True))
