"""Convolutions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError
from seqloom.nn.functional._dtypes import LAYER, require_same_dtype
from seqloom.nn.functional._geometry import (
    number,
    of_one_or_many,
    pair,
    require_axes,
    require_window,
)
from seqloom.tensor import apply

if TYPE_CHECKING:
    from seqloom.nn.functional._geometry import Size
    from seqloom.tensor import Tensor


@of_one_or_many(3)
def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int | str = 0,
    dilation: int = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation along the last axis.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        weight: ``(o, c / groups, k)``.
        bias: ``(o,)``.
        stride: Places from one window to the next.
        padding: Zeros before and after, ``"valid"`` for none, or ``"same"`` for an output
            as long as the input (stride 1; an odd zero goes behind).
        dilation: Places from one weight to the next.
        groups: Blocks of channels that do not see each other.

    Returns:
        ``(n, o, l')``, without `n` where `x` has none.

    Raises:
        ArgumentError: ``"same"`` with a stride; a size is no whole number or too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The arrays have other axes, do not go together, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0, 3.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv1d(x, weight).numpy().tolist()
        [[[3.0, 5.0]]]
    """
    require_axes("conv1d", 3, x, weight)
    require_same_dtype("conv1d", LAYER, weight, x, bias)
    step, apart = number("stride", stride, 1), number("dilation", dilation, 1)
    x, around = _padded(x, weight, (step,), padding, (apart,))
    require_window(x, weight.shape[2:], around, (apart,), "conv1d")
    options = {"groups": number("groups", groups, 1)} if groups != 1 else {}
    return apply(
        "conv1d",
        *(x, weight, bias),
        **{"stride": step, "padding": around[0], "dilation": apart, **options},
    )


