"""Convolutions: torch's, and ``convolution_backward`` for both derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._defaults import seen

if TYPE_CHECKING:
    from collections.abc import Sequence

    Size = int | Sequence[int]

aten = torch.ops.aten


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation along the last axis."""
    return functional.conv1d(x, weight, bias, stride, padding, dilation, groups)


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation along the last two axes."""
    return functional.conv2d(x, weight, bias, stride, padding, dilation, groups)


def conv1d_input_grad(
    grad: Tensor, weight: Tensor, shape: Sequence[int], **geometry: Any
) -> Tensor:
    """The derivative of ``conv1d`` by its input, which had `shape`."""
    x = _outline(grad, shape)
    return _backward(grad, x, weight, (True, False, False), **geometry)[0]


def conv1d_weight_grad(
    x: Tensor, grad: Tensor, shape: Sequence[int], **geometry: Any
) -> tuple[Tensor, Tensor]:
    """The derivatives of ``conv1d`` by its weight, of `shape`, and by its bias."""
    x, weight = seen(x, grad, shape, **geometry), _outline(grad, shape)
    _, weight, bias = _backward(grad, x, weight, (False, True, True), **geometry)
    return weight, bias


conv2d_input_grad = conv1d_input_grad
conv2d_weight_grad = conv1d_weight_grad


def conv_grads(
    grad: Tensor,
    x: Tensor,
    weight: Tensor | Sequence[int],
    *,
    wanted: Sequence[bool],
    **geometry: Any,
) -> Any:
    """Those derivatives by input, weight and bias that are wanted, in one call."""
    # Of the weight its shape is enough where none by the input is wanted.
    if not isinstance(weight, Tensor):
        x, weight = seen(x, grad, weight, **geometry), _outline(grad, weight)
    every = _backward(grad, x, weight, wanted, **geometry)
    made = [each for each, is_wanted in zip(every, wanted, strict=True) if is_wanted]
    return made if len(made) > 1 else made[0]


def conv_transpose1d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, **geometry: Any
) -> Tensor:
    """The turn of ``conv1d``."""
    return functional.conv_transpose1d(x, weight, bias, **geometry)


def conv_transpose2d(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, **geometry: Any
) -> Tensor:
    """The turn of ``conv2d``."""
    return functional.conv_transpose2d(x, weight, bias, **geometry)


def _outline(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """An array of which only the shape is looked at: it takes the memory of one value."""
    return grad.new_empty(1).expand(tuple(shape))


def _backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    wanted: Sequence[bool],
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tuple[Any, Any, Any]:
    """The derivatives that are wanted: by input, weight, bias."""
    count = x.ndim - 2
    sizes = [
        [each] * count if isinstance(each, int) else list(each)
        for each in (stride, padding, dilation)
    ]
    return aten.convolution_backward(
        grad, x, weight, [weight.shape[0]], *sizes, False, [0] * count, groups, list(wanted)
    )
