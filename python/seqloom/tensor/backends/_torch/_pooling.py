"""Pooling: torch's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._backend import Backend

if TYPE_CHECKING:
    from collections.abc import Sequence

    Size = Any  # a number, or a tuple of one for each axis

aten = torch.ops.aten


class Pooling(Backend):
    """The largest value of each window, or the mean."""

    def max_pool1d(
        self, x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> tuple[Tensor, Tensor]:
        """The largest of each window of ``(n, c, l)``, and its place in the row."""
        return functional.max_pool1d(x, kernel, stride, padding, return_indices=True)

    def max_pool2d(
        self, x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> tuple[Tensor, Tensor]:
        """The largest of each window of ``(n, c, h, w)``, and its place in the plane."""
        return functional.max_pool2d(x, kernel, stride, padding, return_indices=True)

    def max_pool1d_grad(self, grad: Tensor, places: Tensor, shape: Sequence[int]) -> Tensor:
        """The derivative of ``max_pool1d`` by its input, which had `shape`."""
        zeros = grad.new_zeros((*shape[:2], torch.Size(shape[2:]).numel()))
        flat = zeros.scatter_add(-1, places.flatten(2), grad.flatten(2))
        return flat.reshape(tuple(shape))

    max_pool2d_grad = max_pool1d_grad

    def avg_pool1d(
        self, x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> Tensor:
        """The mean of each window of ``(n, c, l)``."""
        return functional.avg_pool1d(x, kernel, stride, padding)

    def avg_pool2d(
        self, x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0
    ) -> Tensor:
        """The mean of each window of ``(n, c, h, w)``."""
        return functional.avg_pool2d(x, kernel, stride, padding)

    def avg_pool1d_grad(
        self,
        grad: Tensor,
        shape: Sequence[int],
        *,
        kernel: Size,
        stride: Size,
        padding: Size = 0,
    ) -> Tensor:
        """The derivative of ``avg_pool1d`` by its input, which had `shape`."""
        plane = self.avg_pool2d_grad(
            grad[:, :, None],
            (*shape[:2], 1, shape[2]),
            kernel=(1, *_one(kernel)),
            stride=(1, *_one(stride)),
            padding=(0, *_one(padding)),
        )
        return plane[:, :, 0]

    def avg_pool2d_grad(
        self,
        grad: Tensor,
        shape: Sequence[int],
        *,
        kernel: Size,
        stride: Size,
        padding: Size = 0,
    ) -> Tensor:
        """The derivative of ``avg_pool2d`` by its input, which had `shape`."""
        sizes = (_pair(each) for each in (kernel, stride, padding))
        x = grad.new_empty(1).expand(tuple(shape))
        return aten.avg_pool2d_backward(grad, x, *sizes, False, True, None)


def _one(size: Size) -> tuple[int, ...]:
    """A size of one axis."""
    return (size,) if isinstance(size, int) else tuple(size)


def _pair(size: Size) -> tuple[int, ...]:
    """A size of two axes."""
    return (size, size) if isinstance(size, int) else tuple(size)
