"""Indices of the selected individuals and variants, and the array for their genotypes."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from seqloom._threads import count_threads
from seqloom.errors import (
    ArgumentError,
    MemoryLimitError,
    NumberRangeError,
    OutOfRangeError,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Positions: TypeAlias = "NDArray[np.int64] | None"
"""Nonnegative positions along one axis; None means all positions in order."""

_FULL_SLICE = slice(None)
_INDEX_AXES = 2


def split_index(index: Any) -> tuple[Any, Any]:
    """Split an index into an index of individuals and an index of variants."""
    if not isinstance(index, tuple):
        return None, index
    parts = cast("tuple[Any, ...]", index)
    if len(parts) != _INDEX_AXES:
        raise OutOfRangeError(
            f"an index must have two parts, (individuals, variants); got {len(parts)}"
        )
    return parts[0], parts[1]


def find_positions(index: Any, count: int) -> Positions:
    """Return the positions that an index selects along an axis, as in NumPy."""
    if (
        index is None
        or index is Ellipsis
        or (isinstance(index, slice) and index == _FULL_SLICE)
    ):
        return None
    if isinstance(index, slice):
        return np.arange(*index.indices(count), dtype=np.int64)
    try:
        number = operator.index(index)
    except TypeError:
        return _positions_in_array(index, count)
    return np.array([_normalise_index(number, count)], np.int64)


def count_positions(selected: Positions, count: int) -> int:
    """Return the number of selected positions."""
    return count if selected is None else len(selected)


def slice_positions(selected: Positions, part: slice) -> slice | NDArray[np.int64]:
    """Return a range of the selected positions."""
    return part if selected is None else selected[part]


def _normalise_index(number: int, count: int) -> int:
    """Convert a negative index to a nonnegative index; raise if it is out of range."""
    if not -count <= number < count:
        raise OutOfRangeError(
            f"index {number} is out of bounds for axis 0 with size {count}"
        )
    return number + count if number < 0 else number


def _positions_in_array(index: Any, count: int) -> NDArray[np.int64]:
    """Return the positions that a list or array of integers, or a mask, selects."""
    if isinstance(index, tuple):
        raise OutOfRangeError(
            "too many indices for one axis: give a list instead of a tuple"
        )
    array = np.asarray(index)
    if array.ndim != 1:
        found = f"{array.ndim} dimensions" if array.ndim else type(index).__name__
        raise OutOfRangeError(
            "an index of one axis must be an integer, a slice, or a 1-d list or array; "
            f"got {found}"
        )
    if array.dtype == np.bool_:
        if len(array) != count:
            raise OutOfRangeError(
                "boolean index did not match indexed array along axis 0; size of axis is "
                f"{count} but size of corresponding boolean axis is {len(array)}"
            )
        return np.flatnonzero(array).astype(np.int64, copy=False)
    if array.dtype.kind not in "iu" and (len(array) or isinstance(index, np.ndarray)):
        raise OutOfRangeError(
            "arrays used as indices must be of integer (or boolean) type, "
            f"got {array.dtype}"
        )
    if not len(array):
        return np.empty(0, np.int64)
    lowest, highest = int(array.min()), int(array.max())
    _normalise_index(highest, count)
    _normalise_index(lowest, count)
    chosen = np.ascontiguousarray(array, np.int64)
    return np.where(chosen < 0, chosen + count, chosen) if lowest < 0 else chosen


Order: TypeAlias = Literal["C", "F"]

# Size of a cache line. The processor does not read memory first if aligned cache lines
# are written as a whole.
_ALIGN_BYTES = 64
_DTYPES = {np.dtype(kind): np.dtype(kind) for kind in ("int8", "float32", "float64")}
_DTYPE_NAMES = {kind.name: kind for kind in _DTYPES}


def as_genotype_dtype(dtype: DTypeLike) -> np.dtype[Any]:
    """Return the dtype; raise unless it is int8, float32 or float64."""
    if isinstance(dtype, str) and (kind := _DTYPE_NAMES.get(dtype)):
        return kind
    try:
        wanted = cast("np.dtype[Any] | None", np.dtype(dtype))
    except (TypeError, ValueError):
        wanted = None
    if wanted is None or wanted not in _DTYPES:
        raise ArgumentError(
            f"dtype '{dtype if wanted is None else wanted}' not known, only 'int8', "
            "'float32', and 'float64' are allowed."
        )
    return wanted


def prepare_genotypes(
    shape: tuple[int, int], kind: np.dtype[Any], order: str, *, out: NDArray[Any] | None
) -> NDArray[Any]:
    """Return the caller's array after checking it, or a new array."""
    if order not in {"C", "F"}:
        raise ArgumentError(f"order {order!r} not known, only 'F', 'C'")
    if out is None:
        return aligned_array(shape, kind, cast("Order", order))
    if not isinstance(cast("object", out), np.ndarray):
        raise ArgumentError(f"out must be a NumPy array, got {type(out).__name__}")
    flags = out.flags
    is_ordered = flags.f_contiguous if order == "F" else flags.c_contiguous
    if out.shape != shape or out.dtype != kind or not is_ordered:
        found = "neither order: it is not contiguous"
        if flags.c_contiguous or flags.f_contiguous:
            found = "order 'C'" if flags.c_contiguous else "order 'F'"
        raise ArgumentError(
            f"out must have the shape {shape}, the dtype {kind} and order {order!r}; "
            f"got {out.shape}, {out.dtype} and {found}"
        )
    if not (flags.writeable and flags.aligned):
        raise ArgumentError("out must be writable and aligned; give a new array")
    return out


def aligned_array(
    shape: tuple[int, int], kind: np.dtype[Any], order: Order
) -> NDArray[Any]:
    """Create an uninitialised array, aligned to cache lines."""
    size = math.prod(shape) * kind.itemsize
    try:
        memory = np.empty(size + _ALIGN_BYTES, np.uint8)
    except (MemoryError, ValueError):
        raise MemoryLimitError(
            f"not enough memory for {shape[0]} individuals x {shape[1]} variants of "
            f"{kind}, which take {size} bytes: read smaller parts"
        ) from None
    start = -memory.__array_interface__["data"][0] % _ALIGN_BYTES
    return np.ndarray(shape, kind, memory, start, order=order)


def choose_thread_count(call: int | None, constructor: int | None) -> int:
    """Return the call's number of threads or, if None, that of the constructor."""
    number = constructor if call is None else call
    try:
        return count_threads(number)
    except ArgumentError as error:
        # A negative number must raise an OverflowError, as in bed_reader.
        if isinstance(number, int) and number < 0:
            raise NumberRangeError(str(error)) from None
        raise
