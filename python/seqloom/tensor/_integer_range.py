"""Refuses Python integers that an array of an integer dtype cannot hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.errors import NumberRangeError

_SMALL = 127  # every integer dtype holds 0 to 127


def is_out_of_range(number: Any, dtype: Any) -> bool:
    """Returns True if an integer is out of the range of an integer dtype.

    Args:
        number: The other operand; only a Python ``int`` is checked.
        dtype: The NumPy dtype of the array; None if there is no array.

    Returns:
        False for any other dtype, and for any other operand.

    Examples:
        >>> (
        ...     is_out_of_range(300, np.dtype("uint8")),
        ...     is_out_of_range(300, np.dtype("float32")),
        ... )
        (True, False)
    """
    if type(number) is not int or 0 <= number <= _SMALL or dtype is None:
        return False
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= number <= limits.max


def require_in_range(number: Any, dtype: Any) -> None:
    """Refuses an integer that is out of the range of an integer dtype.

    Args:
        number: The other operand, or the new element.
        dtype: The NumPy dtype of the array; None if there is no array.

    Raises:
        NumberRangeError: It is out of range; some libraries would wrap it around.

    Examples:
        >>> require_in_range(255, np.dtype("uint8"))
    """
    if is_out_of_range(number, dtype):
        limits = np.iinfo(dtype)
        raise NumberRangeError(
            f"{number} is out of range for {dtype} ({limits.min} to {limits.max}); "
            "use a wider or a floating dtype (.astype)"
        )
