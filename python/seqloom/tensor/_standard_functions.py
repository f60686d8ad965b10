"""Functions of tensors with the names of the Array API standard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from seqloom.tensor._dispatch import apply, find_backend, translate_error
from seqloom.tensor._tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seqloom.tensor._families import ArrayFunctions


def exp(x: Tensor) -> Tensor:
    """Compute ``e**x``.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> exp(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [1.0]
    """
    return apply("exp", x)


def log(x: Tensor) -> Tensor:
    """Compute the natural logarithm.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> log(sl.tensor.backend("numpy").tensor([1.0])).tolist()
        [0.0]
    """
    return apply("log", x)


def log1p(x: Tensor) -> Tensor:
    """Compute ``log(1 + x)``, accurate for small x.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> log1p(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [0.0]
    """
    return apply("log1p", x)


def sqrt(x: Tensor) -> Tensor:
    """Compute the square root.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> sqrt(sl.tensor.backend("numpy").tensor([9.0])).tolist()
        [3.0]
    """
    return apply("sqrt", x)


def sin(x: Tensor) -> Tensor:
    """Compute the sine of an angle in radians.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> sin(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [0.0]
    """
    return apply("sin", x)


def cos(x: Tensor) -> Tensor:
    """Compute the cosine of an angle in radians.

    Args:
        x: A tensor of any shape.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> cos(sl.tensor.backend("numpy").tensor([0.0])).tolist()
        [1.0]
    """
    return apply("cos", x)


def maximum(x: Tensor, other: Tensor | float) -> Tensor:
    """Select the larger of two values, elementwise.

    If either value is NaN, the result is NaN.

    Args:
        x: A tensor of any shape.
        other: A tensor that broadcasts with `x`, or a number.

    Returns:
        A tensor of the broadcast shape.

    Examples:
        >>> import seqloom as sl
        >>> maximum(sl.tensor.backend("numpy").tensor([1.0, 3.0]), 2.0).tolist()
        [2.0, 3.0]
    """
    return apply("maximum", x, other)


def minimum(x: Tensor, other: Tensor | float) -> Tensor:
    """Select the smaller of two values, elementwise.

    If either value is NaN, the result is NaN.

    Args:
        x: A tensor of any shape.
        other: A tensor that broadcasts with `x`, or a number.

    Returns:
        A tensor of the broadcast shape.

    Examples:
        >>> import seqloom as sl
        >>> minimum(sl.tensor.backend("numpy").tensor([1.0, 3.0]), 2.0).tolist()
        [1.0, 2.0]
    """
    return apply("minimum", x, other)


def clip(x: Tensor, low: float | None = None, high: float | None = None) -> Tensor:
    """Limit the values to a range; values outside the range become the nearest bound.

    Args:
        x: A tensor of any shape.
        low: The smallest value; None for no bound.
        high: The largest value; None for no bound.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> clip(sl.tensor.backend("numpy").tensor([-1.0, 0.5, 2.0]), 0.0, 1.0).tolist()
        [0.0, 0.5, 1.0]
    """
    return apply("clip", x, low, high)


def where(condition: Tensor, x: Tensor | float, y: Tensor | float) -> Tensor:
    """Select `x` where the condition is true, and `y` elsewhere.

    Args:
        condition: A tensor of booleans.
        x: A tensor that broadcasts with the condition, or a number.
        y: A tensor that broadcasts with the condition, or a number.

    Returns:
        A tensor of the broadcast shape.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([-1.0, 2.0])
        >>> where(x > 0, x, 0.0).tolist()
        [0.0, 2.0]
    """
    return apply("where", condition, x, y)


def concat(tensors: Sequence[Tensor], *, axis: int | None = 0) -> Tensor:
    """Join tensors along an existing axis.

    Args:
        tensors: One or more tensors, whose shapes may differ only on the joined axis.
        axis: The axis to join along; if None, all tensors are flattened first.

    Returns:
        A tensor. On the joined axis, the length is the sum of the lengths of all
        tensors.

    Raises:
        ShapeError: The lengths of the tensors differ on an axis that is not joined.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0]])
        >>> concat([x, x], axis=1).tolist()
        [[1.0, 2.0, 1.0, 2.0]]
    """
    return apply("concat", list(tensors), axis=axis)


def stack(tensors: Sequence[Tensor], *, axis: int = 0) -> Tensor:
    """Join tensors of the same shape along a new axis.

    Args:
        tensors: At least one tensor.
        axis: The position of the new axis in the result.

    Returns:
        A tensor with one more axis.

    Raises:
        ShapeError: The shapes of the tensors differ.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
        >>> stack([x, x]).shape
        (2, 2)
    """
    return apply("stack", list(tensors), axis=axis)


def einsum(equation: str, *tensors: Tensor) -> Tensor:
    """Compute sums of products with the Einstein summation convention.

    Args:
        equation: One character for each axis, such as ``"bij,bjk->bik"``. Axes missing on
            the right-hand side are summed over.
        *tensors: One tensor for each comma-separated term on the left-hand side.

    Returns:
        A tensor with the axes of the right-hand side.

    Examples:
        >>> import seqloom as sl
        >>> x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> einsum("ij->j", x).tolist()
        [4.0, 6.0]
    """
    return apply("einsum", equation, *tensors)


def sort(x: Tensor, *, axis: int = -1, descending: bool = False) -> Tensor:
    """Sort the values along an axis; equal values keep their order.

    Args:
        x: A tensor with at least one axis.
        axis: The axis to sort along.
        descending: If True, the largest value comes first.

    Returns:
        A tensor with the shape of `x`.

    Examples:
        >>> import seqloom as sl
        >>> sort(sl.tensor.backend("numpy").tensor([3.0, 1.0, 2.0])).tolist()
        [1.0, 2.0, 3.0]
    """
    return apply("sort", x, axis=axis, descending=descending)


def topk(x: Tensor, k: int, *, axis: int = -1) -> tuple[Tensor, Tensor]:
    """Find the largest values along an axis, and their indices.

    Args:
        x: A tensor with at least one axis.
        k: Number of values to find; at most the length of the axis.
        axis: The axis to search.

    Returns:
        The values, largest first, and their indices along the axis. Equal values are sorted
        by index, on every backend.

    Raises:
        ArgumentError: The axis is shorter than `k`.

    Examples:
        >>> import seqloom as sl
        >>> values, indices = topk(sl.tensor.backend("numpy").tensor([3.0, 1.0, 2.0]), 2)
        >>> values.tolist(), indices.tolist()
        ([3.0, 2.0], [0, 2])
    """
    return apply("topk", x, k, axis=axis)


def take_along_axis(x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
    """Return the values at the given indices along an axis.

    Args:
        x: A tensor with at least one axis.
        indices: Integers, whose shape equals that of `x` except along the axis.
        axis: The axis to index.

    Returns:
        A tensor with the shape of `indices`.

    Raises:
        OutOfRangeError: An index is outside the axis.

    Examples:
        >>> import seqloom as sl
        >>> B = sl.tensor.backend("numpy")
        >>> x = B.tensor([[1.0, 2.0], [3.0, 4.0]])
        >>> take_along_axis(x, B.tensor([[1], [0]])).tolist()
        [[2.0], [3.0]]
    """
    return apply("take_along_axis", x, indices, axis=axis)


def from_dlpack(x: object, *, backend: str | ArrayFunctions = "numpy") -> Tensor:
    """Create a tensor that shares the memory of another library's array.

    Args:
        x: An array with ``__dlpack__`` (PyTorch, JAX, CuPy, NumPy ...).
        backend: The backend of the tensor, or its name.

    Returns:
        A tensor, which shares memory with `x` if both libraries use the same device.

    Raises:
        SeqloomError: `x` does not support DLPack, or the backend cannot read its device or
            type.

    Examples:
        >>> import numpy as np
        >>> import seqloom as sl
        >>> sl.tensor.from_dlpack(np.ones(2)).tolist()
        [1.0, 1.0]
    """
    found = find_backend(backend)
    try:
        return Tensor(found.from_dlpack(x), found)
    except Exception as error:
        if (ours := translate_error(error, "from_dlpack", (x,), found)) is error:
            raise
        raise ours from error
