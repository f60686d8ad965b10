"""Max pooling and average pooling along one axis or two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn._module import Module
from seqloom.nn._operands import (
    as_sizes,
    check_windows,
    require_floats,
    require_numbers,
    unpack_size,
    with_or_without_batch,
)
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Callable

    from seqloom.nn._operands import Size
    from seqloom.tensor import Tensor


@with_or_without_batch(3)
def max_pool1d(
    x: Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    dilation: int = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions added on each side; these positions are never the
            maximum.
        dilation: Distance between neighbouring positions of a window.
        ceil_mode: If True, keep a last window that starts inside the padded input and
            ends outside.
        return_indices: If True, also return the index of each maximum in its row.

    Returns:
        Output ``(n, c, l')``; with `return_indices`, a pair of the maxima and their
        indices.

    Raises:
        ArgumentError: A size is not an integer or is too small, or the padding is more
            than half the window.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has a wrong number of axes, or the window is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> max_pool1d(x, 2).numpy().tolist()
        [[[5.0, 3.0]]]
    """
    sizes = kernel_size, stride, padding, dilation
    maxima = _find_maxima(x, 1, sizes, ceil_mode=ceil_mode)
    return maxima if return_indices else maxima[0]


@with_or_without_batch(4)
def max_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of a two-dimensional input.

    Args:
        x: Input ``(n, c, h, w)``, or ``(c, h, w)``.
        kernel_size: Number of positions in a window: one number, or one for each axis.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions added on each side; these positions are never the
            maximum.
        dilation: Distance between neighbouring positions of a window.
        ceil_mode: If True, keep last windows that start inside the padded input and end
            outside.
        return_indices: If True, also return the index of each maximum in the flattened
            plane.

    Returns:
        Output ``(n, c, h', w')``; with `return_indices`, a pair of the maxima and their
        indices.

    Raises:
        ArgumentError: A size is not an integer or is too small, or the padding is more
            than half the window.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has a wrong number of axes, or the window is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 3.0]]]])
        >>> max_pool2d(x, 2).item()
        5.0
    """
    sizes = kernel_size, stride, padding, dilation
    maxima = _find_maxima(x, 2, sizes, ceil_mode=ceil_mode)
    return maxima if return_indices else maxima[0]


@with_or_without_batch(3)
def avg_pool1d(
    x: Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """Compute the mean of each window.

    Args:
        x: Input ``(n, c, l)``, or ``(c, l)``.
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros added on each side.
        ceil_mode: If True, keep a last window that starts inside the padded input and
            ends outside; positions outside are not counted.
        count_include_pad: If True, include the zeros of the padding in the means.

    Returns:
        Output ``(n, c, l')``, or ``(c, l')`` if `x` has no batch axis.

    Raises:
        ArgumentError: A size is not an integer or is too small, or the padding is more
            than half the window.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has a wrong number of axes, or the window is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> avg_pool1d(x, 2).numpy().tolist()
        [[[3.0, 2.5]]]
    """
    require_floats("avg_pool1d", x)
    flags = {"ceil_mode": bool(ceil_mode), "count_include_pad": bool(count_include_pad)}
    return apply(
        "avg_pool1d", x, **_pool_options(x, 1, kernel_size, stride, padding, **flags)
    )


@with_or_without_batch(4)
def avg_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """Compute the mean of each window of a two-dimensional input.

    Args:
        x: Input ``(n, c, h, w)``, or ``(c, h, w)``.
        kernel_size: Number of positions in a window: one number, or one for each axis.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros added on each side.
        ceil_mode: If True, keep last windows that start inside the padded input and end
            outside.
        count_include_pad: If True, include the zeros of the padding in the means.
        divisor_override: Divisor of each sum; default: the number of counted positions.

    Returns:
        Output ``(n, c, h', w')``, or ``(c, h', w')`` if `x` has no batch axis.

    Raises:
        ArgumentError: A size is not an integer or is too small, the padding is more
            than half the window, or the divisor is 0.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has a wrong number of axes, or the window is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> avg_pool2d(x, 2).item()
        3.0
    """
    if divisor_override == 0:
        raise ArgumentError("divisor_override must not be 0; omit it to get the mean")
    require_floats("avg_pool2d", x)
    flags = {"ceil_mode": bool(ceil_mode), "count_include_pad": bool(count_include_pad)}
    options = _pool_options(
        x, 2, kernel_size, stride, padding, **flags, divisor_override=divisor_override
    )
    return apply("avg_pool2d", x, **options)


def _find_maxima(x: Tensor, axes: int, sizes: tuple[Any, ...], *, ceil_mode: bool) -> Any:
    """Return the maximum of each window along `axes` axes, and its index."""
    options = _pool_options(x, axes, *sizes, ceil_mode=bool(ceil_mode))
    require_numbers(f"max_pool{axes}d", x)
    return apply(f"max_pool{axes}d", x, **options)


def _pool_options(
    x: Tensor,
    axes: int,
    kernel: Size,
    stride: Size | None,
    padding: Size,
    dilation: Size = 1,
    **flags: Any,
) -> dict[str, Any]:
    """Check the windows of a pooling operation; return the operation's options."""
    size = as_sizes("kernel_size", kernel, 1, axes)
    step = size if stride is None else as_sizes("stride", stride, 1, axes)
    around = as_sizes("padding", padding, 0, axes)
    gaps = as_sizes("dilation", dilation, 1, axes)
    check_windows(x, size, around, gaps, f"pooling of {'rows' if axes == 1 else 'images'}")
    options = {"kernel": size, "stride": step, "padding": around}
    if gaps != (1,) * axes:
        options["dilation"] = gaps
    sizes = {name: unpack_size(value) for name, value in options.items()}
    return sizes | {name: flag for name, flag in flags.items() if flag != _DEFAULTS[name]}


