"""Which numbers an array can contain: refused types, native byte order, and ranges."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from seqloom.errors import DTypeError, NumberRangeError

# An array of whichever library the backend is over: opaque to everything above it.
Array = Any

# Most arrays have one of these types; others (half precision, say) are examined.
NATIVE = frozenset(map(np.dtype, "?bBhHiIlLqQefdgFDG"))

_NUMBERS = (int, float, np.integer, np.floating)
_SMALL = 127  # every integer type can represent 0 to 127


def to_native(array: Any) -> Any:
    """Returns an array of numbers in native byte order; refuses other element types."""
    dtype = array.dtype
    if not _is_numeric(dtype):
        raise DTypeError(
            f"a tensor needs numbers or booleans, got {dtype}; pass an array of numbers, "
            "such as encoded sequences, label numbers, or one field of a structured array"
        )
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def misfit(array: Any, dtype: Any) -> str | None:
    """Says what an array would lose in another type, or None; rounding is no loss."""
    if array.dtype == dtype:
        return None
    if not _is_numeric(array.dtype):
        return f"holds {array.dtype}, expected {dtype}"
    if array.dtype.kind == "c" and dtype.kind != "c":
        return f"holds complex numbers, expected {dtype}"
    with np.errstate(all="ignore"):
        converted = array.astype(dtype)
        if converted.dtype.kind in "biu":
            lost = converted != array  # integers that became other ones
        else:
            lost = ~np.isfinite(converted) & np.isfinite(array)
    return f"holds {array[lost].flat[0]}, which {dtype} cannot hold" if lost.any() else None


def _is_numeric(dtype: Any) -> bool:
    """Whether a type is of numbers or booleans, not strings, objects, dates or records."""
    return dtype.kind not in "OSUMmT" and dtype.type is not np.void


def is_out_of_range(number: Any, dtype: Any) -> bool:
    """Whether a Python integer is out of the range of an integer type."""
    if type(number) is not int or 0 <= number <= _SMALL or dtype is None:
        return False
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= number <= limits.max


def require_representable(number: Any, dtype: Any) -> None:
    """Refuses a number whose integral part an integer type cannot represent."""
    if isinstance(number, np.generic):
        number = cast("Any", number).item()
    if type(number) is float and dtype is not None and dtype.kind in "iu":
        if not math.isfinite(number):
            raise NumberRangeError(f"{number} is no integer, and {dtype} cannot hold it")
        number = int(number)
    require_in_range(number, dtype)


def require_range_fits(start: Any, stop: Any, step: Any, dtype: Any) -> None:
    """Refuses equally spaced numbers of which an integer type cannot represent one."""
    are_numbers = all(isinstance(it, _NUMBERS) for it in (start, stop, step))
    if dtype is None or dtype.kind not in "iu" or not are_numbers or not step:
        return
    count = -((start - stop) // step)
    if count > 0:  # of the first and the last number, one is the most extreme
        require_representable(start, dtype)
        require_representable(start + (count - 1) * step, dtype)


def require_in_range(number: Any, dtype: Any) -> None:
    """Refuses a Python integer that the type cannot represent; libraries would wrap it."""
    if is_out_of_range(number, dtype):
        limits = np.iinfo(dtype)
        raise NumberRangeError(
            f"{number} is out of range for {dtype} ({limits.min} to {limits.max}); "
            "use a wider or a floating dtype (.astype)"
        )
