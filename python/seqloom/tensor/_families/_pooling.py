"""Pooling along any number of axes.

``x`` is ``(n, c, …)``. The index of a maximum is its position along the pooled axes,
counted in C order. Padding is never the maximum; in a mean it is treated as zeros. If
values are equal, the first value is the maximum. Options are those of PyTorch:
``ceil_mode`` allows a last window that extends past the padding; a mean also has
``count_include_pad`` and ``divisor_override``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._families import _keep as keep
from seqloom.tensor._families._numpy_arrays import Floats, allocate, in_float32, write_out
from seqloom.tensor._families._rule import (
    Call,
    Parts,
    Rule,
    ShapeRule,
    Spec,
    add_shape_rule,
    infer_given_shape,
)
from seqloom.tensor._families._windows import Size, Windows, make_windows, to_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._elements import Array
    from seqloom.tensor._families import Functions
    from seqloom.tensor._families._keep import Needs


# Default implementations ---------------------------------------------------------------


def max_pool(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size,
    ceil_mode: bool = False,
    **geometry: Size,
) -> tuple[Array, Array]:
    """Return the maximum of each window and its index."""
    sizes = to_sizes(kernel, len(x.shape) - 2)
    windows = Windows.make(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
    plain = b.stop_gradient(x)
    taps = [covered for _, covered in windows.taps(b, plain, _min_value(b, x))]
    winners = b.argmax(b.stack(taps, axis=-1), axis=-1)
    if any(windows.padding) or windows.ceil:
        # If padding equals the maximum, choose a real element instead.
        ones = b.ones(tuple(x.shape[2:]), dtype="int32")
        is_real = b.stack([covered for _, covered in windows.taps(b, ones, 0)], axis=-1)
        is_real = b.broadcast_to(is_real, (*winners.shape, is_real.shape[-1]))
        won = b.take_along_axis(is_real, b.expand_dims(winners, axis=-1), axis=-1)
        won = b.squeeze(won, axis=-1)
        winners = b.where(b.greater(won, 0), winners, b.argmax(is_real, axis=-1))
    indices = _to_input_positions(b, winners, windows, x.shape)
    out = b.take_along_axis(_flatten(b, x), _flatten(b, indices), axis=-1)
    return b.reshape(out, winners.shape), indices


def max_pool_grad(b: Functions, grad: Array, indices: Array, shape: Sequence[int]) -> Array:
    """Return the gradient of `max_pool` with respect to its input of the given shape."""
    flat = (*shape[:2], math.prod(shape[2:]))
    zeros = b.zeros(flat, dtype=b.dtype(grad))
    out = b.scatter_add(zeros, _flatten(b, indices), _flatten(b, grad), axis=-1)
    return b.reshape(out, tuple(shape))


def avg_pool(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    **geometry: Size,
) -> Array:
    """Return the mean of each window."""
    sizes = to_sizes(kernel, len(x.shape) - 2)
    windows = Windows.make(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
    factors = windows.mean_factors(
        b,
        x.shape[2:],
        b.dtype(x),
        count_padding=count_include_pad,
        divisor=divisor_override,
    )
    taps = windows.taps(b, x, 0)
    total = next(taps)[1]
    for _, covered in taps:
        total = b.add(total, covered)
    return b.multiply(total, factors)


def avg_pool_grad(
    b: Functions,
    grad: Array,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
    **geometry: Size,
) -> Array:
    """Return the gradient of `avg_pool` with respect to its input of the given shape."""
    sizes = to_sizes(kernel, len(shape) - 2)
    windows = Windows.make(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
    factors = windows.mean_factors(
        b,
        shape[2:],
        b.dtype(grad),
        count_padding=count_include_pad,
        divisor=divisor_override,
    )
    share = b.multiply(grad, factors)
    return windows.add_taps(b, lambda _: share, shape)


def _min_value(b: Functions, x: Array) -> float:
    """Return the smallest number of the array's dtype."""
    if b.isdtype(b.dtype(x), "integral"):
        return int(b.iinfo(x.dtype).min)
    return -math.inf


def _flatten(b: Functions, x: Array) -> Array:
    """Reshape ``(n, c, …)`` to ``(n, c, positions)``."""
    return b.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def _to_input_positions(
    b: Functions, winners: Array, windows: Windows, shape: Sequence[int]
) -> Array:
    """Convert the index within each window to a position in the flattened input."""
    total: Any = 0
    span, step = math.prod(windows.kernel), math.prod(shape[2:])
    for axis, (k, s, p, d) in enumerate(
        zip(windows.kernel, windows.stride, windows.padding, windows.dilation, strict=True)
    ):
        span, step = span // k, step // shape[2 + axis]
        tap = b.multiply(b.remainder(b.floor_divide(winners, span), k), d)
        start = b.arange(winners.shape[2 + axis], dtype=b.dtype(winners))
        start = b.subtract(b.multiply(start, s), p)
        start = b.reshape(start, (-1, *(1 for _ in windows.kernel[axis + 1 :])))
        total = b.add(b.multiply(b.add(tap, start), step), total)
    return total


