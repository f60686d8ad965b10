"""Convolutions along any number of axes: a product of matrices for each tap of the kernel.

``x`` is ``(n, c, …)``, ``weight`` ``(o, c / groups, …)``, the result ``(n, o, …)``. The
axes of the weight decide how many there are. The sizes ``stride``, ``padding`` and
``dilation`` are a number, or one for each axis; padding is of zeros, on both sides.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from seqloom.tensor._defaults._window import Windows, to_sizes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._defaults._standard import Array, Functions
    from seqloom.tensor._defaults._window import Size, Tap


def conv(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """Cross-correlation: the sum over all taps of weights times what the tap covers."""
    windows = Windows.of(weight.shape[2:], **geometry)
    counts = windows.counts(x.shape[2:])
    weight = _split_groups(b, weight, 0, groups)
    out = None
    for tap, covered in windows.taps(b, x, 0):
        rows = _to_rows(b, covered, groups)
        part = b.matmul(b.index(weight, (..., *tap)), rows)
        out = part if out is None else b.add(out, part)
    out = b.reshape(out, (x.shape[0], math.prod(weight.shape[:2]), *counts))
    return _add_bias(b, out, bias)


def conv_input_grad(
    b: Functions,
    grad: Array,
    weight: Array,
    shape: Sequence[int],
    *,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """The gradient of `conv` by its input, which had `shape`."""
    windows = Windows.of(weight.shape[2:], **geometry)
    weight = _split_groups(b, weight, 0, groups)
    rows = _to_rows(b, grad, groups)

    def share(tap: Tap) -> Array:
        part = b.matmul(b.matrix_transpose(b.index(weight, (..., *tap))), rows)
        return b.reshape(part, (*shape[:2], *grad.shape[2:]))

    return windows.scatter(b, share, shape)


def conv_weight_grad(
    b: Functions,
    x: Array,
    grad: Array,
    shape: Sequence[int],
    *,
    groups: int = 1,
    **geometry: Size,
) -> tuple[Array, Array]:
    """The gradients of `conv` by its weight, which had `shape`, and by its bias."""
    windows = Windows.of(shape[2:], **geometry)
    rows = _to_rows(b, grad, groups)
    parts: list[Array] = []
    for _, covered in windows.taps(b, x, 0, counts=grad.shape[2:]):
        columns = _to_rows(b, covered, groups)
        parts.append(b.sum(b.matmul(rows, b.matrix_transpose(columns)), axis=0))
    weight = b.reshape(b.stack(parts, axis=-1), tuple(shape))
    return weight, b.sum(grad, axis=(0, *range(2, len(shape))))


def conv_transpose(
    b: Functions,
    x: Array,
    weight: Array,
    bias: Array | None = None,
    *,
    output_padding: Size = 0,
    groups: int = 1,
    **geometry: Size,
) -> Array:
    """The gradient of `conv` by its input as a layer: weight ``(c, o / groups, …)``."""
    windows = Windows.of(weight.shape[2:], **geometry)
    extra = to_sizes(output_padding, len(windows.kernel))
    cut = ((0, 0),) * len(extra)
    if any(more >= step for more, step in zip(extra, windows.stride, strict=True)):
        # Longer than the input of any convolution: computed without padding, then cut at
        # the front, and cut or filled at the end.
        cut = tuple((-p, more - p) for p, more in zip(windows.padding, extra, strict=True))
        windows = windows._replace(padding=(0,) * len(extra))
        extra = (0,) * len(extra)
    shape = (x.shape[0], weight.shape[1] * groups, *windows.lengths(x.shape[2:], extra))
    sizes = {
        "stride": windows.stride,
        "padding": windows.padding,
        "dilation": windows.dilation,
    }
    # As the backend computes it, which may have a kernel.
    input_grad = b.conv1d_input_grad if len(extra) == 1 else b.conv2d_input_grad
    out = input_grad(x, weight, shape, groups=groups, **sizes)
    out = b.pad(out, ((0, 0), (0, 0), *cut)) if any(map(any, cut)) else out
    return _add_bias(b, out, bias)


def _split_groups(b: Functions, x: Array, axis: int, groups: int) -> Array:
    """Splits an axis of channels into two: groups, and the channels of a group."""
    channels = x.shape[axis] // groups
    return b.reshape(x, (*x.shape[:axis], groups, channels, *x.shape[axis + 1 :]))


def _to_rows(b: Functions, x: Array, groups: int) -> Array:
    """Reshapes ``(n, c, …)`` to ``(n, groups, c / groups, positions)``."""
    x = _split_groups(b, x, 1, groups)
    return b.reshape(x, (*x.shape[:3], math.prod(x.shape[3:])))


def _add_bias(b: Functions, out: Array, bias: Array | None) -> Array:
    """Adds one number for each channel."""
    if bias is None:
        return out
    return b.add(out, b.reshape(bias, (-1, *(1 for _ in out.shape[2:]))))


# The operations of each rank: one body.
conv1d = conv2d = conv
conv1d_input_grad = conv2d_input_grad = conv_input_grad
conv1d_weight_grad = conv2d_weight_grad = conv_weight_grad
conv_transpose1d = conv_transpose2d = conv_transpose
