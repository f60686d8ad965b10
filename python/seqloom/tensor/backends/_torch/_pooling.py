"""Pooling: torch's kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._backend import Backend

    Size = Any  # a number, or a tuple of one for each axis

aten = torch.ops.aten


def max_pool1d(
    x: Tensor,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest of each window of ``(n, c, l)``, and its place in the row."""
    out, places = functional.max_pool1d(
        _stored(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True
    )
    return out, _stored(places)


def max_pool2d(
    x: Tensor,
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The largest of each window of ``(n, c, h, w)``, and its place in the plane."""
    out, places = functional.max_pool2d(
        _stored(x), kernel, stride, padding, dilation, ceil_mode, return_indices=True
    )
    return out, _stored(places)


def max_pool1d_grad(
    b: Backend, grad: Tensor, places: Tensor, shape: Sequence[int]
) -> Tensor:
    """The derivative of ``max_pool1d`` by its input, which had `shape`."""
    plane = (*shape[:2], 1, shape[2])
    return b.max_pool2d_grad(grad[:, :, None], places[:, :, None], plane)[:, :, 0]


def max_pool2d_grad(grad: Tensor, places: Tensor, shape: Sequence[int]) -> Tensor:
    """The derivative of ``max_pool2d`` by its input, which had `shape`."""
    kernel = [
        size - count + 1 for size, count in zip(shape[2:], grad.shape[2:], strict=True)
    ]
    if grad.is_cuda or min(kernel) < 1:
        return _scattered(grad, places, shape)
    # On a CPU the kernel goes by the places; that many windows fit is all it asks of
    # their size.
    x = grad.new_empty(1).expand(tuple(shape))
    return aten.max_pool2d_with_indices_backward(
        grad, x, kernel, [1, 1], [0, 0], [1, 1], False, places
    )


def avg_pool1d(
    x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0, **options: Any
) -> Tensor:
    """The mean of each window of ``(n, c, l)``."""
    return functional.avg_pool1d(x, kernel, stride, padding, **options)


def avg_pool2d(
    x: Tensor, *, kernel: Size, stride: Size, padding: Size = 0, **options: Any
) -> Tensor:
    """The mean of each window of ``(n, c, h, w)``."""
    return functional.avg_pool2d(x, kernel, stride, padding, **options)


def avg_pool1d_grad(
    b: Backend,
    grad: Tensor,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Tensor:
    """The derivative of ``avg_pool1d`` by its input, which had `shape`."""
    plane = b.avg_pool2d_grad(
        grad[:, :, None],
        (*shape[:2], 1, shape[2]),
        kernel=(1, *_one(kernel)),
        stride=(1, *_one(stride)),
        padding=(0, *_one(padding)),
        **options,
    )
    return plane[:, :, 0]


def avg_pool2d_grad(
    grad: Tensor,
    shape: Sequence[int],
    *,
    kernel: Size,
    stride: Size,
    padding: Size = 0,
    **options: Any,
) -> Tensor:
    """The derivative of ``avg_pool2d`` by its input, which had `shape`."""
    sizes = (_pair(each) for each in (kernel, stride, padding))
    x = grad.new_empty(1).expand(tuple(shape))
    known = {"ceil_mode": False, "count_include_pad": True, "divisor_override": None}
    return aten.avg_pool2d_backward(grad, x, *sizes, *(known | options).values())


def _scattered(grad: Tensor, places: Tensor, shape: Sequence[int]) -> Tensor:
    """Each derivative, added at its place in the plane."""
    zeros = grad.new_zeros((*shape[:2], torch.Size(shape[2:]).numel()))
    flat = zeros.scatter_add(-1, places.flatten(2), grad.flatten(2))
    return flat.reshape(tuple(shape))


def _stored(x: Tensor) -> Tensor:
    """The same array, which torch.compile puts into memory."""
    # It would compute what is pooled anew for each window, and once more backward for the
    # places. A view by strides is what makes it store.
    if not torch.compiler.is_compiling() or x.device.type != "cpu":
        return x
    return x.as_strided(x.shape, x.stride())


def _one(size: Size) -> tuple[int, ...]:
    """A size of one axis."""
    return (size,) if isinstance(size, int) else tuple(size)


def _pair(size: Size) -> tuple[int, ...]:
    """A size of two axes."""
    return (size, size) if isinstance(size, int) else tuple(size)
