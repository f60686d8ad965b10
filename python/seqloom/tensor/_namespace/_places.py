"""Functions of the standard that find, order and take values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from seqloom.tensor._dispatch import apply

if TYPE_CHECKING:
    from seqloom.tensor._tensor import Tensor


class UniqueAll(NamedTuple):
    """The values, where each occurs first, which one each place holds, and counts."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The values, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The values, and which of them each place holds."""

    values: Tensor
    inverse_indices: Tensor


class Places:
    """Sorting, searching, sets, and values at places."""

    @staticmethod
    def argsort(
        x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> Tensor:
        """The places of the values in order."""
        return apply("argsort", x, axis=axis, descending=descending, stable=stable)

    @staticmethod
    def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Tensor:
        """Whether each value of `x1` is one of `x2`'s."""
        return apply("isin", x1, x2, invert=invert)

    @staticmethod
    def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
        """The places of what is not 0."""
        return apply("nonzero", x)

    @staticmethod
    def searchsorted(
        x1: Tensor,
        x2: Any,
        /,
        *,
        side: Literal["left", "right"] = "left",
        sorter: Tensor | None = None,
    ) -> Tensor:
        """Where values would stand in a sorted row."""
        row = x1 if sorter is None else apply("take", x1, sorter, axis=0)
        return apply("searchsorted", row, x2, side=side)

    @staticmethod
    def sort(
        x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
    ) -> Tensor:
        """The values along an axis in order."""
        return apply("sort", x, axis=axis, descending=descending, stable=stable)

    @staticmethod
    def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
        """The parts of an axis that the indices name."""
        return apply("take", x, indices, axis=axis)

    @staticmethod
    def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
        """The values at the indices along an axis."""
        return apply("take_along_axis", x, indices, axis=axis)

    @staticmethod
    def unique_all(x: Tensor, /) -> UniqueAll:
        """The values that occur, sorted, and all about where."""
        return UniqueAll(*apply("unique_all", x))

    @staticmethod
    def unique_counts(x: Tensor, /) -> UniqueCounts:
        """The values that occur, sorted, and how often each does."""
        return UniqueCounts(*apply("unique_counts", x))

    @staticmethod
    def unique_inverse(x: Tensor, /) -> UniqueInverse:
        """The values that occur, sorted, and which of them each place holds."""
        return UniqueInverse(*apply("unique_inverse", x))

    @staticmethod
    def unique_values(x: Tensor, /) -> Tensor:
        """The values that occur, sorted."""
        return apply("unique_values", x)
