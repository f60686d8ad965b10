"""Convolutions and pooling, as fused kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom._rust import _native
from seqloom.tensor._backend import Backend
from seqloom.tensor.backends._numpy._filling import windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[Any]


class Convolutions(Backend):
    """Windows that slide along the last axes."""

    def conv1d(
        self,
        x: Floats,
        weight: Floats,
        bias: Floats | None = None,
        *,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
    ) -> Floats:
        """Cross-correlation: ``(n, c, l)`` with ``(o, c, k)`` to ``(n, o, l')``."""
        length = windows(x.shape[2], weight.shape[2], stride, padding, dilation)
        out = np.empty((x.shape[0], weight.shape[0], length), x.dtype)
        x, weight = np.ascontiguousarray(x), np.ascontiguousarray(weight)
        _native.conv1d(x, weight, bias, out, stride, padding, dilation, self.threads)
        return out

    def conv1d_input_grad(
        self,
        grad: Floats,
        weight: Floats,
        shape: Sequence[int],
        *,
        stride: int,
        padding: int,
        dilation: int,
    ) -> Floats:
        """The derivative of ``conv1d`` by its input, which had `shape`."""
        out = np.empty(shape, grad.dtype)
        grad, weight = np.ascontiguousarray(grad), np.ascontiguousarray(weight)
        _native.conv1d_input_grad(
            grad, weight, out, stride, padding, dilation, self.threads
        )
        return out

    def conv1d_weight_grad(
        self,
        x: Floats,
        grad: Floats,
        shape: Sequence[int],
        *,
        stride: int,
        padding: int,
        dilation: int,
    ) -> tuple[Floats, Floats]:
        """The derivatives of ``conv1d`` by its weight, of `shape`, and by its bias."""
        out, bias = np.empty(shape, grad.dtype), np.empty(shape[0], grad.dtype)
        x, grad = np.ascontiguousarray(x), np.ascontiguousarray(grad)
        _native.conv1d_weight_grad(
            x, grad, out, bias, stride, padding, dilation, self.threads
        )
        return out, bias

    def max_pool1d(
        self, x: Floats, *, kernel: int, stride: int, padding: int = 0
    ) -> tuple[Floats, NDArray[np.int64]]:
        """The largest of each window ``(n, c, l')`` and its place in the row."""
        x = np.ascontiguousarray(x)
        shape = (*x.shape[:2], windows(x.shape[2], kernel, stride, padding, 1))
        out, places = np.empty(shape, x.dtype), np.empty(shape, np.int64)
        _native.max_pool1d(x, kernel, stride, padding, out, places, self.threads)
        return out, places

    def max_pool1d_grad(
        self, grad: Floats, places: NDArray[np.int64], shape: Sequence[int]
    ) -> Floats:
        """The derivative of ``max_pool1d`` by its input, which had `shape`."""
        out = np.empty(shape, grad.dtype)
        _native.max_pool1d_grad(np.ascontiguousarray(grad), places, out, self.threads)
        return out
