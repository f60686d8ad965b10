"""Pooling along any number of axes: one number for each window.

``x`` is ``(n, c, …)``. The index of a maximum is its position in the row, or in the plane
in C order. Padding never wins, and counts as zeros for a mean. Of equal values the first
one wins. Options are torch's: ``ceil_mode`` for a last window that reaches beyond the
padding; for a mean ``count_include_pad`` and ``divisor_override``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._window import Windows, to_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions
    from seqloom.tensor._defaults._window import Size


def max_pool(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size,
    ceil_mode: bool = False,
    **geometry: Size,
) -> tuple[Array, Array]:
    """The maximum of each window, and its index."""
    sizes = to_sizes(kernel, len(x.shape) - 2)
    windows = Windows.of(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
    plain = b.stop_gradient(x)
    taps = [covered for _, covered in windows.taps(b, plain, _lowest(b, x))]
    winners = b.argmax(b.stack(taps, axis=-1), axis=-1)
    if any(windows.padding) or windows.ceil:
        winners = _replace_padding(b, winners, windows, x)
    indices = _to_indices(b, winners, windows, x.shape)
    out = b.take_along_axis(_flatten(b, x), _flatten(b, indices), axis=-1)
    return b.reshape(out, winners.shape), indices


def max_pool_grad(b: Functions, grad: Array, indices: Array, shape: Sequence[int]) -> Array:
    """The gradient of `max_pool` by its input, which had `shape`."""
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
    """The mean of each window."""
    sizes = to_sizes(kernel, len(x.shape) - 2)
    windows = Windows.of(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
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
    """The gradient of `avg_pool` by its input, which had `shape`."""
    sizes = to_sizes(kernel, len(shape) - 2)
    windows = Windows.of(sizes, stride=stride, **geometry)._replace(ceil=ceil_mode)
    factors = windows.mean_factors(
        b,
        shape[2:],
        b.dtype(grad),
        count_padding=count_include_pad,
        divisor=divisor_override,
    )
    share = b.multiply(grad, factors)
    return windows.scatter(b, lambda _: share, shape)


def _replace_padding(b: Functions, winners: Array, windows: Windows, x: Array) -> Array:
    """Where padding ties with the values of a window, lets the first real value win."""
    ones = b.ones(tuple(x.shape[2:]), dtype="int32")
    is_real = b.stack([covered for _, covered in windows.taps(b, ones, 0)], axis=-1)
    is_real = b.broadcast_to(is_real, (*winners.shape, is_real.shape[-1]))
    won = b.take_along_axis(is_real, b.expand_dims(winners, axis=-1), axis=-1)
    won = b.squeeze(won, axis=-1)
    return b.where(b.greater(won, 0), winners, b.argmax(is_real, axis=-1))


def _lowest(b: Functions, x: Array) -> float:
    """Returns the least number of the array's type."""
    if b.isdtype(b.dtype(x), "integral"):
        return int(b.iinfo(x.dtype).min)
    return -math.inf


def _flatten(b: Functions, x: Array) -> Array:
    """Reshapes ``(n, c, …)`` to ``(n, c, positions)``."""
    return b.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def _to_indices(
    b: Functions, winners: Array, windows: Windows, shape: Sequence[int]
) -> Array:
    """Converts the winning tap of each window to a position in the flattened input."""
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


# The operations of each rank: one body.
max_pool1d = max_pool2d = max_pool
max_pool1d_grad = max_pool2d_grad = max_pool_grad
avg_pool1d = avg_pool2d = avg_pool
avg_pool1d_grad = avg_pool2d_grad = avg_pool_grad
