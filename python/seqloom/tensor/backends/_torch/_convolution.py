"""Convolutions: torch's, and ``convolution_backward`` for their gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch.nn import functional

from seqloom.tensor._families._windows import Windows, crop_input

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._families._windows import Size

aten = torch.ops.aten
_ONE_AXIS = 3  # axes of (n, c, l)


def conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation along the last axis or two."""
    function = functional.conv1d if x.ndim == _ONE_AXIS else functional.conv2d
    return function(x, weight, bias, stride, padding, dilation, groups)


def conv_transpose(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, **geometry: Any
) -> Tensor:
    """The gradient of `conv` by its input as a layer."""
    is_row = x.ndim == _ONE_AXIS
    function = functional.conv_transpose1d if is_row else functional.conv_transpose2d
    return function(x, weight, bias, **geometry)


def conv_input_grad(
    grad: Tensor, weight: Tensor, shape: Sequence[int], **geometry: Any
) -> Tensor:
    """The gradient of `conv` by its input, which had `shape`."""
    x = _outline(grad, shape)
    return _backward(grad, x, weight, (True, False, False), **geometry)[0]


def conv_weight_grad(
    x: Tensor, grad: Tensor, shape: Sequence[int], **geometry: Any
) -> tuple[Tensor, Tensor]:
    """The gradients of `conv` by its weight, which had `shape`, and by its bias."""
    x, weight = crop_input(x, grad, shape, **geometry), _outline(grad, shape)
    _, weight, bias = _backward(grad, x, weight, (False, True, True), **geometry)
    return weight, bias


def conv_grads(
    grad: Tensor,
    x: Tensor,
    weight: Tensor | Sequence[int],
    *,
    wanted: Sequence[bool],
    **geometry: Any,
) -> Any:
    """Those gradients by input, weight and bias that are wanted, in one call."""
    # Of the weight its shape is enough where no gradient by the input is wanted.
    if not isinstance(weight, Tensor):
        x, weight = crop_input(x, grad, weight, **geometry), _outline(grad, weight)
    found = _backward(grad, x, weight, wanted, **geometry)
    made = [part for part, is_wanted in zip(found, wanted, strict=True) if is_wanted]
    return made if len(made) > 1 else made[0]


def _outline(grad: Tensor, shape: Sequence[int]) -> Tensor:
    """Makes an array for its shape alone: it takes the memory of one value."""
    return grad.new_empty(1).expand(tuple(shape))


def _backward(
    grad: Tensor,
    x: Tensor,
    weight: Tensor,
    wanted: Sequence[bool],
    *,
    groups: int = 1,
    **geometry: Size,
) -> tuple[Any, Any, Any]:
    """Computes the wanted gradients by input, weight and bias."""
    kernel, *sizes, _ = Windows.of(weight.shape[2:], **geometry)
    none = [0] * len(kernel)
    biases = [weight.shape[0]]
    return aten.convolution_backward(
        grad, x, weight, biases, *sizes, False, none, groups, list(wanted)
    )


# The operations of each rank: one function.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
conv_transpose1d = conv_transpose2d = conv_transpose
