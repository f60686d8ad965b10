"""The windows of an image as columns, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn.functional._operands import pair
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor import Tensor

    Size = int | Sequence[int]


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 2.0, 3.0]]]])
        >>> unfold(x, (1, 2)).numpy().tolist()
        [[[1.0, 2.0], [2.0, 3.0]]]
    """
    return apply("unfold", x, **_geometry(kernel_size, dilation, padding, stride))


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 2.0], [2.0, 3.0]]])
        >>> fold(x, (1, 3), (1, 2)).numpy().tolist()
        [[[[1.0, 4.0, 3.0]]]]
    """
    geometry = _geometry(kernel_size, dilation, padding, stride)
    return apply("fold", x, shape=pair(output_size), **geometry)


def _geometry(kernel: Size, dilation: Size, padding: Size, stride: Size) -> dict[str, Any]:
    """How windows lie, one number for each axis."""
    return {
        "kernel": pair(kernel),
        "stride": pair(stride),
        "padding": pair(padding),
        "dilation": pair(dilation),
    }
