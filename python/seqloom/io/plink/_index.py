"""Which individuals and variants are meant: every form of index as positions."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np

from seqloom.errors import OutOfRangeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

Positions: TypeAlias = "NDArray[np.int64] | None"
"""Positions along one axis, none of them negative; None is all of them, in order."""

_ALL = slice(None)
_PARTS = 2


def split_index(index: Any) -> tuple[Any, Any]:
    """Splits an index into that of individuals and that of variants."""
    if not isinstance(index, tuple):
        return None, index
    parts = cast("tuple[Any, ...]", index)
    if len(parts) != _PARTS:
        raise OutOfRangeError(
            f"an index has two parts, of individuals and of variants; got {len(parts)}"
        )
    return parts[0], parts[1]


def positions(index: Any, count: int) -> Positions:
    """Gives the positions that an index means along an axis, as NumPy reads it."""
    if index is None or index is Ellipsis or (isinstance(index, slice) and index == _ALL):
        return None
    if isinstance(index, slice):
        return np.arange(*index.indices(count), dtype=np.int64)
    try:
        number = operator.index(index)
    except TypeError:
        return _of_array(index, count)
    return np.array([_counted(number, count)], np.int64)


def length(chosen: Positions, count: int) -> int:
    """Says how many positions are meant."""
    return count if chosen is None else len(chosen)


def part_of(chosen: Positions, some: slice) -> slice | NDArray[np.int64]:
    """Gives some of the positions that are meant."""
    return some if chosen is None else chosen[some]


def _counted(number: int, count: int) -> int:
    """Counts a negative number from the end; one beyond it is refused."""
    if not -count <= number < count:
        raise OutOfRangeError(
            f"index {number} is out of bounds for axis 0 with size {count}"
        )
    return number + count if number < 0 else number


def _of_array(index: Any, count: int) -> NDArray[np.int64]:
    """Gives the positions that a list or an array means: numbers, or a mask."""
    if isinstance(index, tuple):
        raise OutOfRangeError("too many indices for one axis: expected a list, got a tuple")
    array = np.asarray(index)
    if array.ndim != 1:
        found = f"one of {array.ndim}" if array.ndim else type(index).__name__
        raise OutOfRangeError(
            "an index of one axis is a number, a slice, or a list or an array of one "
            f"dimension; got {found}"
        )
    if array.dtype == np.bool_:
        return _of_mask(array, count)
    if array.dtype.kind not in "iu" and (len(array) or isinstance(index, np.ndarray)):
        raise OutOfRangeError(
            "arrays used as indices must be of integer (or boolean) type, "
            f"got {array.dtype}"
        )
    return _of_numbers(array, count)


def _of_mask(mask: NDArray[np.bool_], count: int) -> NDArray[np.int64]:
    """Gives the positions where a mask is true."""
    if len(mask) != count:
        raise OutOfRangeError(
            "boolean index did not match indexed array along axis 0; size of axis is "
            f"{count} but size of corresponding boolean axis is {len(mask)}"
        )
    return np.flatnonzero(mask).astype(np.int64, copy=False)


def _of_numbers(numbers: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Gives the positions that whole numbers mean, in their order."""
    if not len(numbers):
        return np.empty(0, np.int64)
    lowest, highest = int(numbers.min()), int(numbers.max())
    _counted(highest, count)
    _counted(lowest, count)
    chosen = np.ascontiguousarray(numbers, np.int64)
    return np.where(chosen < 0, chosen + count, chosen) if lowest < 0 else chosen