# The functions for one and two axes share one implementation.
max_pool1d = max_pool2d = max_pool
max_pool1d_grad = max_pool2d_grad = max_pool_grad
avg_pool1d = avg_pool2d = avg_pool
avg_pool1d_grad = avg_pool2d_grad = avg_pool_grad


# Gradient rules ------------------------------------------------------------------------


def _grad_max_pool_grad(b: Functions, saved: Any, grad: Array, _needs: Needs) -> Parts:
    """Return the values at the indices of the maxima."""
    indices, _ = saved
    shape = tuple(indices.shape)
    rows = b.reshape(grad, (*shape[:2], math.prod(grad.shape[2:])))
    flat = b.reshape(indices, (*shape[:2], math.prod(shape[2:])))
    return (b.reshape(b.take_along_axis(rows, flat, axis=-1), shape),)


def _pool_rules(maximum: str, mean: str) -> dict[str, Rule]:
    """Return the rules of max and mean pooling along the given number of axes."""
    return {
        maximum: Rule(
            lambda args, out, _, __: (out[1], tuple(args[0].shape)),
            lambda b, saved, grad, _: (getattr(b, f"{maximum}_grad")(grad, *saved),),
        ),
        f"{maximum}_grad": Rule(keep.save_rest, _grad_max_pool_grad),
        mean: Rule(
            keep.save_shape_options,
            lambda b, saved, grad, _: (
                getattr(b, f"{mean}_grad")(grad, saved[0], **saved[2]),
            ),
        ),
        # The gradient of mean pooling is linear too.
        f"{mean}_grad": Rule(
            keep.save_rest_and_options,
            lambda b, saved, grad, _: (getattr(b, mean)(grad, **saved[1]),),
        ),
    }


GRAD_RULES = _pool_rules("max_pool1d", "avg_pool1d") | _pool_rules(
    "max_pool2d", "avg_pool2d"
)


# Shape rules ---------------------------------------------------------------------------


SHAPE_RULES: dict[str, ShapeRule] = {}


_INDEX_DTYPE = np.dtype(np.int64)


def _shape_pool(call: Call) -> Spec:
    """Return the shape of pooling: one element per window."""
    x = call.args[0]
    kernel = to_sizes(call.options["kernel"], len(x.shape) - 2)
    return (*x.shape[:2], *make_windows(kernel, call.options).counts(x.shape[2:])), x.dtype


@add_shape_rule(SHAPE_RULES, "max_pool1d", "max_pool2d")
def _shape_max_pool(call: Call) -> list[Spec]:
    """Return the shapes of the maxima and their indices."""
    shape, dtype = _shape_pool(call)
    return [(shape, dtype), (shape, _INDEX_DTYPE)]


SHAPE_RULES.update(
    {
        **dict.fromkeys(("max_pool1d_grad", "max_pool2d_grad"), infer_given_shape),
        **dict.fromkeys(("avg_pool1d", "avg_pool2d"), _shape_pool),
        **dict.fromkeys(("avg_pool1d_grad", "avg_pool2d_grad"), infer_given_shape),
    }
)


# NumPy versions ------------------------------------------------------------------------


@in_float32
def numpy_max_pool1d(
    b: Functions,
    x: Floats,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    out: tuple[Floats, NDArray[np.int64]] | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """Return the maximum of each window of ``(n, c, l)``, and its position in the row."""
    sizes = to_sizes(kernel, 1)
    windows = Windows.make(sizes, stride=stride, padding=padding, dilation=dilation)
    # The kernel does not support these options.
    if x.dtype.kind in "iu" or ceil_mode or windows.dilation != (1,):
        geometry = {"stride": stride, "padding": padding, "dilation": dilation}
        found = max_pool1d(b, x, kernel=kernel, ceil_mode=ceil_mode, **geometry)
        return (
            found
            if out is None
            else (write_out(found[0], out[0]), write_out(found[1], out[1]))
        )
    x = np.ascontiguousarray(x)
    shape = (*x.shape[:2], *windows.counts(x.shape[2:]))
    out = out or (allocate(shape, x.dtype), allocate(shape, np.int64))
    (size,), (step,), (around,), *_ = windows
    _native.max_pool1d(x, size, step, around, *out, b.threads)
    return out


@in_float32
def numpy_max_pool_grad(
    b: Functions,
    grad: Floats,
    indices: NDArray[np.int64],
    shape: Sequence[int],
    *,
    out: Floats | None = None,
) -> Floats:
    """Return the gradient of max pooling with respect to its input of the given shape."""
    out = allocate(tuple(shape), grad.dtype) if out is None else out
    _native.max_pool1d_grad(_to_rows(grad), _to_rows(indices), _to_rows(out), b.threads)
    return out


def _to_rows(x: NDArray[Any]) -> NDArray[Any]:
    """Reshape ``(n, c, …)`` to ``(n, c, positions)`` in C order."""
    x = np.ascontiguousarray(x)
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


numpy_max_pool1d_grad = numpy_max_pool2d_grad = numpy_max_pool_grad
