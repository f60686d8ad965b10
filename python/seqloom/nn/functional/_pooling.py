"""Pooling: one number for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn.functional._operands import pair
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor import Tensor

    Size = int | Sequence[int]


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> max_pool1d(x, 2).numpy().tolist()
        [[[5.0, 3.0]]]
    """
    return apply(
        "max_pool1d", x, kernel=kernel_size, stride=stride or kernel_size, padding=padding
    )[0]


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 3.0]]]])
        >>> max_pool2d(x, 2).item()
        5.0
    """
    step = pair(stride if stride is not None else kernel_size)
    return apply(
        "max_pool2d", x, kernel=pair(kernel_size), stride=step, padding=pair(padding)
    )[0]


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> avg_pool1d(x, 2).numpy().tolist()
        [[[3.0, 2.5]]]
    """
    return apply(
        "avg_pool1d", x, kernel=kernel_size, stride=stride or kernel_size, padding=padding
    )


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

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> avg_pool2d(x, 2).item()
        3.0
    """
    step = pair(stride if stride is not None else kernel_size)
    return apply(
        "avg_pool2d", x, kernel=pair(kernel_size), stride=step, padding=pair(padding)
    )