# Default values are omitted, so a custom backend does not need these arguments.
_DEFAULTS = {"ceil_mode": False, "count_include_pad": True, "divisor_override": None}


class MaxPool(Module):
    """Base class of the max pooling layers."""

    kernel_size: Size
    stride: Size | None
    padding: Size
    dilation: Size
    return_indices: bool
    ceil_mode: bool
    _axes = 1

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
        """Pool ``(n, c, ...)``; return the maxima, or a pair of maxima and indices."""
        function: Callable[..., Any] = max_pool1d if self._axes == 1 else max_pool2d
        sizes = self.kernel_size, self.stride, self.padding, self.dilation
        return function(x, *sizes, self.ceil_mode, self.return_indices)


class MaxPool1d(MaxPool, init=False):
    """Max pooling along the last axis.

    Args:
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions added on each side; these positions are never the
            maximum.
        dilation: Distance between neighbouring positions of a window.
        return_indices: If True, also return the index of each maximum, as in
            `functional.max_pool1d`.
        ceil_mode: If True, keep a last window that starts inside the padded input and
            ends outside.

    Examples:
        >>> import seqloom as sl
        >>> sl.nn.MaxPool1d(2)(sl.tensor.backend("numpy").tensor([[[1.0, 4.0]]])).item()
        4.0
    """


class MaxPool2d(MaxPool, init=False):
    """Max pooling along the last two axes.

    Args:
        kernel_size: Number of positions in a window: one number, or one for each axis.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of positions added on each side; these positions are never the
            maximum.
        dilation: Distance between neighbouring positions of a window.
        return_indices: If True, also return the index of each maximum, as in
            `functional.max_pool2d`.
        ceil_mode: If True, keep last windows that start inside the padded input and end
            outside.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 4.0], [2.0, 3.0]]]])
        >>> sl.nn.MaxPool2d(2)(x).item()
        4.0
    """

    _axes = 2


class AvgPool1d(Module):
    """Average pooling along the last axis.

    Args:
        kernel_size: Number of positions in a window.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros added on each side.
        ceil_mode: If True, keep a last window that starts inside the padded input and
            ends outside.
        count_include_pad: If True, include the zeros of the padding in the means.

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
        """Pool ``(n, c, l)`` to ``(n, c, l')``."""
        sizes = self.kernel_size, self.stride, self.padding
        return avg_pool1d(x, *sizes, self.ceil_mode, self.count_include_pad)


class AvgPool2d(Module):
    """Average pooling along the last two axes.

    Args:
        kernel_size: Number of positions in a window: one number, or one for each axis.
        stride: Distance between neighbouring windows; default `kernel_size`.
        padding: Number of zeros added on each side.
        ceil_mode: If True, keep last windows that start inside the padded input and end
            outside.
        count_include_pad: If True, include the zeros of the padding in the means.
        divisor_override: Divisor of each sum; default: the number of counted positions.

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
        """Pool ``(n, c, h, w)`` to ``(n, c, h', w')``."""
        sizes = self.kernel_size, self.stride, self.padding
        flags = self.ceil_mode, self.count_include_pad, self.divisor_override
        return avg_pool2d(x, *sizes, *flags)
