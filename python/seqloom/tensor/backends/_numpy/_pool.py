"""Pooling: one number for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._blocks import fresh
from seqloom.tensor.backends._numpy._window import Geometry, Size, pair

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]


def max_pool1d(
    b: Backend,
    x: Floats,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    out: tuple[Floats, NDArray[np.int64]] | None = None,
) -> tuple[Floats, NDArray[np.int64]]:
    """The largest of each window of ``(n, c, l)``, and its place in the row."""
    is_whole = x.dtype.kind in "iu"
    if is_whole or ceil_mode or pair(dilation, 1) != (1,):  # unknown to the kernel
        sizes = {"kernel": kernel, "stride": stride, "padding": padding}
        found = Backend.max_pool1d(b, x, **sizes, dilation=dilation, ceil_mode=ceil_mode)
        return found if out is None else _written(found, out)
    x = np.ascontiguousarray(x)
    (size,) = pair(kernel, 1)
    geometry = Geometry.of(1, stride=stride, padding=padding)
    shape = (*x.shape[:2], *geometry.windows(x.shape[2:], (size,)))
    out = out or (fresh(shape, x.dtype), fresh(shape, np.int64))
    steps = geometry.stride[0], geometry.padding[0]
    _native.max_pool1d(x, size, *steps, *out, b.threads)
    return out


def max_pool1d_grad(
    b: Backend,
    grad: Floats,
    places: NDArray[np.int64],
    shape: Sequence[int],
    *,
    out: Floats | None = None,
) -> Floats:
    """The derivative of ``max_pool1d`` by its input, which had `shape`."""
    out = fresh(tuple(shape), grad.dtype) if out is None else out
    grad, places = np.ascontiguousarray(grad), np.ascontiguousarray(places)
    _native.max_pool1d_grad(grad, places, out, b.threads)
    return out


def _written(found: tuple[Floats, Any], out: tuple[Floats, Any]) -> tuple[Floats, Any]:
    """Values and places, in the memory that the caller gave."""
    for each, room in zip(found, out, strict=True):
        room[...] = each
    return out
