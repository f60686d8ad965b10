"""Modules that pool windows of a given size: the maximum, or the mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom.tensor import Tensor

Size = int | tuple[int, int]


class MaxPool1d(Module):
    """Computes the maximum of each window.

    Args:
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions before and after, which are never the maximum.
        dilation: Distance between neighbouring positions of a window.
        return_indices: Whether to return the index of each maximum too, as
            `functional.max_pool1d` does.
        ceil_mode: Whether the last window may end, but not start, beyond the padding.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.MaxPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        4.0
    """

    kernel_size: int
    stride: int | None
    padding: int
    dilation: int
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        dilation: int = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode
        self.return_indices = return_indices

    def __call__(self, x: Tensor) -> Any:
        """``(n, c, l)`` to ``(n, c, l')``, or a pair of that and the indices."""
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return functional.max_pool1d(x, *sizes, self.ceil_mode, self.return_indices)


class MaxPool2d(Module):
    """Computes the maximum of each window of an image.

    Args:
        kernel_size: Number of positions in a window, for each axis or for both.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions on each side, which are never the maximum.
        dilation: Distance between neighbouring positions of a window.
        return_indices: Whether to return the index of each maximum too, as
            `functional.max_pool2d` does.
        ceil_mode: Whether the last window may end, but not start, beyond the padding.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 4.0], [2.0, 3.0]]]])
        >>> sl.nn.MaxPool2d(2)(x).item()
        4.0
    """

    kernel_size: Size
    stride: Size | None
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        dilation: Size = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.dilation, self.ceil_mode = dilation, ceil_mode
        self.return_indices = return_indices

    def __call__(self, x: Tensor) -> Any:
        """``(n, c, h, w)`` to ``(n, c, h', w')``, or a pair of that and the indices."""
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return functional.max_pool2d(x, *sizes, self.ceil_mode, self.return_indices)


class AvgPool1d(Module):
    """Computes the mean of each window.

    Args:
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros before and after.
        ceil_mode: Whether the last window may end, but not start, beyond the padding.
        count_include_pad: Whether the zeros of the padding count as values.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.AvgPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        2.5
    """

    kernel_size: int
    stride: int | None
    padding: int
    ceil_mode: bool
    count_include_pad: bool

    def __init__(
        self,
        kernel_size: int,
        stride: int | None = None,
        padding: int = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, l)`` to ``(n, c, l')``."""
        sizes = self.kernel_size, self.stride, self.padding
        return functional.avg_pool1d(x, *sizes, self.ceil_mode, self.count_include_pad)


class AvgPool2d(Module):
    """Computes the mean of each window of an image.

    Args:
        kernel_size: Number of positions in a window, for each axis or for both.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros on each side.
        ceil_mode: Whether the last windows may end, but not start, beyond the padding.
        count_include_pad: Whether the zeros of the padding count as values.
        divisor_override: Divisor of each sum; default the number of positions that count.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> sl.nn.AvgPool2d(2)(x).item()
        3.0
    """

    kernel_size: Size
    stride: Size | None
    padding: Size
    ceil_mode: bool
    count_include_pad: bool
    divisor_override: int | None

    def __init__(
        self,
        kernel_size: Size,
        stride: Size | None = None,
        padding: Size = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad = ceil_mode, count_include_pad
        self.divisor_override = divisor_override

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, h, w)`` to ``(n, c, h', w')``."""
        sizes = self.kernel_size, self.stride, self.padding
        flags = self.ceil_mode, self.count_include_pad, self.divisor_override
        return functional.avg_pool2d(x, *sizes, *flags)
