"""Functions of several tensors, or of whole axes, by the standard's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._tensor import apply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._tensor import Tensor


def concat(tensors: Sequence[Tensor], *, axis: int | None = 0) -> Tensor:
    """Tensors one after another along an axis that they have.

    Args:
        tensors: At least one; their other axes are equal.
        axis: Which axis; None joins them all flat.

    Returns:
        A tensor as long on that axis as all of them together.

    Raises:
        ShapeError: Their other axes differ.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
        >>> concat([x, x], axis=1).tolist()
        [[1.0, 2.0, 1.0, 2.0]]
    """
    return apply("concat", list(tensors), axis=axis)


def stack(tensors: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    """Tensors of one shape along a new axis.

    Args:
        tensors: At least one.
        axis: Where the new axis stands.

    Returns:
        A tensor with one axis more.

    Raises:
        ShapeError: Their shapes differ.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> stack([x, x]).shape
        (2, 2)
    """
    return apply("stack", list(tensors), axis=axis)


def einsum(equation: str, *tensors: Tensor) -> Tensor:
    """Products summed as letters say (the summation convention).

    Args:
        equation: Such as ``"bij,bjk->bik"``: letters for axes; those missing on the right
            are summed over.
        *tensors: One for each group of letters.

    Returns:
        A tensor with the axes on the right.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> einsum("ij->j", x).tolist()
        [4.0, 6.0]
    """
    return apply("einsum", equation, *tensors)


def sort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """The values along an axis in order; equal ones keep theirs.

    Args:
        x: A tensor of one axis or more.
        axis: Which axis.
        descending: Largest first.

    Returns:
        A tensor of that shape.

    Examples:
        >>> import seqloom as sl
        >>> sort(sl.tensor.backend("numpy").tensor([3.0, 1.0, 2.0])).tolist()
        [1.0, 2.0, 3.0]
    """
    return apply("sort", x, axis=axis, descending=descending)


def topk(x: Tensor, k: int, *, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The largest values along an axis, and where they stand.

    Args:
        x: A tensor of one axis or more.
        k: How many; at most the axis's length.
        axis: Which axis.

    Returns:
        The values, largest first, and their places.

    Raises:
        ArgumentError: The axis is shorter.

    Examples:
        >>> import seqloom as sl
        >>> values, places = topk(sl.tensor.backend("numpy").tensor([3.0, 1.0, 2.0]), 2)
        >>> values.tolist(), places.tolist()
        ([3.0, 2.0], [0, 2])
    """
    return apply("topk", x, k, axis=axis)


def take_along_axis(x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
    """The values along an axis that stand at the given places.

    Args:
        x: A tensor of one axis or more.
        indices: Places, of x's shape on all other axes.
        axis: Which axis.

    Returns:
        A tensor of the indices' shape.

    Raises:
        OutOfRangeError: A place is beyond the axis.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> take_along_axis(x, B.tensor([[1], [0]])).tolist()
        [[2.0], [3.0]]
    """
    return apply("take_along_axis", x, indices, axis=axis)
