"""Methods that give the same numbers in another shape, or as another type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    def squeeze(self, axis: int | tuple[int, ...]) -> Self:
        """Without an axis, or several, of length 1.

        Args:
            axis: Which.

        Returns:
            A tensor of fewer axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).squeeze(0).shape
            (2,)
        """
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


def _flat(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Numbers that were given one by one, or as one tuple."""
    first: Any = given[0] if len(given) == 1 else None
    sizes: Any = first if type(first) in (tuple, list) else given
    return tuple([int(each) for each in sizes])
