"""Convolutions along any number of axes by XLA; their gradients are its transposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from seqloom.tensor._families._windows import Windows, crop_input

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from seqloom.tensor._families._windows import Size

Array = Any


def conv(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """Cross-correlation along the last axes."""
    windows = Windows.of(weight.shape[2:], **geometry)
    out = lax.conv_general_dilated(
        x,
        weight,
        windows.stride,
        [(pad, pad) for pad in windows.padding],
        rhs_dilation=windows.dilation,
        feature_group_count=groups,
    )
    return (
        out if bias is None else out + jnp.reshape(bias, (-1, *(1 for _ in windows.kernel)))
    )


def conv_input_grad(
    grad: Array, weight: Array, shape: Sequence[int], **geometry: Any
) -> Array:
    """The gradient of `conv` by its input, which had `shape`."""
    return _transpose(lambda x: conv(x, weight, **geometry), grad, shape)


def conv_weight_grad(
    x: Array, grad: Array, shape: Sequence[int], **geometry: Any
) -> tuple[Array, Array]:
    """The gradients of `conv` by its weight, which had `shape`, and by its bias."""
    x = crop_input(x, grad, shape, **geometry)
    weight = _transpose(lambda weight: conv(x, weight, **geometry), grad, shape)
    return weight, jnp.sum(grad, axis=(0, *range(2, grad.ndim)))


def _transpose(
    linear: Callable[[Array], Array], grad: Array, shape: Sequence[int]
) -> Array:
    """Applies the transpose of a linear function to a gradient, given its input's shape."""
    outline = jax.ShapeDtypeStruct(tuple(shape), grad.dtype)
    return jax.linear_transpose(linear, outline)(grad)[0]


# The operations of each rank: one function.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
