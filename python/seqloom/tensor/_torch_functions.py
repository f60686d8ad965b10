"""Functions along an axis, with the names and arguments of PyTorch."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._dispatch import apply
from seqloom.tensor._elements import check_axis
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence


def split(
    x: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Split a tensor along an axis into parts of equal or given lengths.

    Args:
        x: A tensor with at least one axis.
        split_size_or_sections: The length of each part except the last, which may be
            shorter; or a list with the length of every part.
        dim: The axis to split.

    Returns:
        A tuple of tensors.

    Raises:
        ArgumentError: A length is below 0, or the sum of the lengths is not the length
            of the axis.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> [part.tolist() for part in split(x, 2)]
        [[1.0, 2.0], [3.0]]
    """
    axis = check_axis(dim, x.ndim, "split")
    sizes = _find_part_lengths(split_size_or_sections, x.shape[axis])
    starts = accumulate(sizes, initial=0)
    key = (slice(None),) * axis
    return tuple(
        x[(*key, slice(start, start + size))]
        for start, size in zip(starts, sizes, strict=False)
    )


def _find_part_lengths(size_or_sizes: int | Sequence[int], length: int) -> list[int]:
    """Return the lengths of all parts into which an axis is split."""
    if isinstance(size_or_sizes, int):
        if size_or_sizes < 1:
            raise ArgumentError(
                f"split: split_size_or_sections must be at least 1, got {size_or_sizes}"
            )
        rest = length % size_or_sizes
        full = [size_or_sizes] * (length // size_or_sizes)
        return full + ([rest] if rest or not length else [])
    sizes = list(size_or_sizes)
    if sum(sizes) != length or min(sizes, default=0) < 0:
        raise ArgumentError(
            f"split: the lengths {sizes} must add up to the length of the axis, {length}"
        )
    return sizes


def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Split a tensor along an axis into equal parts; the last part may be shorter.

    Args:
        x: A tensor with at least one axis.
        chunks: The maximum number of parts; a short axis is split into fewer parts.
        dim: The axis to split.

    Returns:
        A tuple of tensors.

    Raises:
        ArgumentError: `chunks` is below 1.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> [part.tolist() for part in chunk(x, 2)]
        [[1.0, 2.0], [3.0]]
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: chunks must be at least 1, got {chunks}")
    length = x.shape[check_axis(dim, x.ndim, "chunk")]
    return split(x, -(-length // chunks), dim) if length else split(x, [0] * chunks, dim)


def cumsum(x: Tensor, dim: int) -> Tensor:
    """Compute the cumulative sum along an axis.

    Args:
        x: A tensor with at least one axis.
        dim: The axis along which the function is applied.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> cumsum(sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 3.0, 6.0]
    """
    return apply("cumulative_sum", x, axis=check_axis(dim, x.ndim, "cumsum"))


def cumprod(x: Tensor, dim: int) -> Tensor:
    """Compute the cumulative product along an axis.

    Args:
        x: A tensor with at least one axis.
        dim: The axis along which the function is applied.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> cumprod(sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 2.0, 6.0]
    """
    return apply("cumulative_prod", x, axis=check_axis(dim, x.ndim, "cumprod"))


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """Compute the logarithm of the cumulative sum of exponentials along an axis.

    Args:
        x: A tensor with at least one axis.
        dim: The axis along which the function is applied.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> logcumsumexp(sl.tensor.backend("numpy").tensor([2.0, -200.0]), 0).tolist()
        [2.0, 2.0]
    """
    return apply("logcumsumexp", x, axis=check_axis(dim, x.ndim, "logcumsumexp"))


def gather(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """Return the values at the given indices along an axis, like ``torch.gather``.

    Args:
        x: A tensor with at least one axis.
        dim: The axis along which the function is applied.
        index: Indices along the axis, from 0; on all other axes, not longer than `x`.

    Returns:
        A tensor with the shape of `index`.

    Raises:
        OutOfRangeError: An index is outside the axis.
        ShapeError: `index` has a different number of axes, or is longer than `x`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> gather(x, 1, B.tensor([[1, 0, 1]])).tolist()
        [[2.0, 1.0, 2.0]]
    """
    axis = check_axis(dim, x.ndim, "gather")
    part = x[_make_covered_key(x, index, axis, "gather")]
    return apply("take_along_axis", part, index, axis=axis)


def scatter(x: Tensor, dim: int, index: Tensor, src: Tensor | float) -> Tensor:
    """Replace values at the given indices along an axis, like ``torch.scatter``.

    Args:
        x: A tensor with at least one axis; it is not changed.
        dim: The axis along which the function is applied.
        index: Indices along the axis, from 0; on all other axes, not longer than `x`.
        src: A number, or a tensor at least as long as `index` on every axis.

    Returns:
        A tensor with the shape of `x`. If an index occurs twice, one of the two values
        is used.

    Raises:
        OutOfRangeError: An index is outside the axis.
        ShapeError: `index` has a different number of axes, or is longer than `x` or `src`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> scatter(B.tensor([[1.0, 2.0, 3.0]]), 1, B.tensor([[2, 0]]), 9.0).tolist()
        [[9.0, 2.0, 9.0]]
    """
    axis = check_axis(dim, x.ndim, "scatter")
    key = _make_covered_key(x, index, axis, "scatter")
    values = _trim_values(src, index, "scatter")
    put = apply("put_along_axis", x[key], index, values, axis=axis)
    return x.at[key].set(put)


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """Add values at the given indices along an axis, like ``torch.scatter_add``.

    Args:
        x: A tensor with at least one axis; it is not changed.
        dim: The axis along which the function is applied.
        index: Indices along the axis, from 0; on all other axes, not longer than `x`.
        src: A tensor at least as long as `index` on every axis.

    Returns:
        A tensor with the shape of `x`. If an index occurs twice, both values are added.

    Raises:
        ArgumentError: `src` is not a tensor.
        OutOfRangeError: An index is outside the axis.
        ShapeError: `index` has a different number of axes, or is longer than `x` or `src`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> scatter_add(B.tensor([0.0]), 0, B.tensor([0, 0]), B.tensor([1.0, 2.0])).tolist()
        [3.0]
    """
    axis = check_axis(dim, x.ndim, "scatter_add")
    _make_covered_key(x, index, axis, "scatter_add")
    values = _trim_values(src, index, "scatter_add")
    return apply("scatter_add", x, index, values, axis=axis)


def _make_covered_key(x: Tensor, index: Tensor, axis: int, name: str) -> tuple[slice, ...]:
    """Return a key that crops a tensor to the shape of `index`, except on one axis."""
    sizes = [*enumerate(zip(index.shape, x.shape, strict=False))]
    if index.ndim != x.ndim or any(i > n for other, (i, n) in sizes if other != axis):
        raise ShapeError(
            f"{name}: index must have the same number of axes as the tensor and, except on "
            f"axis {axis}, not be longer, got {index.shape} and {x.shape}"
        )
    return tuple(slice(None) if other == axis else slice(0, i) for other, (i, _) in sizes)


def _trim_values(src: object, index: Tensor, name: str) -> Any:
    """Return `src`, cropped to the shape of `index`."""
    if not isinstance(src, Tensor) or src.shape == index.shape:
        return src
    if src.ndim != index.ndim or any(
        s < i for s, i in zip(src.shape, index.shape, strict=True)
    ):
        raise ShapeError(
            f"{name}: src must be at least as long as index on every axis; src has shape "
            f"{src.shape}, index {index.shape}"
        )
    return src[tuple(slice(0, size) for size in index.shape)]
