"""Pooling: one number for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn.functional._geometry import number, pair, require_pool
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


def max_pool1d(
    x: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0
) -> Tensor:
    """The largest value of each window.

    Args:
        x: ``(n, c, l)``.
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Places before and after that never win.

    Returns:
        ``(n, c, l')``.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> max_pool1d(x, 2).numpy().tolist()
        [[[5.0, 3.0]]]
    """
    return apply("max_pool1d", x, **_row(x, kernel_size, stride, padding))[0]


def max_pool2d(
    x: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0
) -> Tensor:
    """The largest value of each window of an image; arguments as in `max_pool1d`.

    Args:
        x: ``(n, c, h, w)``.
        kernel_size: Places in a window, for each axis or for both.
        stride: Places from one window to the next; default the window.
        padding: Places around that never win.

    Returns:
        ``(n, c, h', w')``.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 3.0]]]])
        >>> max_pool2d(x, 2).item()
        5.0
    """
    return apply("max_pool2d", x, **_plane(x, kernel_size, stride, padding))[0]


def avg_pool1d(
    x: Tensor, kernel_size: int, stride: int | None = None, padding: int = 0
) -> Tensor:
    """The mean of each window; zeros of the padding count.

    Args:
        x: ``(n, c, l)``.
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Zeros before and after.

    Returns:
        ``(n, c, l')``.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> avg_pool1d(x, 2).numpy().tolist()
        [[[3.0, 2.5]]]
    """
    return apply("avg_pool1d", x, **_row(x, kernel_size, stride, padding))


def avg_pool2d(
    x: Tensor, kernel_size: Size, stride: Size | None = None, padding: Size = 0
) -> Tensor:
    """The mean of each window of an image; zeros of the padding count.

    Args:
        x: ``(n, c, h, w)``.
        kernel_size: Places in a window, for each axis or for both.
        stride: Places from one window to the next; default the window.
        padding: Zeros around.

    Returns:
        ``(n, c, h', w')``.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> avg_pool2d(x, 2).item()
        3.0
    """
    return apply("avg_pool2d", x, **_plane(x, kernel_size, stride, padding))


def _row(x: Tensor, kernel: int, stride: int | None, padding: int) -> dict[str, int]:
    """How the windows of a row lie."""
    wide, around = number("kernel_size", kernel, 1), number("padding", padding, 0)
    step = wide if stride is None else number("stride", stride, 1)
    require_pool(x, (wide,), (around,), "pooling of rows")
    return {"kernel": wide, "stride": step, "padding": around}


def _plane(
    x: Tensor, kernel: Size, stride: Size | None, padding: Size
) -> dict[str, tuple[int, int]]:
    """How the windows of an image lie."""
    wide, around = pair("kernel_size", kernel, 1), pair("padding", padding, 0)
    step = wide if stride is None else pair("stride", stride, 1)
    require_pool(x, wide, around, "pooling of images")
    return {"kernel": wide, "stride": step, "padding": around}
