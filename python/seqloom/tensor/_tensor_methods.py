"""Tensor methods that call the operation of the same name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeAlias

from seqloom.errors import ShapeError
from seqloom.tensor._dispatch import apply
from seqloom.tensor._elements import check_axis, join_axes

if TYPE_CHECKING:
    from seqloom.tensor._families import Array

Axis: TypeAlias = int | tuple[int, ...] | None


class ArrayMethods:
    """Methods of `Tensor` that compute a new tensor from one tensor.

    Examples:
        >>> import seqloom as sl
        >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).sum(axis=1).tolist()
        [3.0]
    """

    __slots__ = ()
    _value: Array  # defined by `TensorState`

    @property
    def shape(self) -> tuple[int, ...]:
        """Lengths of the axes."""
        return tuple(self._value.shape)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self._value.shape)

    # Reductions. `axis` is one axis, a tuple of axes, or None for all axes.

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Compute the sum over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).sum().item()
            3.0
        """
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Compute the mean over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).mean().item()
            1.5
        """
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def var(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """Compute the variance over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            correction: The divisor is the number of values minus this number. Use 0 for
                the variance of the values, and 1 to estimate the variance of the
                population.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).var().item()
            1.0
        """
        return apply("var", self, axis=axis, correction=correction, keepdims=keepdims)

    def std(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """Compute the standard deviation over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            correction: The divisor is the number of values minus this number, as in
                `var`. In PyTorch, the default correction is 1.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).std().item()
            1.0
        """
        return apply("std", self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Find the largest value over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes; equal maxima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).max().item()
            2.0
        """
        return apply("max", self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Find the smallest value over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes; equal minima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).min().item()
            1.0
        """
        return apply("min", self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Compute the product over one axis, several axes, or all axes.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([2.0, 3.0]).prod().item()
            6.0
        """
        return apply("prod", self, axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Test whether at least one value is true or nonzero.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor of booleans without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).any())
            True
        """
        return apply("any", self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Test whether every value is true or nonzero.

        Args:
            axis: The axis or axes; default: all axes.
            keepdims: If True, the reduced axes are kept with length 1.

        Returns:
            A tensor of booleans without the reduced axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).all())
            False
        """
        return apply("all", self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Find the index of the largest value along an axis, the first in case of ties.

        Args:
            axis: The axis; default: search the flattened values.
            keepdims: If True, the reduced axis is kept with length 1.

        Returns:
            A tensor with the indices.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmax().item()
            1
        """
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Find the index of the smallest value along an axis, the first in case of ties.

        Args:
            axis: The axis; default: search the flattened values.
            keepdims: If True, the reduced axis is kept with length 1.

        Returns:
            A tensor with the indices.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmin().item()
            0
        """
        return apply("argmin", self, axis=axis, keepdims=keepdims)

    # Methods that change the shape or the dtype.

    @property
    def T(self) -> Self:  # noqa: N802  # the standard's name
        """Transpose of a matrix."""
        if len(self._value.shape) != 2:  # noqa: PLR2004  # a matrix
            raise ShapeError(
                f".T is the transpose of a matrix; this tensor has shape {self.shape}: use "
                ".mT, or .permute_dims(...)"
            )
        return apply("matrix_transpose", self)

    @property
    def mT(self) -> Self:  # noqa: N802  # the standard's name
        """Tensor with its last two axes swapped."""
        return apply("matrix_transpose", self)

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """Reshape the tensor.

        Args:
            *shape: The lengths of the axes, or a tuple of lengths; one length may be -1.

        Returns:
            A tensor with the given shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).reshape(2, 1).shape
            (2, 1)
        """
        return apply("reshape", self, _unpack_integers(shape))

    def permute_dims(self, *axes: int | tuple[int, ...]) -> Self:
        """Permute the axes.

        Args:
            *axes: All axes in the new order, or a tuple of the axes.

        Returns:
            A tensor with the same values.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]])
            >>> x.permute_dims(2, 0, 1).shape
            (2, 1, 1)
        """
        return apply("permute_dims", self, _unpack_integers(axes))

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Self:
        """Merge a range of axes into one, like ``torch.flatten``.

        Args:
            start_dim: The first axis of the range.
            end_dim: The last axis of the range.

        Returns:
            A tensor in which one axis replaces the range of axes.

        Raises:
            ShapeError: An axis does not exist, or `start_dim` is after `end_dim`.

        Examples:
            >>> import seqloom as sl
            >>> x = sl.tensor.backend("numpy").tensor([[[1.0], [2.0]]])
            >>> x.flatten().shape, x.flatten(1).shape
            ((2,), (1, 2))
        """
        return apply("reshape", self, join_axes(self.shape, start_dim, end_dim))

    def transpose(self, dim0: int, dim1: int) -> Self:
        """Swap two axes, like ``torch.transpose``.

        Args:
            dim0: The first axis.
            dim1: The second axis.

        Returns:
            A tensor with the same values.

        Raises:
            OutOfRangeError: An axis does not exist.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]]).transpose(0, 2).shape
            (2, 1, 1)
        """
        axes = list(range(self.ndim))
        first, second = (check_axis(dim, len(axes), "transpose") for dim in (dim0, dim1))
        axes[first], axes[second] = second, first
        return apply("permute_dims", self, tuple(axes))

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Remove axes of length 1.

        Args:
            axis: The axis or axes; default: every axis of length 1.

        Returns:
            A tensor with fewer axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).squeeze().shape
            (2,)
        """
        if axis is None:
            axis = tuple(axis for axis, size in enumerate(self.shape) if size == 1)
        return apply("squeeze", self, axis=axis)

    def expand_dims(self, axis: int) -> Self:
        """Add a new axis of length 1.

        Args:
            axis: The position of the new axis in the result.

        Returns:
            A tensor with one more axis.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).expand_dims(0).shape
            (1, 2)
        """
        return apply("expand_dims", self, axis=axis)

    def astype(self, dtype: Any) -> Self:
        """Convert the values to another dtype.

        Args:
            dtype: Name of the dtype, such as ``"float64"``, or a NumPy dtype.

        Returns:
            A tensor with the given dtype.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).astype("float64").dtype
            dtype('float64')
        """
        return apply("astype", self, dtype)


def _unpack_integers(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Return integer arguments that were passed separately or as one tuple or list."""
    first: Any = sizes[0] if len(sizes) == 1 else None
    found: Any = first if type(first) in (tuple, list) else sizes
    return tuple([size if isinstance(size, int) else int(size) for size in found])
