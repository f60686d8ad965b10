"""Activations and softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    fill,
    make_out,
    to_contiguous,
    widen,
    write_to,
)
from seqloom.tensor._families._rule import (
    Parts,
    Rule,
    ShapeRule,
    add_rule,
    along_axis,
    by_input,
    by_output,
    elementwise,
    reduce_axes,
    restore_axes,
)
from seqloom.tensor._operations import list_family

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Everything, Needs, OneArray

    _Kernel = Callable[..., None]


# Default bodies ------------------------------------------------------------------------


_ROOT_HALF = math.sqrt(0.5)
_DENSITY = 1.0 / math.sqrt(2.0 * math.pi)


def relu(b: Functions, x: Array) -> Array:
    """``max(x, 0)``."""
    return b.maximum(x, 0)


def relu_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """Return the derivative of ``relu`` from its output."""
    return b.where(b.less_equal(out, 0), 0, grad)  # of NaN, all of it


def sigmoid(b: Functions, x: Array) -> Array:
    """``1 / (1 + exp(-x))``, by tanh, which never overflows."""
    return b.multiply(b.add(b.tanh(b.multiply(x, 0.5)), 1.0), 0.5)


def sigmoid_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """Return the derivative of ``sigmoid`` from its output."""
    return b.multiply(grad, b.multiply(out, b.subtract(1.0, out)))


def gelu(b: Functions, x: Array) -> Array:
    """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
    return b.multiply(x, _normal_share(b, x))


def gelu_grad(b: Functions, grad: Array, x: Array) -> Array:
    """Return the derivative of ``gelu`` from its input."""
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
    """Return the derivative of ``softmax`` from its output."""
    if not out.shape:
        return _as_row(b, b.softmax_grad, grad, out, axis=axis)
    inner = b.sum(b.multiply(grad, out), axis=axis, keepdims=True)
    return b.multiply(out, b.subtract(grad, inner))


def log_softmax(b: Functions, x: Array, *, axis: int = -1) -> Array:
    """Return the logarithm of ``softmax``, without its rounding."""
    if 0 in x.shape:
        return x
    if not x.shape:
        return _as_row(b, b.log_softmax, x, axis=axis)
    return b.subtract(x, b.logsumexp(x, axis=axis, keepdims=True))


