"""Pooling: one number for each window.

A place is counted along the row, in two dimensions along the flattened plane. Padding
never wins, and counts as zeros for a mean. Of equal values the first one wins.
Options are torch's: ``ceil_mode`` for a last window that reaches beyond the padding;
for a mean ``count_include_pad`` and ``divisor_override``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._window import Windows, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._convolution import Size
    from seqloom.tensor._defaults._standard import Array, Functions


def max_pool1d(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """The largest of each window of ``(n, c, l)``, and its place in the row."""
    sizes = pairs(kernel, 1), stride, padding, dilation
    return _max_pool(b, x, Windows.of(*sizes, ceil=ceil_mode))


def max_pool2d(
    b: Functions,
    x: Array,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Array, Array]:
    """The largest of each window of ``(n, c, h, w)``, and its place in the plane."""
    sizes = pairs(kernel, 2), stride, padding, dilation
    return _max_pool(b, x, Windows.of(*sizes, ceil=ceil_mode))


def max_pool1d_grad(
    b: Functions, grad: Array, places: Array, shape: Sequence[int]
) -> Array:
    """The derivative of ``max_pool1d`` by its input, which had `shape`."""
    zeros = b.zeros(tuple(shape), dtype=b.dtype(grad))
    return b.scatter_add(zeros, places, grad, axis=-1)


def max_pool2d_grad(
    b: Functions, grad: Array, places: Array, shape: Sequence[int]
) -> Array:
    """The derivative of ``max_pool2d`` by its input, which had `shape`."""
    plane = (*shape[:2], math.prod(shape[2:]))
    flat = _plane(b, grad), _plane(b, places)
    return b.reshape(b.max_pool1d_grad(*flat, plane), tuple(shape))


def avg_pool1d(
    b: Functions, x: Array, *, kernel: Size, stride: Size, padding: Size = 0, **options: Any
) -> Array:
    """The mean of each window of ``(n, c, l)``."""
    return _mean_pool(b, x, (pairs(kernel, 1), stride, padding), **options)


def avg_pool2d(
    b: Functions, x: Array, *, kernel: Size, stride: Size, padding: Size = 0, **options: Any
) -> Array:
    """The mean of each window of ``(n, c, h, w)``."""
    return _mean_pool(b, x, (pairs(kernel, 2), stride, padding), **options)


def avg_pool1d_grad(
    b: Functions,
    grad: Array,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Array:
    """The derivative of ``avg_pool1d`` by its input, which had `shape`."""
    sizes = pairs(kernel, 1), stride, padding
    return _mean_pool_grad(b, grad, shape, sizes, **options)


def avg_pool2d_grad(
    b: Functions,
    grad: Array,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Array:
    """The derivative of ``avg_pool2d`` by its input, which had `shape`."""
    sizes = pairs(kernel, 2), stride, padding
    return _mean_pool_grad(b, grad, shape, sizes, **options)


def _max_pool(b: Functions, x: Array, windows: Windows) -> tuple[Array, Array]:
    """The places of the largest values, and the values that stand there."""
    plain = b.stop_gradient(x)
    taps = [seen for _, seen in windows.taps(b, plain, _lowest(b, x))]
    which = _inside(b, b.argmax(b.stack(taps, axis=-1), axis=-1), windows, x)
    places = _places(b, which, windows, x.shape)
    flat = _plane(b, x), _plane(b, places)
    return b.reshape(b.take_along_axis(*flat, axis=-1), which.shape), places


def _inside(b: Functions, which: Array, windows: Windows, x: Array) -> Array:
    """The winners of the windows, with the first real place where padding ties with it."""
    if not (any(windows.padding) or windows.ceil):
        return which
    real = b.ones(tuple(x.shape[2:]), dtype="int32")
    seen = b.stack([tap for _, tap in windows.taps(b, real, 0)], axis=-1)
    seen = b.broadcast_to(seen, (*which.shape, seen.shape[-1]))
    won = b.take_along_axis(seen, b.expand_dims(which, axis=-1), axis=-1)
    won = b.squeeze(won, axis=-1)
    return b.where(b.greater(won, 0), which, b.argmax(seen, axis=-1))


def _lowest(b: Functions, x: Array) -> float:
    """What no number of the array is below."""
    if b.isdtype(b.dtype(x), "integral"):
        return int(b.iinfo(x.dtype).min)
    return -math.inf


def _plane(b: Functions, x: Array) -> Array:
    """``(n, c, …)`` with its places in one row."""
    return b.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def _places(b: Functions, which: Array, windows: Windows, shape: Sequence[int]) -> Array:
    """Where in the flattened plane the winning place of each window's kernel stands."""
    total: Any = 0
    span, step = math.prod(windows.kernel), math.prod(shape[2:])
    for axis, (k, s, p, d) in enumerate(
        zip(windows.kernel, windows.stride, windows.padding, windows.dilation, strict=True)
    ):
        span, step = span // k, step // shape[2 + axis]
        tap = b.multiply(b.remainder(b.floor_divide(which, span), k), d)
        start = b.arange(which.shape[2 + axis], dtype=b.dtype(which))
        start = b.subtract(b.multiply(start, s), p)
        start = b.reshape(start, (-1, *(1 for _ in windows.kernel[axis + 1 :])))
        total = b.add(b.multiply(b.add(tap, start), step), total)
    return total


def _mean_pool(
    b: Functions,
    x: Array,
    sizes: tuple[Any, Any, Any],
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The sum of what the places of the kernel see, divided by their number."""
    windows = Windows.of(*sizes, 1, ceil=ceil_mode)
    shares = windows.shares(
        x.shape[2:], count_padding=count_include_pad, divisor=divisor_override
    )
    taps = windows.taps(b, x, 0)
    total = next(taps)[1]
    for _, seen in taps:
        total = b.add(total, seen)
    return _shared(b, total, shares)


def _shared(b: Functions, total: Array, shares: Any) -> Array:
    """Sums multiplied by a number, or by one for each window."""
    several = not isinstance(shares, float)
    return b.multiply(total, b.asarray(shares, dtype=total.dtype) if several else shares)


def _mean_pool_grad(
    b: Functions,
    grad: Array,
    shape: Sequence[int],
    sizes: tuple[Any, Any, Any],
    *,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Each window gives an equal share to every place it saw."""
    windows = Windows.of(*sizes, 1, ceil=ceil_mode)
    shares = windows.shares(
        shape[2:], count_padding=count_include_pad, divisor=divisor_override
    )
    part = _shared(b, grad, shares)
    return windows.gathered(b, lambda _: part, shape)
