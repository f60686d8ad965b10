"""Maxima of windows in rows, in Rust; NumPy has the default bodies for images and means."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor._defaults import Windows, to_sizes
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._filling import write_to

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from seqloom.tensor._defaults import Size

    Floats = NDArray[Any]
    Indices = NDArray[np.int64]


def max_pool1d(
    b: Backend,
    x: Floats,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    out: tuple[Floats, Indices] | None = None,
) -> tuple[Floats, Indices]:
    """The maximum of each window of ``(n, c, l)``, and its index in the row."""
    sizes = to_sizes(kernel, 1)
    windows = Windows.of(sizes, stride=stride, padding=padding, dilation=dilation)
    if x.dtype.kind in "iu" or ceil_mode or windows.dilation != (1,):  # not in the kernel
        geometry = {"stride": stride, "padding": padding, "dilation": dilation}
        found = Backend.max_pool1d(b, x, kernel=kernel, ceil_mode=ceil_mode, **geometry)
        return (
            found
            if out is None
            else (write_to(found[0], out[0]), write_to(found[1], out[1]))
        )
    x = np.ascontiguousarray(x)
    shape = (*x.shape[:2], *windows.counts(x.shape[2:]))
    out = out or (fresh(shape, x.dtype), fresh(shape, np.int64))
    (size,), (step,), (around,), *_ = windows
    _native.max_pool1d(x, size, step, around, *out, b.threads)
    return out


def max_pool_grad(
    b: Backend,
    grad: Floats,
    indices: Indices,
    shape: Sequence[int],
    *,
    out: Floats | None = None,
) -> Floats:
    """The gradient of a max pool by its input, which had `shape`."""
    out = fresh(tuple(shape), grad.dtype) if out is None else out
    _native.max_pool1d_grad(_to_rows(grad), _to_rows(indices), _to_rows(out), b.threads)
    return out


def _to_rows(x: NDArray[Any]) -> NDArray[Any]:
    """Returns ``(n, c, …)`` in C order with its positions in one row."""
    x = np.ascontiguousarray(x)
    return x.reshape(*x.shape[:2], math.prod(x.shape[2:]))


max_pool1d_grad = max_pool2d_grad = max_pool_grad
