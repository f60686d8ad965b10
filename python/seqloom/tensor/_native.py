"""What NumPy can hold and no backend computes with: swapped bytes, texts, objects."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.errors import DTypeError

# Most arrays are of these; what else is a number (half precision, say) is looked at.
NATIVE = frozenset(map(np.dtype, "?bBhHiIlLqQefdgFDG"))


def native(array: Any) -> Any:
    """An array of numbers in the machine's own order of bytes.

    Args:
        array: Any array.

    Returns:
        The array, or a copy with its bytes in order.

    Raises:
        DTypeError: It does not hold numbers.

    Examples:
        >>> native(np.array([1, 2], ">i4")).dtype.isnative
        True
    """
    dtype = array.dtype
    if dtype.kind in "OSUMmT" or dtype.type is np.void:
        raise DTypeError(
            f"a tensor holds numbers or truths, not {dtype}; give an array of those, such "
            "as encoded sequences, the labels' numbers, or one field of a table"
        )
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


def misfit(array: Any, dtype: Any) -> str | None:
    """What of an array's numbers another element type would lose; rounding is no loss.

    Args:
        array: An array of NumPy's.
        dtype: The element type that they shall take.

    Returns:
        Such as ``"holds complex numbers, expected float32"``; None where they fit.

    Examples:
        >>> misfit(np.array([1e300]), np.dtype("float32"))
        'holds 1e+300, which float32 cannot hold'
    """
    if array.dtype == dtype:
        return None
    if array.dtype.kind in "OSUMmT" or array.dtype.type is np.void:
        return f"holds {array.dtype}, expected {dtype}"
    if array.dtype.kind == "c" and dtype.kind != "c":
        return f"holds complex numbers, expected {dtype}"
    with np.errstate(all="ignore"):
        cast = array.astype(dtype)
        lost = _lost(array, cast)
    return f"holds {array[lost].flat[0]}, which {dtype} cannot hold" if lost.any() else None


def _lost(array: Any, cast: Any) -> Any:
    """Where a number became infinite, or a whole number another one."""
    if cast.dtype.kind in "biu":
        return cast != array
    return ~np.isfinite(cast) & np.isfinite(array)
