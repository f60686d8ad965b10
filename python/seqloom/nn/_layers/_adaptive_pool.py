"""Modules that pool to a given number of windows, whatever the length of the input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.nn import functional
from seqloom.nn._module import Module

if TYPE_CHECKING:
    from seqloom.nn.functional._adaptive_pooling import OutputSize
    from seqloom.tensor import Tensor


class AdaptiveAvgPool1d(Module):
    """Computes the means of windows that divide a row.

    Where the windows lie: see `functional.adaptive_avg_pool1d`.

    Args:
        output_size: Number of windows.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> sl.nn.AdaptiveAvgPool1d(2)(x).numpy().tolist()
        [[[2.0, 4.0]]]
    """

    output_size: int

    def __init__(self, output_size: int) -> None:
        self.output_size = output_size

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, l)`` to ``(n, c, output_size)``."""
        return functional.adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2d(Module):
    """Computes the means of windows that divide an image.

    Where the windows lie: see `functional.adaptive_avg_pool1d`.

    Args:
        output_size: Number of windows along each axis, or along both; None for as many as
            the axis has positions.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> sl.nn.AdaptiveAvgPool2d(1)(x).item()
        3.0
    """

    output_size: OutputSize

    def __init__(self, output_size: OutputSize) -> None:
        self.output_size = output_size

    def __call__(self, x: Tensor) -> Tensor:
        """``(n, c, h, w)`` to ``(n, c, h', w')``."""
        return functional.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveMaxPool1d(Module):
    """Computes the maxima of windows that divide a row.

    Where the windows lie: see `functional.adaptive_avg_pool1d`.

    Args:
        output_size: Number of windows.
        return_indices: Whether to return the index of each maximum too.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 3.0, 5.0]]])
        >>> sl.nn.AdaptiveMaxPool1d(2)(x).numpy().tolist()
        [[[3.0, 5.0]]]
    """

    output_size: int
    return_indices: bool

    def __init__(self, output_size: int, return_indices: bool = False) -> None:
        self.output_size, self.return_indices = output_size, return_indices

    def __call__(self, x: Tensor) -> Any:
        """``(n, c, l)`` to ``(n, c, output_size)``, or a pair of that and the indices."""
        return functional.adaptive_max_pool1d(x, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(Module):
    """Computes the maxima of windows that divide an image.

    Where the windows lie: see `functional.adaptive_avg_pool1d`.

    Args:
        output_size: Number of windows along each axis, or along both; None for as many as
            the axis has positions.
        return_indices: Whether to return the index of each maximum too.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> sl.nn.AdaptiveMaxPool2d(1)(x).item()
        5.0
    """

    output_size: OutputSize
    return_indices: bool

    def __init__(self, output_size: OutputSize, return_indices: bool = False) -> None:
        self.output_size, self.return_indices = output_size, return_indices

    def __call__(self, x: Tensor) -> Any:
        """``(n, c, h, w)`` to ``(n, c, h', w')``, or a pair of that and the indices."""
        return functional.adaptive_max_pool2d(x, self.output_size, self.return_indices)
