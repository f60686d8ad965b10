"""Converts windows of an image to columns, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import ShapeError
from seqloom.nn.functional._geometry import as_sizes, require_axes, too_long
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


def unfold(
    x: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """Copies the windows of an image into columns.

    Args:
        x: ``(n, c, h, w)``.
        kernel_size: Height and width of a window, or one length for both.
        dilation: Distance between neighbouring elements of a window.
        padding: Number of zeros around the image.
        stride: Distance between neighbouring windows.

    Returns:
        ``(n, c * kh * kw, windows)``.

    Raises:
        ArgumentError: A size is not an integer, or too small.
        ShapeError: `x` has another number of axes, or the windows do not fit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 2.0, 3.0]]]])
        >>> unfold(x, (1, 2)).numpy().tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    geometry = _geometry(kernel_size, dilation, padding, stride)
    require_axes("unfold", 4, x)
    _count_windows(x.shape[2:], geometry)
    return apply("unfold", x, **geometry)


def fold(
    x: Tensor,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """Adds columns back into an image, at the positions of their windows.

    Args:
        x: ``(n, c * kh * kw, windows)``.
        output_size: Height and width of the image.
        kernel_size: Height and width of a window, or one length for both.
        dilation: Distance between neighbouring elements of a window.
        padding: Number of positions around the image that are cut off.
        stride: Distance between neighbouring windows.

    Returns:
        ``(n, c, h, w)``.

    Raises:
        ArgumentError: A size is not an integer, or too small.
        ShapeError: `x` has another number of axes, or the windows do not fit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 2.0], [2.0, 3.0]]])
        >>> fold(x, (1, 3), (1, 2)).numpy().tolist()
        [[[[1.0, 4.0, 3.0]]]]
    """
    geometry = _geometry(kernel_size, dilation, padding, stride)
    shape = as_sizes("output_size", output_size, 1, 2)
    count, area = _count_windows(shape, geometry), math.prod(geometry["kernel"])
    if x.ndim != 3 or x.shape[1] % area or x.shape[2] != count:  # noqa: PLR2004
        raise ShapeError(
            f"fold: x must have shape (n, c * {area}, {count}) for output_size={shape} and "
            f"this kernel, stride, padding and dilation, got {x.shape}"
        )
    return apply("fold", x, shape=shape, **geometry)


def _geometry(kernel: Size, dilation: Size, padding: Size, stride: Size) -> dict[str, Any]:
    """Returns the sizes of windows, one number for each axis."""
    return {
        "kernel": as_sizes("kernel_size", kernel, 1, 2),
        "stride": as_sizes("stride", stride, 1, 2),
        "padding": as_sizes("padding", padding, 0, 2),
        "dilation": as_sizes("dilation", dilation, 1, 2),
    }


def _count_windows(sizes: Sequence[int], geometry: dict[str, Any]) -> int:
    """Counts the windows that fit into an image."""
    rows = zip(sizes, *geometry.values(), strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in rows]
    if min(counts) < 1:
        raise too_long("unfold or fold", geometry["kernel"], sizes)
    return math.prod(counts)
