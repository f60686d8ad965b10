"""Convolutions: a product of matrices for each place of the kernel.

``x`` is ``(n, c, …)``, ``weight`` ``(o, c / groups, …)``, the result ``(n, o, …)``.
Sizes are a number, or one for each axis; padding is of zeros, on both sides.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from seqloom.tensor._defaults._window import Windows, pairs

if TYPE_CHECKING:
    from seqloom.tensor._defaults._standard import Array, Functions

Size = int | Sequence[int]


def conv1d(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """Cross-correlation along the last axis."""
    windows = Windows.of(weight.shape[2:], stride, padding, dilation)
    return _convolve(b, x, weight, bias, windows, groups)


def conv2d(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """Cross-correlation along the last two axes."""
    windows = Windows.of(weight.shape[2:], stride, padding, dilation)
    return _convolve(b, x, weight, bias, windows, groups)


def conv1d_input_grad(
    b: Functions, grad: Array, weight: Array, shape: Sequence[int], **geometry: Any
) -> Array:
    """The derivative of ``conv1d`` by its input, which had `shape`."""
    return _input_grad(b, grad, weight, shape, **geometry)


def conv2d_input_grad(
    b: Functions, grad: Array, weight: Array, shape: Sequence[int], **geometry: Any
) -> Array:
    """The derivative of ``conv2d`` by its input, which had `shape`."""
    return _input_grad(b, grad, weight, shape, **geometry)


def conv1d_weight_grad(
    b: Functions, x: Array, grad: Array, shape: Sequence[int], **geometry: Any
) -> tuple[Array, Array]:
    """The derivatives of ``conv1d`` by its weight, of `shape`, and by its bias."""
    return _weight_grad(b, x, grad, shape, **geometry)


def conv2d_weight_grad(
    b: Functions, x: Array, grad: Array, shape: Sequence[int], **geometry: Any
) -> tuple[Array, Array]:
    """The derivatives of ``conv2d`` by its weight, of `shape`, and by its bias."""
    return _weight_grad(b, x, grad, shape, **geometry)


def conv_transpose1d(
    b: Functions, x: Array, weight: Array, bias: Array | None = None, **geometry: Any
) -> Array:
    """Torch's ``conv_transpose1d``: weight ``(c, o / groups, k)``."""
    return _transposed(b, b.conv1d_input_grad, x, weight, bias, **geometry)


def conv_transpose2d(
    b: Functions, x: Array, weight: Array, bias: Array | None = None, **geometry: Any
) -> Array:
    """Torch's ``conv_transpose2d``: weight ``(c, o / groups, kh, kw)``."""
    return _transposed(b, b.conv2d_input_grad, x, weight, bias, **geometry)


def _convolve(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None,
    windows: Windows,
    groups: int,
) -> Array:
    """The sum over the places of the kernel of weights times what they see."""
    places = windows.counts(x.shape[2:])
    weight = _grouped(b, weight, 0, groups)
    out = None
    for tap, seen in windows.taps(b, x, 0):
        rows = _rows(b, seen, groups)
        part = b.matmul(b.index(weight, (..., *tap)), rows)
        out = part if out is None else b.add(out, part)
    out = b.reshape(out, (x.shape[0], math.prod(weight.shape[:2]), *places))
    return out if bias is None else b.add(out, _channels(b, bias, len(places)))


def _input_grad(
    b: Functions,
    grad: Array,
    weight: Array,
    shape: Sequence[int],
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """Each place of the kernel sends its share back to where it looked."""
    windows = Windows.of(weight.shape[2:], stride, padding, dilation)
    weight = _grouped(b, weight, 0, groups)
    rows = _rows(b, grad, groups)

    def share(tap: tuple[int, ...]) -> Array:
        part = b.matmul(b.matrix_transpose(b.index(weight, (..., *tap))), rows)
        return b.reshape(part, (*shape[:2], *grad.shape[2:]))

    return windows.gathered(b, share, shape)


def _weight_grad(
    b: Functions,
    x: Array,
    grad: Array,
    shape: Sequence[int],
    *,
    stride: Size = 1,
    padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> tuple[Array, Array]:
    """For each place of the kernel, the gradient times what it saw."""
    windows = Windows.of(shape[2:], stride, padding, dilation)
    rows = _rows(b, grad, groups)
    parts: list[Array] = []
    for _, seen in windows.taps(b, x, 0, counts=grad.shape[2:]):
        columns = _rows(b, seen, groups)
        parts.append(b.sum(b.matmul(rows, b.matrix_transpose(columns)), axis=0))
    weight = b.reshape(b.stack(parts, axis=-1), tuple(shape))
    return weight, b.sum(grad, axis=(0, *range(2, len(shape))))


def _grouped(b: Functions, x: Array, axis: int, groups: int) -> Array:
    """An axis of channels as two: groups, and the channels of one."""
    channels = x.shape[axis] // groups
    return b.reshape(x, (*x.shape[:axis], groups, channels, *x.shape[axis + 1 :]))


def _rows(b: Functions, x: Array, groups: int) -> Array:
    """``(n, c, …)`` as ``(n, groups, c / groups, places)``."""
    x = _grouped(b, x, 1, groups)
    return b.reshape(x, (*x.shape[:3], math.prod(x.shape[3:])))


def _transposed(
    b: Functions,
    input_grad: Any,
    x: Array,
    weight: Array,
    bias: Array | None,
    *,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Array:
    """The derivative of a convolution by its input, used as a layer."""
    windows = Windows.of(weight.shape[2:], stride, padding, dilation)
    extra = pairs(output_padding, len(windows.kernel))
    cut = ((0, 0),) * len(extra)
    if any(more >= step for more, step in zip(extra, windows.stride, strict=True)):
        # Longer than any convolution's input: made whole, then cut and filled.
        cut = tuple((-p, more - p) for p, more in zip(windows.padding, extra, strict=True))
        windows, extra = replace(windows, padding=(0,) * len(extra)), (0,) * len(extra)
    shape = (x.shape[0], weight.shape[1] * groups, *windows.lengths(x.shape[2:], extra))
    geometry = {"stride": windows.stride, "padding": windows.padding}
    geometry |= {"dilation": windows.dilation, "groups": groups}
    out = input_grad(x, weight, shape, **geometry)
    out = b.pad(out, ((0, 0), (0, 0), *cut)) if any(map(any, cut)) else out
    return out if bias is None else b.add(out, _channels(b, bias, len(extra)))


def _channels(b: Functions, bias: Array, count: int) -> Array:
    """A bias shaped to meet channels."""
    return b.reshape(bias, (-1, *(1,) * count))
