"""Methods that give the same numbers in another shape, or as another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from seqloom.errors import OutOfRangeError
from seqloom.tensor._dispatch import apply
from seqloom.tensor._methods import Methods

if TYPE_CHECKING:
    from typing import Self


class Shaping(Methods):
    """Shapes and element types."""

    __slots__ = ()

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """The same values in another shape.

        Args:
            *shape: The lengths of the axes, or a tuple of them; one may be -1.

        Returns:
            A tensor of that shape.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).reshape(2, 1).shape
            (2, 1)
        """
        return apply("reshape", self, _flat(shape))

    def permute_dims(self, *axes: int | tuple[int, ...]) -> Self:
        """The axes in another order.

        Args:
            *axes: All axes in the new order, or a tuple of them.

        Returns:
            A tensor of the same values.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]]).permute_dims(
            ...     2, 0, 1
            ... ).shape
            (2, 1, 1)
        """
        return apply("permute_dims", self, _flat(axes))

    def flatten(self) -> Self:
        """The values in one axis.

        Returns:
            A tensor of one axis.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0], [2.0]]).flatten().shape
            (2,)
        """
        return apply("reshape", self, (-1,))

    def transpose(self, dim0: int, dim1: int) -> Self:
        """Two axes exchanged, as torch's ``transpose``.

        Args:
            dim0: One axis.
            dim1: The other.

        Returns:
            A tensor of the same values.

        Raises:
            OutOfRangeError: There is no such axis.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[[1.0, 2.0]]]).transpose(0, 2).shape
            (2, 1, 1)
        """
        count = len(self.raw.shape)
        axes = list(range(count))
        first, second = (axis_of(dim, count, "transpose") for dim in (dim0, dim1))
        axes[first], axes[second] = second, first
        return apply("permute_dims", self, tuple(axes))

    def squeeze(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Without an axis, or several, of length 1.

        Args:
            axis: Which; default every axis of length 1.

        Returns:
            A tensor of fewer axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).squeeze().shape
            (2,)
        """
        if axis is None:
            axis = tuple(place for place, size in enumerate(self.raw.shape) if size == 1)
        return apply("squeeze", self, axis=axis)

    def expand_dims(self, axis: int) -> Self:
        """With a new axis of length 1.

        Args:
            axis: Where it stands afterwards.

        Returns:
            A tensor of one axis more.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 2.0]).expand_dims(0).shape
            (1, 2)
        """
        return apply("expand_dims", self, axis=axis)

    def astype(self, dtype: Any) -> Self:
        """The values as another element type.

        Args:
            dtype: Its name, such as ``"float64"``, or a NumPy type.

        Returns:
            A tensor of that type.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0]).astype("float64").dtype
            dtype('float64')
        """
        return apply("astype", self, dtype)


def axis_of(axis: int, count: int, name: str) -> int:
    """An axis as a number from 0 up.

    Args:
        axis: The axis; below 0, from the last one.
        count: How many axes there are.
        name: Who asks, as the error calls it.

    Returns:
        From 0 to ``count - 1``.

    Raises:
        OutOfRangeError: There is no such axis.
    """
    if not -count <= axis < count:
        raise OutOfRangeError(f"{name}: a tensor of {count} axes has no axis {axis}")
    return axis % count


def _flat(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Numbers that were given one by one, or as one tuple."""
    first: Any = given[0] if len(given) == 1 else None
    sizes: Any = first if type(first) in (tuple, list) else given
    return tuple([int(each) for each in sizes])
