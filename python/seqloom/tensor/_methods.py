"""Methods that read better behind the tensor than as functions before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from seqloom.errors import ShapeError
from seqloom.tensor._dispatch import apply
from seqloom.tensor._exchange import Exchange

if TYPE_CHECKING:
    from typing import Self

Axis: TypeAlias = int | tuple[int, ...] | None


class Methods(Exchange):
    """Sums, shapes and types."""

    __slots__ = ()

    @property
    def T(self) -> Self:  # noqa: N802  # the standard's name
        """A matrix with rows and columns exchanged."""
        if len(self.raw.shape) != 2:  # noqa: PLR2004  # a matrix
            raise ShapeError(
                f".T is of matrices; this tensor has shape {tuple(self.raw.shape)}: use "
                ".mT, or .permute_dims(...)"
            )
        return apply("matrix_transpose", self)

    @property
    def mT(self) -> Self:  # noqa: N802  # the standard's name
        """The last two axes exchanged."""
        return apply("matrix_transpose", self)

    def sum(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The sum over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the summed axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).sum().item()
            3.0
        """
        return apply("sum", self, axis=axis, keepdims=keepdims)

    def mean(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The mean over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).mean().item()
            1.5
        """
        return apply("mean", self, axis=axis, keepdims=keepdims)

    def var(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """The variance over an axis, several, or all.

        Args:
            axis: The axis or axes; default all.
            correction: Taken off the count: 0 for the variance of what is there, 1 for an
                estimate of what it was drawn from.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).var().item()
            1.0
        """
        return apply("var", self, axis=axis, correction=correction, keepdims=keepdims)

    def std(
        self, axis: Axis = None, *, correction: float = 0, keepdims: bool = False
    ) -> Self:
        """The standard deviation over an axis, several, or all: the root of `var`.

        Args:
            axis: The axis or axes; default all.
            correction: Taken off the count: 0 for the deviation of what is there, 1 for an
                estimate of what it was drawn from (torch's default).
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0]).std().item()
            1.0
        """
        return apply("std", self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The largest value over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes; equal maxima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).max().item()
            2.0
        """
        return apply("max", self, axis=axis, keepdims=keepdims)

    def min(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The smallest value over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes; equal minima share the gradient.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([[1.0, 2.0]]).min().item()
            1.0
        """
        return apply("min", self, axis=axis, keepdims=keepdims)

    def prod(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """The product over an axis, several, or all; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor without those axes.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([2.0, 3.0]).prod().item()
            6.0
        """
        return apply("prod", self, axis=axis, keepdims=keepdims)

    def any(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Whether one value is true, or not 0; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor of booleans without those axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).any())
            True
        """
        return apply("any", self, axis=axis, keepdims=keepdims)

    def all(self, axis: Axis = None, *, keepdims: bool = False) -> Self:
        """Whether every value is true, or not 0; arguments as in `sum`.

        Args:
            axis: The axis or axes; default all.
            keepdims: Leave the axes in the shape, with length 1.

        Returns:
            A tensor of booleans without those axes.

        Examples:
            >>> import seqloom as sl
            >>> bool((sl.tensor.backend("numpy").tensor([1.0, 2.0]) > 1).all())
            False
        """
        return apply("all", self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Where the largest value stands along an axis; the first of equal ones.

        Args:
            axis: The axis; default the place among all values in order.
            keepdims: Leave the axis in the shape, with length 1.

        Returns:
            A tensor of integers.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmax().item()
            1
        """
        return apply("argmax", self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, *, keepdims: bool = False) -> Self:
        """Where the smallest value stands along an axis; the first of equal ones.

        Args:
            axis: The axis; default the place among all values in order.
            keepdims: Leave the axis in the shape, with length 1.

        Returns:
            A tensor of integers.

        Examples:
            >>> import seqloom as sl
            >>> sl.tensor.backend("numpy").tensor([1.0, 3.0, 2.0]).argmin().item()
            0
        """
        return apply("argmin", self, axis=axis, keepdims=keepdims)
