"""Pooling: one number for each window."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._lookup import Lookups
from seqloom.tensor._defaults._window import Windows, pairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._convolution import Size
    from seqloom.tensor._defaults._standard import Array


class Pooling(Lookups):
    """The largest value of each window, or the mean.

    A place is counted along the row, in two dimensions along the flattened plane. Padding
    never wins, and counts as zeros for a mean. Of equal values the first one wins.

    Examples:
        >>> from seqloom.tensor import backend
        >>> B = backend("numpy")
        >>> B.max_pool1d(B.asarray([[[1.0, 5.0, 2.0]]]), kernel=2, stride=1)[0].tolist()
        [[[5.0, 5.0]]]
    """

    def max_pool1d(
        self, x: Array, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> tuple[Array, Array]:
        """The largest of each window of ``(n, c, l)``, and its place in the row."""
        return _max_pool(self, x, Windows.of(pairs(kernel, 1), stride, padding, 1))

    def max_pool2d(
        self, x: Array, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> tuple[Array, Array]:
        """The largest of each window of ``(n, c, h, w)``, and its place in the plane."""
        return _max_pool(self, x, Windows.of(pairs(kernel, 2), stride, padding, 1))

    def max_pool1d_grad(self, grad: Array, places: Array, shape: Sequence[int]) -> Array:
        """The derivative of ``max_pool1d`` by its input, which had `shape`."""
        zeros = self.zeros(tuple(shape), dtype=self.dtype(grad))
        return self.scatter_add(zeros, places, grad, axis=-1)

    def max_pool2d_grad(self, grad: Array, places: Array, shape: Sequence[int]) -> Array:
        """The derivative of ``max_pool2d`` by its input, which had `shape`."""
        plane = (*shape[:2], math.prod(shape[2:]))
        flat = _plane(self, grad), _plane(self, places)
        return self.reshape(self.max_pool1d_grad(*flat, plane), tuple(shape))

    def avg_pool1d(
        self, x: Array, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> Array:
        """The mean of each window of ``(n, c, l)``."""
        return _mean_pool(self, x, Windows.of(pairs(kernel, 1), stride, padding, 1))

    def avg_pool2d(
        self, x: Array, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> Array:
        """The mean of each window of ``(n, c, h, w)``."""
        return _mean_pool(self, x, Windows.of(pairs(kernel, 2), stride, padding, 1))

    def avg_pool1d_grad(
        self,
        grad: Array,
        shape: Sequence[int],
        *,
        kernel: Size,
        stride: Size,
        padding: Size = 0,
    ) -> Array:
        """The derivative of ``avg_pool1d`` by its input, which had `shape`."""
        windows = Windows.of(pairs(kernel, 1), stride, padding, 1)
        return _mean_pool_grad(self, grad, shape, windows)

    def avg_pool2d_grad(
        self,
        grad: Array,
        shape: Sequence[int],
        *,
        kernel: Size,
        stride: Size,
        padding: Size = 0,
    ) -> Array:
        """The derivative of ``avg_pool2d`` by its input, which had `shape`."""
        windows = Windows.of(pairs(kernel, 2), stride, padding, 1)
        return _mean_pool_grad(self, grad, shape, windows)


def _max_pool(b: Lookups, x: Array, windows: Windows) -> tuple[Array, Array]:
    """The places of the largest values, and the values that stand there."""
    plain = b.stop_gradient(x)
    taps = [seen for _, seen in windows.taps(b, plain, -math.inf)]
    which = b.argmax(b.stack(taps, axis=-1), axis=-1)
    places = _places(b, which, windows, x.shape)
    flat = _plane(b, x), _plane(b, places)
    return b.reshape(b.take_along_axis(*flat, axis=-1), which.shape), places


def _plane(b: Lookups, x: Array) -> Array:
    """``(n, c, …)`` with its places in one row."""
    return b.reshape(x, (*x.shape[:2], math.prod(x.shape[2:])))


def _places(b: Lookups, which: Array, windows: Windows, shape: Sequence[int]) -> Array:
    """Where in the flattened plane the winning place of each window's kernel stands."""
    total: Any = 0
    span, step = math.prod(windows.kernel), math.prod(shape[2:])
    for axis, (k, s, p) in enumerate(
        zip(windows.kernel, windows.stride, windows.padding, strict=True)
    ):
        span, step = span // k, step // shape[2 + axis]
        tap = b.remainder(b.floor_divide(which, span), k)
        start = b.arange(which.shape[2 + axis], dtype=b.dtype(which))
        start = b.subtract(b.multiply(start, s), p)
        start = b.reshape(start, (-1, *(1 for _ in windows.kernel[axis + 1 :])))
        total = b.add(b.multiply(b.add(tap, start), step), total)
    return total


def _mean_pool(b: Lookups, x: Array, windows: Windows) -> Array:
    """The sum of what the places of the kernel see, divided by their number."""
    taps = windows.taps(b, x, 0)
    total = next(taps)[1]
    for _, seen in taps:
        total = b.add(total, seen)
    return b.multiply(total, 1.0 / math.prod(windows.kernel))


def _mean_pool_grad(
    b: Lookups, grad: Array, shape: Sequence[int], windows: Windows
) -> Array:
    """Each window gives an equal share to every place it saw."""
    part = b.multiply(grad, 1.0 / math.prod(windows.kernel))
    return windows.gathered(b, lambda _: part, shape)
