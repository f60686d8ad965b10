"""The windows of an image as columns, and back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from seqloom.errors import ShapeError
from seqloom.nn.functional._geometry import pair, require_axes, too_long
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


def unfold(
    x: Tensor, kernel_size: Size, dilation: Size = 1, padding: Size = 0, stride: Size = 1
) -> Tensor:
    """The windows of an image as columns.

    Args:
        x: ``(n, c, h, w)``.
        kernel_size: Places in a window, for each axis or for both.
        dilation: Places from one number of a window to the next.
        padding: Zeros around.
        stride: Places from one window to the next.

    Returns:
        ``(n, c * kh * kw, windows)``.

    Raises:
        ArgumentError: A size is no whole number, or too small.
        ShapeError: `x` has other axes, or the windows do not fit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 2.0, 3.0]]]])
        >>> unfold(x, (1, 2)).numpy().tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    geometry = _geometry(kernel_size, dilation, padding, stride)
    require_axes("unfold", 4, x)
    _windows(x.shape[2:], geometry)
    return apply("unfold", x, **geometry)


def fold(
    x: Tensor,
    output_size: Size,
    kernel_size: Size,
    dilation: Size = 1,
    padding: Size = 0,
    stride: Size = 1,
) -> Tensor:
    """The reverse of `unfold`: columns added where their windows lay.

    Args:
        x: ``(n, c * kh * kw, windows)``.
        output_size: The height and the width of the image.
        kernel_size: Places in a window, for each axis or for both.
        dilation: Places from one number of a window to the next.
        padding: Places around that are cut off.
        stride: Places from one window to the next.

    Returns:
        ``(n, c, h, w)``.

    Raises:
        ArgumentError: A size is no whole number, or too small.
        ShapeError: `x` has other axes, or the windows do not fit.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 2.0], [2.0, 3.0]]])
        >>> fold(x, (1, 3), (1, 2)).numpy().tolist()
        [[[[1.0, 4.0, 3.0]]]]
    """
    geometry = _geometry(kernel_size, dilation, padding, stride)
    shape = pair("output_size", output_size, 1)
    count, area = _windows(shape, geometry), math.prod(geometry["kernel"])
    if x.ndim != 3 or x.shape[1] % area or x.shape[2] != count:  # noqa: PLR2004
        raise ShapeError(
            f"fold into {list(shape)} needs (n, c * {area}, {count}) for this kernel, "
            f"stride, padding and dilation, and got {x.shape}"
        )
    return apply("fold", x, shape=shape, **geometry)


def _geometry(kernel: Size, dilation: Size, padding: Size, stride: Size) -> dict[str, Any]:
    """How windows lie, one number for each axis."""
    return {
        "kernel": pair("kernel_size", kernel, 1),
        "stride": pair("stride", stride, 1),
        "padding": pair("padding", padding, 0),
        "dilation": pair("dilation", dilation, 1),
    }


def _windows(sizes: Sequence[int], geometry: dict[str, Any]) -> int:
    """How many windows fit into an image."""
    rows = zip(sizes, *geometry.values(), strict=True)
    counts = [(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in rows]
    if min(counts) < 1:
        raise too_long("windows as columns", geometry["kernel"], sizes)
    return math.prod(counts)
