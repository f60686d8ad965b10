"""One read: what kind of numbers, and the array that they go to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from seqloom._threads import count_threads
from seqloom.errors import ArgumentError, MemoryLimitError, NumberRangeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

Order: TypeAlias = Literal["C", "F"]

# A line of the cache: stores of whole lines need not read what they write over.
_ALIGNMENT = 64
_KINDS = {np.dtype(kind): np.dtype(kind) for kind in ("int8", "float32", "float64")}
_NAMED = {kind.name: kind for kind in _KINDS}


def kind_of(dtype: DTypeLike) -> np.dtype[Any]:
    """Gives the kind of numbers that is asked for; a .bed file is read as one of three."""
    if isinstance(dtype, str) and (kind := _NAMED.get(dtype)):
        return kind
    try:
        asked = cast("np.dtype[Any] | None", np.dtype(dtype))
    except (TypeError, ValueError):
        asked = None
    if asked is None or asked not in _KINDS:
        raise ArgumentError(
            f"dtype '{dtype if asked is None else asked}' not known, only 'int8', "
            "'float32', and 'float64' are allowed."
        )
    return asked


def array_for(
    shape: tuple[int, int], kind: np.dtype[Any], order: str, *, out: NDArray[Any] | None
) -> NDArray[Any]:
    """Gives the array that a read fills: the caller's, or a new one."""
    if order not in {"C", "F"}:
        raise ArgumentError(f"order {order!r} not known, only 'F', 'C'")
    if out is None:
        return new_array(shape, kind, cast("Order", order))
    _check_out(out, shape, kind, order=order)
    return out


def new_array(shape: tuple[int, int], kind: np.dtype[Any], order: Order) -> NDArray[Any]:
    """Makes an array that begins with a line of the cache; its values are not set."""
    size = math.prod(shape) * kind.itemsize
    try:
        memory = np.empty(size + _ALIGNMENT, np.uint8)
    except (MemoryError, ValueError):
        raise MemoryLimitError(
            f"no memory for {shape[0]} individuals x {shape[1]} variants of {kind}, which "
            f"take {size} bytes: read some of them at a time"
        ) from None
    start = -memory.__array_interface__["data"][0] % _ALIGNMENT
    return np.ndarray(shape, kind, memory, start, order=order)


def threads_of(call: int | None, constructor: int | None) -> int:
    """Decides how many threads decode: the call, the object, then the machine says it."""
    wish = constructor if call is None else call
    try:
        return count_threads(wish)
    except ArgumentError as error:
        # bed_reader's callers expect an OverflowError for a negative number.
        if isinstance(wish, int) and wish < 0:
            raise NumberRangeError(str(error)) from None
        raise


def _check_out(
    out: object, shape: tuple[int, int], kind: np.dtype[Any], *, order: str
) -> None:
    """Refuses an array that is not what the read would have made."""
    if not isinstance(out, np.ndarray):
        raise ArgumentError(f"out must be a NumPy array, got {type(out).__name__}")
    array = cast("NDArray[Any]", out)
    flags = array.flags
    ordered = flags.f_contiguous if order == "F" else flags.c_contiguous
    if array.shape != shape or array.dtype != kind or not ordered:
        raise ArgumentError(
            f"out must be an array of {shape} {kind} in order {order!r}, "
            f"got one of {array.shape} {array.dtype} in {_order_of(array)}"
        )
    if not (flags.writeable and flags.aligned):
        raise ArgumentError("out must be writable and aligned; it is not")


def _order_of(array: NDArray[Any]) -> str:
    """Says in words how an array lies in memory."""
    if array.flags.c_contiguous:
        return "order 'C'"
    return "order 'F'" if array.flags.f_contiguous else "no order: it is a view with gaps"
