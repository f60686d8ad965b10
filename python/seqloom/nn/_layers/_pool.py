"""Pooling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

Size = int | tuple[int, int]


class MaxPool1d(Module):
    """The largest value of each window.

    Args:
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Places before and after that never win.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.MaxPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        4.0
    """

    kernel_size: int
    stride: int | None
    padding: int

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, l)`` to ``(n, c, l')``."""
        return functional.max_pool1d(x, self.kernel_size, self.stride, self.padding)


class MaxPool2d(Module):
    """The largest value of each window of a plane.

    Args:
        kernel_size: Places in a window, for each axis or for both.
        stride: Places from one window to the next; default the window.
        padding: Places around that never win.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 4.0], [2.0, 3.0]]]])
        >>> sl.nn.MaxPool2d(2)(x).item()
        4.0
    """

    kernel_size: Size
    stride: Size | None
    padding: Size

    def __init__(
        self, kernel_size: Size, stride: Size | None = None, padding: Size = 0
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, h, w)`` to ``(n, c, h', w')``."""
        return functional.max_pool2d(x, self.kernel_size, self.stride, self.padding)


class AvgPool1d(Module):
    """The mean of each window.

    Args:
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Zeros before and after, which count.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.AvgPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        2.5
    """

    kernel_size: int
    stride: int | None
    padding: int

    def __init__(
        self, kernel_size: int, stride: int | None = None, padding: int = 0
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, l)`` to ``(n, c, l')``."""
        return functional.avg_pool1d(x, self.kernel_size, self.stride, self.padding)
