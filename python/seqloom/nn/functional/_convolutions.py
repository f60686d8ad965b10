"""Convolutions along one axis or two: the public functions, and one check for both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn.functional._dtypes import LAYER, require_same_dtype
from seqloom.nn.functional._geometry import (
    as_option,
    as_size,
    as_sizes,
    require_axes,
    require_window,
    with_or_without_batch,
)
from seqloom.tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


@with_or_without_batch(3)
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Computes the cross-correlation along the last axis.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        weight: ``(o, c / groups, k)``.
        bias: ``(o,)``.
        stride: Distance between neighbouring windows.
        padding: Number of zeros before and after, ``"valid"`` for none, or ``"same"`` for
            an output as long as the input (stride 1; an odd zero is added at the end).
        dilation: Distance between neighbouring weights of the kernel.
        groups: Number of blocks of channels that are convolved independently.

    Returns:
        ``(n, o, l')``, without `n` where `x` has none.

    Raises:
        ArgumentError: ``"same"`` with a stride; a size is not an integer, or too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or the kernel is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0, 3.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv1d(x, weight).numpy().tolist()
        [[[3.0, 5.0]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return _convolve("conv1d", 1, (x, weight, bias), groups, sizes)


@with_or_without_batch(4)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Computes the cross-correlation along the last two axes.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: ``(o, c / groups, kh, kw)``.
        bias: ``(o,)``.
        stride: Distance between neighbouring windows, for each axis or for both.
        padding: Number of zeros on each side, for each axis or for both; ``"valid"`` or
            ``"same"`` as in `conv1d`.
        dilation: Distance between neighbouring weights of the kernel.
        groups: Number of blocks of channels that are convolved independently.

    Returns:
        ``(n, o, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: ``"same"`` with a stride; a size is not an integer, or too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or the kernel is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0, 2.0]]]]), B.tensor([[[[1.0, 1.0]]]])
        >>> conv2d(x, weight).numpy().tolist()
        [[[[3.0]]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    return _convolve("conv2d", 2, (x, weight, bias), groups, sizes)


@with_or_without_batch(3)
def conv_transpose1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    output_padding: int = 0,
    groups: int = 1,
    dilation: int = 1,
) -> Tensor:
    """Transposed convolution: the gradient of `conv1d` by its input, as a layer.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        weight: ``(c, o / groups, k)``.
        bias: ``(o,)``.
        stride: Distance between neighbouring windows, in the output.
        padding: Number of positions cut off on both sides.
        output_padding: Number of positions added at the end.
        groups: Number of blocks of channels that are convolved independently.
        dilation: Distance between neighbouring weights of the kernel.

    Returns:
        ``(n, o, l')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is not an integer, or too small; or `output_padding` is not
            below the stride or the dilation.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or the kernel is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv_transpose1d(x, weight, stride=2).numpy().tolist()
        [[[1.0, 1.0, 2.0, 2.0]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    sizes["output_padding"] = output_padding
    return _convolve_transposed("conv_transpose1d", 1, (x, weight, bias), groups, sizes)


@with_or_without_batch(4)
def conv_transpose2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size = 0,
    output_padding: Size = 0,
    groups: int = 1,
    dilation: Size = 1,
) -> Tensor:
    """Transposed convolution: the gradient of `conv2d` by its input, as a layer.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: ``(c, o / groups, kh, kw)``.
        bias: ``(o,)``.
        stride: Distance between neighbouring windows, for each axis or for both.
        padding: Number of positions cut off on each side.
        output_padding: Number of positions added at the end of each axis.
        groups: Number of blocks of channels that are convolved independently.
        dilation: Distance between neighbouring weights of the kernel.

    Returns:
        ``(n, o, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is not an integer, or too small; or `output_padding` is not
            below the stride or the dilation.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The shapes do not fit together, or the kernel is longer than the input.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0]]]]), B.tensor([[[[1.0, 2.0]]]])
        >>> conv_transpose2d(x, weight).numpy().tolist()
        [[[[1.0, 2.0]]]]
    """
    sizes = {"stride": stride, "padding": padding, "dilation": dilation}
    sizes["output_padding"] = output_padding
    return _convolve_transposed("conv_transpose2d", 2, (x, weight, bias), groups, sizes)


Arrays = tuple["Tensor", "Tensor", "Tensor | None"]


def _convolve(
    name: str, axes: int, arrays: Arrays, groups: int, sizes: dict[str, Any]
) -> Tensor:
    """Checks the arguments of a convolution along `axes` axes, and computes it."""
    x, weight, bias = arrays
    require_axes(name, axes + 2, x, weight)
    require_same_dtype(name, LAYER, weight, x, bias)
    stride = as_sizes("stride", sizes["stride"], 1, axes)
    dilation = as_sizes("dilation", sizes["dilation"], 1, axes)
    x, padding = _pad_input(x, weight, stride, sizes["padding"], dilation)
    require_window(x, weight.shape[2:], padding, dilation, name)
    options = {"stride": stride, "padding": padding, "dilation": dilation}
    options = {option: as_option(value) for option, value in options.items()}
    return apply(name, x, weight, bias, **options, groups=as_size("groups", groups, 1))


def _pad_input(
    x: Tensor,
    weight: Tensor,
    stride: tuple[int, ...],
    padding: Size | str,
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:
    """Returns the input, with an odd zero at the end, and the padding on both sides."""
    if not isinstance(padding, str):
        return x, as_sizes("padding", padding, 0, len(stride))
    widths = find_same_padding(padding, weight.shape[2:], stride, dilation)
    odd = [(0, after - before) for before, after in widths]
    if any(map(any, odd)):
        x = apply("pad", x, ((0, 0), (0, 0), *odd))
    return x, tuple(before for before, _ in widths)


def find_same_padding(
    padding: str,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
) -> list[tuple[int, int]]:
    """Returns the numbers before and after each axis of ``"same"`` or ``"valid"``."""
    if padding == "valid":
        return [(0, 0) for _ in kernel]
    if padding != "same" or any(step != 1 for step in stride):
        raise ArgumentError(
            f"padding={padding!r} with stride {list(stride)} and kernel {list(kernel)}: "
            '"same" needs stride 1; pass the padding as a number'
        )
    spans = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return [(span // 2, span - span // 2) for span in spans]


def _convolve_transposed(
    name: str, axes: int, arrays: Arrays, groups: int, sizes: dict[str, Any]
) -> Tensor:
    """Checks the arguments of a transposed convolution, and computes it."""
    x, weight, bias = arrays
    require_axes(name, axes + 2, x, weight)
    require_same_dtype(name, LAYER, weight, x, bias)
    options = {
        option: as_sizes(option, size, 1 if option in {"stride", "dilation"} else 0, axes)
        for option, size in sizes.items()
    }
    require_reach(options["output_padding"], options["stride"], options["dilation"])
    options = {option: as_option(value) for option, value in options.items()}
    return apply(name, x, weight, bias, **options, groups=as_size("groups", groups, 1))


def require_reach(
    extra: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> None:
    """Raises an error for an output padding that no window could have reached."""
    for more, step, apart in zip(extra, stride, dilation, strict=True):
        if more >= max(step, apart):
            raise ArgumentError(
                f"output_padding {more} must be below the stride {step} or the dilation "
                f"{apart}: it only chooses among the lengths that one input has"
            )
