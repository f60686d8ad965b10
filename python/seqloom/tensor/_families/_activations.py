"""Activation functions and softmax."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import (
    Floats,
    in_float32,
    make_out,
    run_kernel,
    to_contiguous,
    write_out,
)
from seqloom.tensor._families._rule import (
    Parts,
    Rule,
    ShapeRule,
    add_grad,
    infer_along_axis,
    infer_broadcast,
    infer_reduced,
    restore_axes,
    rule_from_input,
    rule_from_output,
)
from seqloom.tensor._operations import list_family

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Args, Everything, Needs, OneArray

    _Kernel = Callable[..., None]


# Default implementations ---------------------------------------------------------------


_SQRT_HALF = math.sqrt(0.5)
_NORMAL_DENSITY_FACTOR = 1.0 / math.sqrt(2.0 * math.pi)


def relu(b: Functions, x: Array) -> Array:
    """Return ``max(x, 0)``."""
    return b.maximum(x, 0)


def relu_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """Return the gradient of ``relu``, computed from its output."""
    # Where the input is NaN, the gradient passes unchanged.
    return b.where(b.less_equal(out, 0), 0, grad)


def sigmoid(b: Functions, x: Array) -> Array:
    """Return ``1 / (1 + exp(-x))``, computed with tanh, which never overflows."""
    return b.multiply(b.add(b.tanh(b.multiply(x, 0.5)), 1.0), 0.5)


def sigmoid_grad(b: Functions, grad: Array, out: Array, /) -> Array:
    """Return the gradient of ``sigmoid``, computed from its output."""
    return b.multiply(grad, b.multiply(out, b.subtract(1.0, out)))


def gelu(b: Functions, x: Array) -> Array:
    """Return ``x * Phi(x)``, where Phi is the normal CDF (Hendrycks and Gimpel 2016)."""
    return b.multiply(x, _normal_cdf(b, x))


def gelu_grad(b: Functions, grad: Array, x: Array) -> Array:
    """Return the gradient of ``gelu``, computed from its input."""
    density = b.multiply(b.exp(b.multiply(b.square(x), -0.5)), _NORMAL_DENSITY_FACTOR)
    slope = b.add(_normal_cdf(b, x), b.multiply(x, density))
    return b.multiply(grad, slope)


def silu(b: Functions, x: Array) -> Array:
    """Return ``x * sigmoid(x)``."""
    return b.multiply(x, b.sigmoid(x))


def softplus(b: Functions, x: Array) -> Array:
    """Return ``log(1 + exp(x))``, without overflow."""
    return b.logaddexp(x, 0.0)


def softmax(b: Functions, x: Array, *, axis: int = -1) -> Array:
    """Return the exponentials along an axis, divided by their sum."""
    if 0 in x.shape:
        return x
    if not x.shape:
        return _apply_to_scalars(b, b.softmax, x, axis=axis)
    powers = b.exp(b.subtract(x, _finite_max(b, x, axis)))
    return b.divide(powers, b.sum(powers, axis=axis, keepdims=True))


def softmax_grad(b: Functions, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
    """Return the gradient of ``softmax``, computed from its output."""
    if not out.shape:
        return _apply_to_scalars(b, b.softmax_grad, grad, out, axis=axis)
    inner = b.sum(b.multiply(grad, out), axis=axis, keepdims=True)
    return b.multiply(out, b.subtract(grad, inner))


def log_softmax(b: Functions, x: Array, *, axis: int = -1) -> Array:
    """Return the logarithm of ``softmax``, also where ``softmax`` is rounded to 0."""
    if 0 in x.shape:
        return x
    if not x.shape:
        return _apply_to_scalars(b, b.log_softmax, x, axis=axis)
    return b.subtract(x, b.logsumexp(x, axis=axis, keepdims=True))


def log_softmax_grad(b: Functions, grad: Array, out: Array, /, *, axis: int = -1) -> Array:
    """Return the gradient of ``log_softmax``, computed from its output."""
    if not out.shape:
        return _apply_to_scalars(b, b.log_softmax_grad, grad, out, axis=axis)
    total = b.sum(grad, axis=axis, keepdims=True)
    return b.subtract(grad, b.multiply(b.exp(out), total))


def _apply_to_scalars(b: Functions, function: Any, *arrays: Array, axis: int) -> Array:
    """Apply a function that needs an axis; treat scalars as arrays of length 1."""
    rows = [b.reshape(array, (1,)) for array in arrays]
    return b.reshape(function(*rows, axis=axis), ())


def logsumexp(b: Functions, x: Array, *, axis: Any = None, keepdims: bool = False) -> Array:
    """Return the logarithm of the sum of exponentials over one or more axes."""
    if 0 in x.shape:  # An empty array has no maximum; the sum of its exponentials is 0.
        total = b.sum(x, axis=axis, keepdims=keepdims)
        return b.log(total)
    peak = _finite_max(b, x, axis)
    total = b.sum(b.exp(b.subtract(x, peak)), axis=axis, keepdims=True)
    out = b.add(b.log(total), peak)
    if keepdims:
        return out
    axes = tuple(range(len(x.shape))) if axis is None else axis
    return b.squeeze(out, axis=axes)


def _finite_max(b: Functions, x: Array, axis: Any) -> Array:
    """Return the maximum (0 if infinite), which is subtracted to prevent overflow."""
    peak = b.stop_gradient(b.max(x, axis=axis, keepdims=True))
    return b.where(b.isfinite(peak), peak, 0.0)


def _normal_cdf(b: Functions, x: Array) -> Array:
    """Return ``Phi(x)``, the normal CDF, accurate in both tails."""
    return b.multiply(b.erfc(b.multiply(x, -_SQRT_HALF)), 0.5)


# Gradient rules ------------------------------------------------------------------------


GRAD_RULES: dict[str, Rule] = {}


def _silu_gradient(b: Functions, grad: Array, x: Array) -> Array:
    gate = b.sigmoid(x)
    rest = b.multiply(x, b.subtract(1, gate))
    return b.multiply(grad, b.multiply(gate, b.add(rest, 1)))


@add_grad(GRAD_RULES, "sigmoid_grad", save=keep.save_inputs)
def _grad_sigmoid_grad(b: Functions, saved: Args, grad: Array, needs: Needs) -> Parts:
    slope, out = saved
    by_slope = b.sigmoid_grad(grad, out) if needs[0] else None
    if not needs[1]:
        return (by_slope,)
    bend = b.subtract(1, b.multiply(out, 2))
    return by_slope, b.multiply(b.multiply(grad, slope), bend)


@add_grad(GRAD_RULES, "softmax", save=keep.save_output_and_options)
def _grad_softmax(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    out, options = saved
    return (b.softmax_grad(grad, out, axis=options.get("axis", -1)),)


@add_grad(GRAD_RULES, "log_softmax", save=keep.save_output_and_options)
def _grad_log_softmax(b: Functions, saved: OneArray, grad: Array, _needs: Needs) -> Parts:
    out, options = saved
    return (b.log_softmax_grad(grad, out, axis=options.get("axis", -1)),)


@add_grad(GRAD_RULES, "logsumexp", save=keep.save_all)
def _grad_logsumexp(b: Functions, saved: Everything, grad: Array, _needs: Needs) -> Parts:
    (x,), out, options = saved
    shape = tuple(x.shape)
    share = b.exp(b.subtract(x, restore_axes(b, out, shape, options)))
    return (b.multiply(share, restore_axes(b, grad, shape, options)),)


GRAD_RULES.update(
    {
        "sigmoid": rule_from_output(lambda b, grad, out: b.sigmoid_grad(grad, out)),
        "relu": rule_from_output(lambda b, grad, out: b.relu_grad(grad, out)),
        "relu_grad": Rule(
            lambda args, _out, _needs, _options: args[1],
            lambda b, out, grad, _: (b.relu_grad(grad, out),),
        ),
        "gelu": rule_from_input(lambda b, grad, x: b.gelu_grad(grad, x)),
        "silu": rule_from_input(_silu_gradient),
        "softplus": rule_from_input(lambda b, grad, x: b.multiply(grad, b.sigmoid(x))),
    }
)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {
    **dict.fromkeys(list_family("activations"), infer_broadcast),
    **dict.fromkeys(("softmax", "softmax_grad"), infer_along_axis),
    **dict.fromkeys(("log_softmax", "log_softmax_grad"), infer_along_axis),
    "logsumexp": infer_reduced,
}


# NumPy versions ------------------------------------------------------------------------


def _wrap_elementwise_kernel(kernel: _Kernel) -> Callable[..., Floats]:
    """Return a NumPy function for an elementwise kernel on arrays of equal shapes."""

    @in_float32
    def call(b: Functions, x: Floats, *others: Floats, out: Floats | None = None) -> Floats:
        return run_kernel(
            kernel, x, *map(to_contiguous, others), threads=b.threads, out=out
        )

    return call


def _wrap_rowwise_kernel(kernel: _Kernel) -> Callable[..., Floats]:
    """Return a NumPy function for a kernel that processes rows along an axis."""

    @in_float32
    def call(
        b: Functions, x: Floats, *others: Floats, axis: int = -1, out: Floats | None = None
    ) -> Floats:
        arrays = (x, *others)
        axis = normalize_axis_index(axis, arrays[0].ndim or 1)
        last = axis >= arrays[0].ndim - 1
        inputs = [to_contiguous(it if last else np.moveaxis(it, axis, -1)) for it in arrays]
        made = make_out(out if last else None, inputs[0].shape, inputs[0].dtype)
        kernel(*map(_merge_rows, inputs), _merge_rows(made), b.threads)
        return write_out(made if last else np.moveaxis(made, -1, axis), out)

    return call


def _merge_rows(x: Floats) -> Floats:
    """Reshape an array to a matrix by merging all axes except the last."""
    if x.ndim == 2:  # noqa: PLR2004 - already rows
        return x
    width = x.shape[-1] if x.ndim else 1
    return x.reshape((x.size // width if width else 0, width))


numpy_relu = _wrap_elementwise_kernel(_native.relu)
numpy_relu_grad = _wrap_elementwise_kernel(_native.relu_grad)
numpy_gelu = _wrap_elementwise_kernel(_native.gelu)
numpy_gelu_grad = _wrap_elementwise_kernel(_native.gelu_grad)
numpy_sigmoid = _wrap_elementwise_kernel(_native.sigmoid)
numpy_sigmoid_grad = _wrap_elementwise_kernel(_native.sigmoid_grad)
numpy_silu = _wrap_elementwise_kernel(_native.silu)
numpy_softmax = _wrap_rowwise_kernel(_native.softmax)
numpy_softmax_grad = _wrap_rowwise_kernel(_native.softmax_grad)
numpy_log_softmax = _wrap_rowwise_kernel(_native.log_softmax)
numpy_log_softmax_grad = _wrap_rowwise_kernel(_native.log_softmax_grad)


@in_float32
def numpy_logsumexp(
    b: Functions,
    x: Floats,
    *,
    axis: Any = None,
    keepdims: bool = False,
    out: Floats | None = None,
) -> Floats:
    """Return the logarithm of the sum of exponentials."""
    if x.dtype.kind in "biu":
        x = x.astype(b.float_dtype)
    if not isinstance(axis, int) or x.size == 0:
        return write_out(logsumexp(b, x, axis=axis, keepdims=keepdims), out)
    rows = to_contiguous(np.moveaxis(x, axis, -1))
    made = np.empty(rows.shape[:-1], x.dtype)
    _native.logsumexp(_merge_rows(rows), made.reshape(-1), b.threads)
    return write_out(np.expand_dims(made, axis) if keepdims else made, out)