def log_softmax_grad(b: Functions, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
    """Return the derivative of ``log_softmax`` from its output."""
    if not out.shape:
        return _as_row(b, b.log_softmax_grad, grad, out, axis=axis)
    total = b.sum(grad, axis=axis, keepdims=True)
    return b.subtract(grad, b.multiply(b.exp(out), total))


def _as_row(b: Functions, function: Any, *arrays: Array, axis: int) -> Array:
    """Return a function over an axis, of single numbers: each is a row of its own."""
    rows = [b.reshape(array, (1,)) for array in arrays]
    return b.reshape(function(*rows, axis=axis), ())


def logsumexp(b: Functions, x: Array, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over an axis, several, or all."""
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
    """Return the largest value, that keeps powers small; 0 where it is infinite."""
    peak = b.stop_gradient(b.max(x, axis=axis, keepdims=True))
    return b.where(b.isfinite(peak), peak, 0.0)


def _normal_share(b: Functions, x: Array) -> Array:
    """``Phi(x)``: the share of a normal distribution below x, exact in both tails."""
    return b.multiply(b.erfc(b.multiply(x, -_ROOT_HALF)), 0.5)


# Gradient rules ------------------------------------------------------------------------


RULES: dict[str, Rule] = {}


def _silu(b: Functions, grad: Array, x: Array) -> Array:
    gate = b.sigmoid(x)
    rest = b.multiply(x, b.subtract(1, gate))
    return b.multiply(grad, b.multiply(gate, b.add(rest, 1)))


@add_rule(RULES, "sigmoid_grad", save=keep.inputs)
def _pull_sigmoid_grad(b: Functions, saved: Args, grad: Array, needs: Needs) -> Parts:
    slope, out = saved
    by_slope = b.sigmoid_grad(grad, out) if needs[0] else None
    if not needs[1]:
        return (by_slope,)
    bend = b.subtract(1, b.multiply(out, 2))
    return by_slope, b.multiply(b.multiply(grad, slope), bend)


@add_rule(RULES, "softmax", save=keep.output_and_options)
def _pull_softmax(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    out, options = saved
    return (b.softmax_grad(grad, out, axis=options.get("axis", -1)),)


@add_rule(RULES, "log_softmax", save=keep.output_and_options)
def _pull_log_softmax(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    out, options = saved
    return (b.log_softmax_grad(grad, out, axis=options.get("axis", -1)),)


@add_rule(RULES, "logsumexp", save=keep.everything)
def _pull_logsumexp(b: Functions, saved: Everything, grad: Array, _needs: Needs) -> Parts:
    (x,), out, options = saved
    shape = tuple(x.shape)
    share = b.exp(b.subtract(x, restore_axes(b, out, shape, options)))
    return (b.multiply(share, restore_axes(b, grad, shape, options)),)


RULES.update(
    {
        "sigmoid": by_output(lambda b, grad, out: b.sigmoid_grad(grad, out)),
        "relu": by_output(lambda b, grad, out: b.relu_grad(grad, out)),
        "relu_grad": Rule(
            lambda args, _out, _needs, _options: args[1],
            lambda b, out, grad, _: (b.relu_grad(grad, out),),
        ),
        "gelu": by_input(lambda b, grad, x: b.gelu_grad(grad, x)),
        "silu": by_input(_silu),
        "softplus": by_input(lambda b, grad, x: b.multiply(grad, b.sigmoid(x))),
    }
)


# Shapes --------------------------------------------------------------------------------


SHAPES: dict[str, ShapeRule] = {
    **dict.fromkeys(list_family("activations"), elementwise),
    **dict.fromkeys(("softmax", "softmax_grad"), along_axis),
    **dict.fromkeys(("log_softmax", "log_softmax_grad"), along_axis),
    "logsumexp": reduce_axes,
}


# NumPy ---------------------------------------------------------------------------------


def _by_element(kernel: _Kernel) -> Callable[..., Floats]:
    """Make NumPy's function of a kernel of one array, or of several of one shape."""

    @widen
    def call(b: Functions, x: Floats, *others: Floats, out: Floats | None = None) -> Floats:
        return fill(kernel, x, *map(to_contiguous, others), threads=b.threads, out=out)

    return call


def _by_row(kernel: _Kernel) -> Callable[..., Floats]:
    """Make NumPy's function of a kernel of the rows along an axis of its arrays."""

    @widen
    def call(
        b: Functions,
        x: Floats,
        *others: Floats,
        axis: int = -1,
        out: Floats | None = None,
    ) -> Floats:
        arrays = (x, *others)
        axis = normalize_axis_index(axis, arrays[0].ndim or 1)
        last = axis >= arrays[0].ndim - 1
        inputs = [to_contiguous(it if last else np.moveaxis(it, axis, -1)) for it in arrays]
        made = make_out(out if last else None, inputs[0].shape, inputs[0].dtype)
        kernel(*map(_rows, inputs), _rows(made), b.threads)
        return write_to(made if last else np.moveaxis(made, -1, axis), out)

    return call


def _rows(x: Floats) -> Floats:
    """Return all but the last axis as one."""
    if x.ndim == 2:  # noqa: PLR2004 - rows already
        return x
    width = x.shape[-1] if x.ndim else 1
    return x.reshape((x.size // width if width else 0, width))


numpy_relu = _by_element(_native.relu)
numpy_relu_grad = _by_element(_native.relu_grad)
numpy_gelu = _by_element(_native.gelu)
numpy_gelu_grad = _by_element(_native.gelu_grad)
numpy_sigmoid = _by_element(_native.sigmoid)
numpy_sigmoid_grad = _by_element(_native.sigmoid_grad)
numpy_silu = _by_element(_native.silu)
numpy_softmax = _by_row(_native.softmax)
numpy_softmax_grad = _by_row(_native.softmax_grad)
numpy_log_softmax = _by_row(_native.log_softmax)
numpy_log_softmax_grad = _by_row(_native.log_softmax_grad)


@widen
def numpy_logsumexp(
    b: Functions,
    x: Floats,
    *,
    axis: Any = None,
    keepdims: bool = False,
    out: Floats | None = None,
) -> Floats:
    """Logarithm of the sum of exponentials."""
    if x.dtype.kind in "biu":
        x = x.astype(b.float_dtype)
    if not isinstance(axis, int) or x.size == 0:
        return write_to(logsumexp(b, x, axis=axis, keepdims=keepdims), out)
    rows = to_contiguous(np.moveaxis(x, axis, -1))
    made = np.empty(rows.shape[:-1], x.dtype)
    _native.logsumexp(_rows(rows), made.reshape(-1), b.threads)
    return write_to(np.expand_dims(made, axis) if keepdims else made, out)
