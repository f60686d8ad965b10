"""Pooling: one number for each window."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn.functional._dtypes import require_floats, require_numbers
from seqloom.nn.functional._geometry import number, of_one_or_many, pair, require_pool
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


@of_one_or_many(3)
def max_pool1d(
    x: Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    dilation: int = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Places before and after that never win.
        dilation: Places from one place of a window to the next.
        ceil_mode: Whether a last window may reach beyond the padding; it begins before.
        return_indices: Give the places of the largest values too, in the row.

    Returns:
        ``(n, c, l')``; with `return_indices` a pair of it and of whole numbers.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> max_pool1d(x, 2).numpy().tolist()
        [[[5.0, 3.0]]]
    """
    options = _row(x, kernel_size, stride, padding, dilation)
    require_numbers("max_pool1d", x)
    found = apply("max_pool1d", x, **options, **_ceil(ceil_mode))
    return found if return_indices else found[0]


@of_one_or_many(4)
def max_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    dilation: Size = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest value of each window of an image; arguments as in `max_pool1d`.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        kernel_size: Places in a window, for each axis or for both.
        stride: Places from one window to the next; default the window.
        padding: Places around that never win.
        dilation: Places from one place of a window to the next.
        ceil_mode: Whether last windows may reach beyond the padding; they begin before.
        return_indices: Give the places of the largest values too, in the flattened plane.

    Returns:
        ``(n, c, h', w')``; with `return_indices` a pair of it and of whole numbers.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        DTypeError: `x` has a boolean type.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 3.0]]]])
        >>> max_pool2d(x, 2).item()
        5.0
    """
    options = _plane(x, kernel_size, stride, padding, dilation)
    require_numbers("max_pool2d", x)
    found = apply("max_pool2d", x, **options, **_ceil(ceil_mode))
    return found if return_indices else found[0]


@of_one_or_many(3)
def avg_pool1d(
    x: Tensor,
    kernel_size: int,
    stride: int | None = None,
    padding: int = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        kernel_size: Places in a window.
        stride: Places from one window to the next; default the window.
        padding: Zeros before and after.
        ceil_mode: Whether a last window may reach beyond the padding; it begins before,
            and what lies beyond does not count.
        count_include_pad: Whether zeros of the padding count.

    Returns:
        ``(n, c, l')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is no whole number or too small, or the padding is more than
            half the window.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 5.0, 2.0, 3.0]]])
        >>> avg_pool1d(x, 2).numpy().tolist()
        [[[3.0, 2.5]]]
    """
    require_floats("avg_pool1d", x)
    options = _row(x, kernel_size, stride, padding)
    return apply("avg_pool1d", x, **options, **_counting(ceil_mode, count_include_pad))


@of_one_or_many(4)
def avg_pool2d(
    x: Tensor,
    kernel_size: Size,
    stride: Size | None = None,
    padding: Size = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of an image; arguments as in `avg_pool1d`.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        kernel_size: Places in a window, for each axis or for both.
        stride: Places from one window to the next; default the window.
        padding: Zeros around.
        ceil_mode: Whether last windows may reach beyond the padding; they begin before.
        count_include_pad: Whether zeros of the padding count.
        divisor_override: What sums are divided by; default how many places count.

    Returns:
        ``(n, c, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is no whole number or too small, the padding is more than
            half the window, or the divisor is 0.
        DTypeError: `x` has an integer or boolean type.
        ShapeError: `x` has other axes, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[[[1.0, 5.0], [2.0, 4.0]]]])
        >>> avg_pool2d(x, 2).item()
        3.0
    """
    if divisor_override == 0:
        raise ArgumentError("divisor_override must not be 0; leave it out for the mean")
    require_floats("avg_pool2d", x)
    options = _plane(x, kernel_size, stride, padding)
    options |= _counting(ceil_mode, count_include_pad)
    if divisor_override is not None:
        options["divisor_override"] = divisor_override
    return apply("avg_pool2d", x, **options)


def _row(
    x: Tensor, kernel: int, stride: int | None, padding: int, dilation: int = 1
) -> dict[str, Any]:
    """How the windows of a row lie."""
    wide, around = number("kernel_size", kernel, 1), number("padding", padding, 0)
    step = wide if stride is None else number("stride", stride, 1)
    apart = number("dilation", dilation, 1)
    require_pool(x, (wide,), (around,), (apart,), "pooling of rows")
    options = {"kernel": wide, "stride": step, "padding": around}
    return options if apart == 1 else {**options, "dilation": apart}


def _plane(
    x: Tensor, kernel: Size, stride: Size | None, padding: Size, dilation: Size = 1
) -> dict[str, Any]:
    """How the windows of an image lie."""
    wide, around = pair("kernel_size", kernel, 1), pair("padding", padding, 0)
    step = wide if stride is None else pair("stride", stride, 1)
    apart = pair("dilation", dilation, 1)
    require_pool(x, wide, around, apart, "pooling of images")
    options = {"kernel": wide, "stride": step, "padding": around}
    return options if apart == (1, 1) else {**options, "dilation": apart}


def _ceil(ceil_mode: bool) -> dict[str, Any]:
    """The option, where it is not the default."""
    return {"ceil_mode": True} if ceil_mode else {}


def _counting(ceil_mode: bool, count_include_pad: bool) -> dict[str, Any]:
    """The options of a mean that are not the default."""
    counted = {} if count_include_pad else {"count_include_pad": False}
    return _ceil(ceil_mode) | counted
