"""Convolutions along one or two axes, as blocks of matrix products in Rust.

The kernels take images: one axis of positions is passed as an image of height 1.
"""

from __future__ import annotations

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
    Pair = tuple[int, ...]

_ONE_AXIS = 3  # axes of (n, c, l)


def conv(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Size,
) -> Floats:
    """Cross-correlation, into a new array or into `out`."""
    windows = Windows.of(weight.shape[2:], **geometry)
    if out is None:
        counts = windows.counts(x.shape[2:])
        out = fresh((x.shape[0], weight.shape[0], *counts), x.dtype)
    arrays = _to_image(x), _to_image(weight), bias, _to_image(out)
    _native.conv2d(*arrays, _to_steps(windows), groups, b.threads)
    return out


def conv_input_grad(
    b: Backend,
    grad: Floats,
    weight: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Size,
) -> Floats:
    """The gradient of `conv` by its input, which had `shape`."""
    windows = Windows.of(weight.shape[2:], **geometry)
    out = fresh(tuple(shape), grad.dtype) if out is None else out
    arrays = _to_image(grad), _to_image(weight), _to_image(out)
    _native.conv2d_input_grad(*arrays, _to_steps(windows), groups, b.threads)
    return out


def conv_weight_grad(
    b: Backend,
    x: Floats,
    grad: Floats,
    shape: Sequence[int],
    *,
    groups: int = 1,
    out: tuple[Floats, Floats] | None = None,
    **geometry: Size,
) -> tuple[Floats, Floats]:
    """The gradients of `conv` by its weight, which had `shape`, and by its bias."""
    windows = Windows.of(shape[2:], **geometry)
    if out is None:
        out = fresh(tuple(shape), grad.dtype), np.empty(shape[0], grad.dtype)
    arrays = _to_image(x), _to_image(grad), _to_image(out[0]), out[1]
    _native.conv2d_weight_grad(*arrays, _to_steps(windows), groups, b.threads)
    return out


def conv_transpose(
    b: Backend,
    x: Floats,
    weight: Floats,
    bias: Floats | None = None,
    *,
    output_padding: Size = 0,
    groups: int = 1,
    out: Floats | None = None,
    **geometry: Any,
) -> Floats:
    """The gradient of `conv` by its input as a layer: weight ``(c, o / groups, …)``."""
    windows = Windows.of(weight.shape[2:], **geometry)
    extra = to_sizes(output_padding, x.ndim - 2)
    if any(more >= step for more, step in zip(extra, windows.stride, strict=True)):
        # Longer than the input of any convolution, which the kernel refuses.
        geometry |= {"output_padding": extra, "groups": groups}
        return write_to(Backend.conv_transpose1d(b, x, weight, bias, **geometry), out)
    lengths = windows.lengths(x.shape[2:], extra)
    shape = (x.shape[0], weight.shape[1] * groups, *lengths)
    out = conv_input_grad(b, x, weight, shape, groups=groups, out=out, **geometry)
    if bias is not None:
        out += bias.reshape(-1, *(1 for _ in lengths))
    return out


def _to_image(x: Floats) -> Floats:
    """Returns the array in C order, with a height of 1 in front of a single axis."""
    x = np.ascontiguousarray(x)
    return x[:, :, None, :] if x.ndim == _ONE_AXIS else x


def _to_steps(windows: Windows) -> tuple[Pair, Pair, Pair]:
    """Returns stride, padding and dilation of an image: each (height, width)."""
    _, stride, padding, dilation, _ = windows
    if len(stride) > 1:
        return stride, padding, dilation
    return (1, *stride), (0, *padding), (1, *dilation)


# The operations of each rank: one function.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
conv_transpose1d = conv_transpose2d = conv_transpose
