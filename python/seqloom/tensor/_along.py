"""Functions along an axis, by torch's names and arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import ArgumentError, ShapeError
from seqloom.tensor._shaping import axis_of
from seqloom.tensor._tensor import Tensor, apply

if TYPE_CHECKING:
    from collections.abc import Sequence


def split(
    x: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Parts of a tensor along an axis, of one length or of given lengths.

    Args:
        x: A tensor of one axis or more.
        split_size_or_sections: The length of each part, the last one of what is left; or
            the lengths of all parts.
        dim: Which axis.

    Returns:
        The parts.

    Raises:
        ArgumentError: A length is below 0, or the lengths do not add up to the axis.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> [part.tolist() for part in split(x, 2)]
        [[1.0, 2.0], [3.0]]
    """
    axis = axis_of(dim, x.ndim, "split")
    length = x.shape[axis]
    if isinstance(split_size_or_sections, int):
        size = split_size_or_sections
        if size < 1:
            raise ArgumentError(f"split: the length of a part must be at least 1: {size}")
        rest = length % size
        sizes = [size] * (length // size) + ([rest] if rest or not length else [])
    else:
        sizes = list(split_size_or_sections)
    if sum(sizes) != length or min(sizes, default=0) < 0:
        raise ArgumentError(f"split: lengths {sizes} do not add up to {length}")
    starts = [sum(sizes[:place]) for place in range(len(sizes))]
    key = (slice(None),) * axis
    return tuple(
        x[(*key, slice(start, start + size))]
        for start, size in zip(starts, sizes, strict=True)
    )


def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most so many parts of a tensor along an axis, equal but for the last.

    Args:
        x: A tensor of one axis or more.
        chunks: How many parts at most.
        dim: Which axis.

    Returns:
        The parts.

    Raises:
        ArgumentError: Fewer than one part is asked for.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0])
        >>> [part.tolist() for part in chunk(x, 2)]
        [[1.0, 2.0], [3.0]]
    """
    if chunks < 1:
        raise ArgumentError(f"chunk: chunks must be at least 1, got {chunks}")
    length = x.shape[axis_of(dim, x.ndim, "chunk")]
    return split(x, -(-length // chunks), dim) if length else split(x, [0] * chunks, dim)


def cumsum(x: Tensor, dim: int) -> Tensor:
    """The sums up to each place of an axis.

    Args:
        x: A tensor of one axis or more.
        dim: Which axis.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> cumsum(sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 3.0, 6.0]
    """
    return apply("cumulative_sum", x, axis=axis_of(dim, x.ndim, "cumsum"))


def cumprod(x: Tensor, dim: int) -> Tensor:
    """The products up to each place of an axis.

    Args:
        x: A tensor of one axis or more.
        dim: Which axis.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> cumprod(sl.tensor.backend("numpy").tensor([1.0, 2.0, 3.0]), 0).tolist()
        [1.0, 2.0, 6.0]
    """
    return apply("cumulative_prod", x, axis=axis_of(dim, x.ndim, "cumprod"))


def logcumsumexp(x: Tensor, dim: int) -> Tensor:
    """The logarithms of the sums of exponentials up to each place of an axis.

    Args:
        x: A tensor of one axis or more.
        dim: Which axis.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> logcumsumexp(sl.tensor.backend("numpy").tensor([2.0, -200.0]), 0).tolist()
        [2.0, 2.0]
    """
    return apply("logcumsumexp", x, axis=axis_of(dim, x.ndim, "logcumsumexp"))


def gather(x: Tensor, dim: int, index: Tensor) -> Tensor:
    """The values along an axis that stand at the given places, as torch's ``gather``.

    Args:
        x: A tensor of one axis or more.
        dim: Which axis.
        index: Places, whole numbers from 0; on the other axes at most as long as `x`.

    Returns:
        A tensor of the index's shape.

    Raises:
        OutOfRangeError: A place is beyond the axis.
        ShapeError: The index has other axes, or reaches beyond `x`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> gather(x, 1, B.tensor([[1, 0, 1]])).tolist()
        [[2.0, 1.0, 2.0]]
    """
    axis = axis_of(dim, x.ndim, "gather")
    part = x[_reach(x, index, axis, "gather")]
    return apply("take_along_axis", part, index, axis=axis)


def scatter(x: Tensor, dim: int, index: Tensor, src: Tensor | float) -> Tensor:
    """A tensor with values put at the given places of an axis, as torch's ``scatter``.

    Args:
        x: A tensor of one axis or more; it stays as it is.
        dim: Which axis.
        index: Places, whole numbers from 0; on the other axes at most as long as `x`.
        src: A number, or values at least as long as the index on every axis.

    Returns:
        A tensor of x's shape; where a place occurs twice, one of its values.

    Raises:
        OutOfRangeError: A place is beyond the axis.
        ShapeError: The index has other axes, or reaches beyond `x` or `src`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> scatter(B.tensor([[1.0, 2.0, 3.0]]), 1, B.tensor([[2, 0]]), 9.0).tolist()
        [[9.0, 2.0, 9.0]]
    """
    axis = axis_of(dim, x.ndim, "scatter")
    key = _reach(x, index, axis, "scatter")
    values = _values(src, index, "scatter")
    put = apply("put_along_axis", x[key], index, values, axis=axis)
    return x.at[key].set(put)


def scatter_add(x: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A tensor with values added at the given places of an axis, as torch's.

    Args:
        x: A tensor of one axis or more; it stays as it is.
        dim: Which axis.
        index: Places, whole numbers from 0; on the other axes at most as long as `x`.
        src: Values at least as long as the index on every axis.

    Returns:
        A tensor of x's shape; where a place occurs twice, both are added.

    Raises:
        OutOfRangeError: A place is beyond the axis.
        ShapeError: The index has other axes, or reaches beyond `x` or `src`.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> scatter_add(B.tensor([0.0]), 0, B.tensor([0, 0]), B.tensor([1.0, 2.0])).tolist()
        [3.0]
    """
    axis = axis_of(dim, x.ndim, "scatter_add")
    _reach(x, index, axis, "scatter_add")
    values = _values(src, index, "scatter_add")
    return apply("scatter_add", x, index, values, axis=axis)


def _reach(x: Tensor, index: Tensor, axis: int, name: str) -> tuple[slice, ...]:
    """The part of a tensor that an index reaches on the other axes."""
    sizes = [*enumerate(zip(index.shape, x.shape, strict=False))]
    if index.ndim != x.ndim or any(i > n for at, (i, n) in sizes if at != axis):
        raise ShapeError(
            f"{name}: an index of shape {index.shape} does not fit a tensor of shape "
            f"{x.shape}: as many axes, none longer but axis {axis}"
        )
    return tuple(slice(None) if at == axis else slice(0, i) for at, (i, _) in sizes)


def _values(src: Any, index: Tensor, name: str) -> Any:
    """As many values as the index has places."""
    if not isinstance(src, Tensor) or src.shape == index.shape:
        return src
    if src.ndim != index.ndim or any(
        s < i for s, i in zip(src.shape, index.shape, strict=True)
    ):
        raise ShapeError(
            f"{name}: src of shape {src.shape} has fewer values than the index of shape "
            f"{index.shape}"
        )
    return src[tuple(slice(0, size) for size in index.shape)]
