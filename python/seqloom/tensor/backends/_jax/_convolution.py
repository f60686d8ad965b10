"""Convolutions by XLA; the derivatives are their transposes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import lax

from seqloom.tensor._defaults import seen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Size = int | Sequence[int]

Array = Any


def conv1d(
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """Cross-correlation along the last axis or two."""
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    out = _product(x, weight, **sizes, groups=groups)
    if bias is None:
        return out
    return out + jnp.reshape(bias, (-1, *(1 for _ in x.shape[2:])))


def conv1d_input_grad(
    grad: Array, weight: Array, shape: Sequence[int], **geometry: Any
) -> Array:
    """The derivative of a convolution by its input, which had `shape`."""
    return _transposed(lambda x: _product(x, weight, **geometry), grad, shape)


def conv1d_weight_grad(
    x: Array, grad: Array, shape: Sequence[int], **geometry: Any
) -> tuple[Array, Array]:
    """The derivatives of a convolution by its weight, of `shape`, and by its bias."""
    x = seen(x, grad, shape, **geometry)
    weight = _transposed(lambda weight: _product(x, weight, **geometry), grad, shape)
    return weight, jnp.sum(grad, axis=(0, *range(2, grad.ndim)))


conv2d = conv1d
conv2d_input_grad = conv1d_input_grad
conv2d_weight_grad = conv1d_weight_grad


def _product(
    x: Array,
    weight: Array,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """The convolution without a bias: linear in both."""
    count = len(weight.shape) - 2
    strides, pads, steps = (
        (each,) * count if isinstance(each, int) else tuple(each)
        for each in (stride, padding, dilation)
    )
    return lax.conv_general_dilated(
        x,
        weight,
        strides,
        [(pad, pad) for pad in pads],
        rhs_dilation=steps,
        feature_group_count=groups,
    )


def _transposed(
    linear: Callable[[Array], Array], grad: Array, shape: Sequence[int]
) -> Array:
    """The transpose of a linear function, of which only the input's shape is known."""
    outline = jax.ShapeDtypeStruct(tuple(shape), grad.dtype)
    return jax.linear_transpose(linear, outline)(grad)[0]
