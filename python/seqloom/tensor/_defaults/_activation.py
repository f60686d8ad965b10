"""Activations, and what turns scores into shares."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def relu(b: Functions, x: Array) -> Array:
    """``max(x, 0)``."""
    return b.maximum(x, 0)


def relu_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """The derivative of ``relu`` from its output."""
    return b.where(b.less_equal(out, 0), 0, grad)  # of NaN, all of it


def sigmoid(b: Functions, x: Array) -> Array:
    """``1 / (1 + exp(-x))``, by tanh, which never overflows."""
    return b.multiply(b.add(b.tanh(b.multiply(x, 0.5)), 1.0), 0.5)


def sigmoid_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """The derivative of ``sigmoid`` from its output."""
    return b.multiply(grad, b.multiply(out, b.subtract(1.0, out)))


def gelu(b: Functions, x: Array) -> Array:
    """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
    return b.multiply(x, _normal_share(b, x))


def gelu_grad(b: Functions, grad: Array, x: Array) -> Array:
    """The derivative of ``gelu`` from its input."""
    density = b.multiply(b.exp(b.multiply(b.square(x), -0.5)), _DENSITY)
    slope = b.add(_normal_share(b, x), b.multiply(x, density))
    return b.multiply(grad, slope)


def silu(b: Functions, x: Array) -> Array:
    """``x * sigmoid(x)``."""
    return b.multiply(x, b.sigmoid(x))


def softplus(b: Functions, x: Array) -> Array:
    """``log(1 + exp(x))``, without overflow."""
    return b.logaddexp(x, 0.0)


def softmax(b: Functions, x: Array, *, axis: int = -1) -> Array:
    """Exponentials along an axis, divided by their sum."""
    if 0 in x.shape:
        return x
    if not x.shape:
        return _as_row(b, b.softmax, x, axis=axis)
    powers = b.exp(b.subtract(x, _peak(b, x, axis)))
    return b.divide(powers, b.sum(powers, axis=axis, keepdims=True))


def softmax_grad(b: Functions, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
    """The derivative of ``softmax`` from its output."""
    if not out.shape:
        return _as_row(b, b.softmax_grad, grad, out, axis=axis)
    inner = b.sum(b.multiply(grad, out), axis=axis, keepdims=True)
    return b.multiply(out, b.subtract(grad, inner))


def log_softmax(b: Functions, x: Array, *, axis: int = -1) -> Array:
    """The logarithm of ``softmax``, without its rounding."""
    if 0 in x.shape:
        return x
    if not x.shape:
        return _as_row(b, b.log_softmax, x, axis=axis)
    return b.subtract(x, b.logsumexp(x, axis=axis, keepdims=True))


def log_softmax_grad(b: Functions, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
    """The derivative of ``log_softmax`` from its output."""
    if not out.shape:
        return _as_row(b, b.log_softmax_grad, grad, out, axis=axis)
    total = b.sum(grad, axis=axis, keepdims=True)
    return b.subtract(grad, b.multiply(b.exp(out), total))


def _as_row(b: Functions, function: Any, *arrays: Array, axis: int) -> Array:
    """A function over an axis, of single numbers: each is a row of its own."""
    rows = [b.reshape(array, (1,)) for array in arrays]
    return b.reshape(function(*rows, axis=axis), ())


def logsumexp(b: Functions, x: Array, *, axis: Any = None, keepdims: bool = False) -> Array:
    """The logarithm of the sum of exponentials over an axis, several, or all."""
    if 0 in x.shape:  # nothing has a peak, and its sum is 0
        total = b.sum(x, axis=axis, keepdims=keepdims)
        return b.log(total)
    peak = _peak(b, x, axis)
    total = b.sum(b.exp(b.subtract(x, peak)), axis=axis, keepdims=True)
    out = b.add(b.log(total), peak)
    if keepdims:
        return out
    axes = tuple(range(len(x.shape))) if axis is None else axis
    return b.squeeze(out, axis=axes)


def _peak(b: Functions, x: Array, axis: Any) -> Array:
    """The largest value, that keeps powers small; 0 where it is infinite."""
    peak = b.stop_gradient(b.max(x, axis=axis, keepdims=True))
    return b.where(b.isfinite(peak), peak, 0.0)


def _normal_share(b: Functions, x: Array) -> Array:
    """``Phi(x)``: the share of a normal distribution below x, exact in both tails."""
    return b.multiply(b.erfc(b.multiply(x, -_ROOT_HALF)), 0.5)