@of_one_or_many(4)
def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Size = 1,
    padding: Size | str = 0,
    dilation: Size = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlation along the last two axes; arguments as in `conv1d`.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: ``(o, c / groups, kh, kw)``.
        bias: ``(o,)``.
        stride: Places from one window to the next, for each axis or for both.
        padding: Zeros around, for each axis or for both; ``"valid"`` or ``"same"``.
        dilation: Places from one weight to the next.
        groups: Blocks of channels that do not see each other.

    Returns:
        ``(n, o, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: ``"same"`` with a stride; a size is no whole number or too small.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The arrays have other axes, do not go together, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0, 2.0]]]]), B.tensor([[[[1.0, 1.0]]]])
        >>> conv2d(x, weight).numpy().tolist()
        [[[[3.0]]]]
    """
    require_axes("conv2d", 4, x, weight)
    require_same_dtype("conv2d", LAYER, weight, x, bias)
    step, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
    x, around = _padded(x, weight, step, padding, apart)
    require_window(x, weight.shape[2:], around, apart, "conv2d")
    geometry = {"stride": step, "padding": around, "dilation": apart}
    return apply("conv2d", x, weight, bias, **geometry, groups=number("groups", groups, 1))


def _padded(
    x: Tensor,
    weight: Tensor,
    stride: tuple[int, ...],
    padding: Size | str,
    dilation: tuple[int, ...],
) -> tuple[Tensor, tuple[int, ...]]:
    """The input and the zeros around it; an odd zero is put behind it at once."""
    if not isinstance(padding, str):
        several = len(stride) > 1
        return x, pair("padding", padding, 0) if several else (
            number("padding", padding, 0),
        )
    if padding == "valid":
        return x, (0,) * len(stride)
    sizes = weight.shape[2:]
    if padding != "same" or any(each != 1 for each in stride):
        raise _no_padding(padding, stride, sizes)
    spans = [d * (k - 1) for d, k in zip(dilation, sizes, strict=True)]
    if any(span % 2 for span in spans):
        widths = ((0, 0), (0, 0), *((0, span % 2) for span in spans))
        x = apply("pad", x, widths)
    return x, tuple(span // 2 for span in spans)


def _no_padding(padding: str, stride: Any, sizes: Any) -> ArgumentError:
    """The error for a padding that cannot be."""
    return ArgumentError(
        f"padding={padding!r} with stride {list(stride)} and kernel {list(sizes)}: "
        '"same" needs stride 1; give the padding as a number'
    )


def same_padding(kernel_size: int, stride: int, padding: str, dilation: int) -> int:
    """The padding on each side that keeps the length, where one exists."""
    span = dilation * (kernel_size - 1)
    if padding != "same" or stride != 1 or span % 2:
        raise ArgumentError(
            f'padding={padding!r} with stride {stride} and kernel {kernel_size}: "same" '
            "needs stride 1 and an odd kernel; give the padding as a number"
        )
    return span // 2


@of_one_or_many(3)
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
    """The derivative of `conv1d` by its input, used as a layer that grows the length.

    Args:
        x: ``(n, c, l)``, or ``(c, l)``.
        weight: ``(c, o / groups, k)``.
        bias: ``(o,)``.
        stride: Places from one window to the next, in the output.
        padding: Places cut off on both sides.
        output_padding: Places more at the end.
        groups: Blocks of channels that do not see each other.
        dilation: Places from one weight to the next.

    Returns:
        ``(n, o, l')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is no whole number or too small; more places at the end than
            a stride or a dilation makes room for.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The arrays have other axes, do not go together, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[1.0, 2.0]]]), B.tensor([[[1.0, 1.0]]])
        >>> conv_transpose1d(x, weight, stride=2).numpy().tolist()
        [[[1.0, 1.0, 2.0, 2.0]]]
    """
    require_axes("conv_transpose1d", 3, x, weight)
    require_same_dtype("conv_transpose1d", LAYER, weight, x, bias)
    step, apart = number("stride", stride, 1), number("dilation", dilation, 1)
    extra = number("output_padding", output_padding, 0)
    _require_room((extra,), (step,), (apart,))
    geometry = {"stride": step, "padding": number("padding", padding, 0)}
    geometry |= {"output_padding": extra, "dilation": apart}
    geometry["groups"] = number("groups", groups, 1)
    return apply("conv_transpose1d", x, weight, bias, **geometry)


@of_one_or_many(4)
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
    """The derivative of `conv2d` by its input; arguments as in `conv_transpose1d`.

    Args:
        x: ``(n, c, h, w)``, or ``(c, h, w)``.
        weight: ``(c, o / groups, kh, kw)``.
        bias: ``(o,)``.
        stride: Places from one window to the next, for each axis or for both.
        padding: Places cut off around.
        output_padding: Places more at the ends.
        groups: Blocks of channels that do not see each other.
        dilation: Places from one weight to the next.

    Returns:
        ``(n, o, h', w')``, without `n` where `x` has none.

    Raises:
        ArgumentError: A size is no whole number or too small; more places at the end than
            a stride or a dilation makes room for.
        DTypeError: The arguments do not have the same float type.
        ShapeError: The arrays have other axes, do not go together, or no window fits.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x, weight = B.tensor([[[[1.0]]]]), B.tensor([[[[1.0, 2.0]]]])
        >>> conv_transpose2d(x, weight).numpy().tolist()
        [[[[1.0, 2.0]]]]
    """
    require_axes("conv_transpose2d", 4, x, weight)
    require_same_dtype("conv_transpose2d", LAYER, weight, x, bias)
    step, apart = pair("stride", stride, 1), pair("dilation", dilation, 1)
    extra = pair("output_padding", output_padding, 0)
    _require_room(extra, step, apart)
    geometry = {"stride": step, "padding": pair("padding", padding, 0)}
    geometry |= {"output_padding": extra, "dilation": apart}
    count = number("groups", groups, 1)
    return apply("conv_transpose2d", x, weight, bias, **geometry, groups=count)


def _require_room(
    extra: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> None:
    """Refuses more places at the end than a window could have reached."""
    for more, step, apart in zip(extra, stride, dilation, strict=True):
        if more >= max(step, apart):
            raise ArgumentError(
                f"output_padding {more} must be below the stride {step} or the dilation "
                f"{apart}: it only chooses among the lengths that one input has"
            )
