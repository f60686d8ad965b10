"""Pooling: torch's kernels, of which those for gradients take planes only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._families._windows import to_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._families._windows import Size

aten = torch.ops.aten
_ONE_AXIS = 3  # axes of (n, c, l)


def max_pool(
    x: Tensor,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maximum of each window, and its index in the row or the flattened plane."""
    function: Any = functional.max_pool1d if x.ndim == _ONE_AXIS else functional.max_pool2d
    sizes = kernel, stride, padding, dilation, ceil_mode
    out, indices = function(_store(x), *sizes, return_indices=True)
    return out, _store(indices)


def max_pool_grad(grad: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """The gradient of `max_pool` by its input, which had `shape`."""
    if grad.ndim == _ONE_AXIS:
        plane = (*shape[:2], 1, shape[2])
        return max_pool_grad(grad[:, :, None], indices[:, :, None], plane)[:, :, 0]
    kernel = [
        size - count + 1 for size, count in zip(shape[2:], grad.shape[2:], strict=True)
    ]
    if grad.is_cuda or min(kernel) < 1:
        return _scatter(grad, indices, shape)
    # On a CPU the kernel uses the indices. Of the window's size it needs only that so many
    # windows fit.
    x = grad.new_empty(1).expand(tuple(shape))
    return aten.max_pool2d_with_indices_backward(
        grad, x, kernel, [1, 1], [0, 0], [1, 1], False, indices
    )


def avg_pool(
    x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0, **options: Any
) -> Tensor:
    """The mean of each window."""
    function: Any = functional.avg_pool1d if x.ndim == _ONE_AXIS else functional.avg_pool2d
    return function(x, kernel, stride, padding, **options)


def avg_pool_grad(
    grad: Tensor,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Tensor:
    """The gradient of `avg_pool` by its input, which had `shape`."""
    sizes = [to_sizes(size, len(shape) - 2) for size in (kernel, stride, padding)]
    if grad.ndim == _ONE_AXIS:
        names = {"kernel": (1, *sizes[0]), "stride": (1, *sizes[1])}
        options |= {**names, "padding": (0, *sizes[2])}
        plane = (*shape[:2], 1, shape[2])
        return avg_pool_grad(grad[:, :, None], plane, **options)[:, :, 0]
    x = grad.new_empty(1).expand(tuple(shape))
    known = {"ceil_mode": False, "count_include_pad": True, "divisor_override": None}
    return aten.avg_pool2d_backward(grad, x, *sizes, *(known | options).values())


def _scatter(grad: Tensor, indices: Tensor, shape: Sequence[int]) -> Tensor:
    """Adds each gradient at its index in the flattened plane."""
    zeros = grad.new_zeros((*shape[:2], torch.Size(shape[2:]).numel()))
    flat = zeros.scatter_add(-1, indices.flatten(2), grad.flatten(2))
    return flat.reshape(tuple(shape))


def _store(x: Tensor) -> Tensor:
    """Returns the same array; makes torch.compile store it in memory."""
    # Otherwise torch.compile computes the input of a pool anew for each window, and once
    # more for the indices in the backward pass. A view by strides prevents that.
    if not torch.compiler.is_compiling() or x.device.type != "cpu":
        return x
    return x.as_strided(x.shape, x.stride())


# The operations of each rank: one function.
max_pool1d = max_pool2d = max_pool
max_pool1d_grad = max_pool2d_grad = max_pool_grad
avg_pool1d = avg_pool2d = avg_pool
avg_pool1d_grad = avg_pool2d_grad = avg_pool_grad
