"""Activations and softmax, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._filling import fill, make_out, to_contiguous, write_to
from seqloom.tensor.backends._numpy._kinds import to_floats

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[Any]


def _of_erf(*, double: bool) -> _native.ElementwiseProgram:
    """The program of one step that computes the error function."""
    return _native.ElementwiseProgram(double, 1, [], [("erf", [0])], [(1, None, [])])


_ERF = {"f": _of_erf(double=False), "d": _of_erf(double=True)}


def relu(b: Backend, x: Floats, *, out: Floats | None = None) -> Floats:
    """``max(x, 0)``."""
    return fill(_native.relu, x, threads=b.threads, out=out)


def relu_grad(
    b: Backend, grad: Floats, output: Floats, /, *, out: Floats | None = None
) -> Floats:
    """The derivative of ``relu`` from its output."""
    return fill(_native.relu_grad, grad, to_contiguous(output), threads=b.threads, out=out)


def gelu(b: Backend, x: Floats, *, out: Floats | None = None) -> Floats:
    """``x * Phi(x)`` with the exact normal distribution (Hendrycks and Gimpel 2016)."""
    return fill(_native.gelu, x, threads=b.threads, out=out)


def gelu_grad(b: Backend, grad: Floats, x: Floats, *, out: Floats | None = None) -> Floats:
    """The derivative of ``gelu`` from its input."""
    return fill(_native.gelu_grad, grad, to_contiguous(x), threads=b.threads, out=out)


def sigmoid(b: Backend, x: Floats, *, out: Floats | None = None) -> Floats:
    """``1 / (1 + exp(-x))``."""
    return fill(_native.sigmoid, x, threads=b.threads, out=out)


def sigmoid_grad(
    b: Backend, grad: Floats, output: Floats, /, *, out: Floats | None = None
) -> Floats:
    """The derivative of ``sigmoid`` from its output."""
    return fill(
        _native.sigmoid_grad, grad, to_contiguous(output), threads=b.threads, out=out
    )


def erf(b: Backend, x: Floats, *, out: Floats | None = None) -> Floats:
    """The error function."""
    x = to_contiguous(to_floats(x))
    made = make_out(out, x.shape, x.dtype)
    _ERF[x.dtype.char].run((x,), (made,), b.threads)
    return write_to(made, out)


def silu(b: Backend, x: Floats, *, out: Floats | None = None) -> Floats:
    """``x / (1 + exp(-x))`` (Hendrycks and Gimpel 2016)."""
    return fill(_native.silu, x, threads=b.threads, out=out)


def softmax(b: Backend, x: Floats, *, axis: int = -1, out: Floats | None = None) -> Floats:
    """Shares that are proportional to the exponentials along an axis."""
    return _along(b, _native.softmax, axis, out, x)


def softmax_grad(
    b: Backend,
    grad: Floats,
    output: Floats,
    /,
    *,
    axis: int = -1,
    out: Floats | None = None,
) -> Floats:
    """The derivative of ``softmax`` from its output."""
    return _along(b, _native.softmax_grad, axis, out, grad, output)


def log_softmax(
    b: Backend, x: Floats, *, axis: int = -1, out: Floats | None = None
) -> Floats:
    """Logarithm of the softmax along an axis."""
    return _along(b, _native.log_softmax, axis, out, x)


def log_softmax_grad(
    b: Backend,
    grad: Floats,
    output: Floats,
    /,
    *,
    axis: int = -1,
    out: Floats | None = None,
) -> Floats:
    """The derivative of ``log_softmax`` from its output."""
    return _along(b, _native.log_softmax_grad, axis, out, grad, output)


def logsumexp(
    b: Backend,
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
        return write_to(Backend.logsumexp(b, x, axis=axis, keepdims=keepdims), out)
    rows = to_contiguous(np.moveaxis(x, axis, -1))
    made = np.empty(rows.shape[:-1], x.dtype)
    _native.logsumexp(_rows(rows), made.reshape(-1), b.threads)
    return write_to(np.expand_dims(made, axis) if keepdims else made, out)


def _along(
    b: Backend, kernel: Any, axis: int, out: Floats | None, *arrays: Floats
) -> Floats:
    """Runs a kernel over the rows of an axis, which a copy makes the last."""
    axis = normalize_axis_index(axis, arrays[0].ndim or 1)
    last = axis >= arrays[0].ndim - 1
    inputs = [to_contiguous(x if last else np.moveaxis(x, axis, -1)) for x in arrays]
    made = make_out(out if last else None, inputs[0].shape, inputs[0].dtype)
    kernel(*(_rows(x) for x in inputs), _rows(made), b.threads)
    return write_to(made if last else np.moveaxis(made, -1, axis), out)


def _rows(x: Floats) -> Floats:
    """All but the last axis as one."""
    if x.ndim == 2:  # noqa: PLR2004 - rows already
        return x
    width = x.shape[-1] if x.ndim else 1
    return x.reshape((x.size // width if width else 0, width))
