"""Python's whole numbers beside arrays of whole numbers whose type may not have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from seqloom.errors import NumberRangeError

_SMALL = 127  # which every type has


def is_beyond(number: Any, dtype: Any) -> bool:
    """Whether a type of whole numbers lacks a number.

    Args:
        number: What meets the array; only Python's ``int`` is looked at.
        dtype: The type of the array, as NumPy's; None where there is no array.

    Returns:
        False for any other type, and for anything but an ``int``.

    Examples:
        >>> is_beyond(300, np.dtype("uint8")), is_beyond(300, np.dtype("float32"))
        (True, False)
    """
    if type(number) is not int or 0 <= number <= _SMALL or dtype is None:
        return False
    if dtype.kind not in "iu":
        return False
    limits = np.iinfo(dtype)
    return not limits.min <= number <= limits.max


def require_room(number: Any, dtype: Any) -> None:
    """Refuses a whole number that the type of whole numbers it meets does not have.

    Args:
        number: What meets the array.
        dtype: The type of the array, as NumPy's; None where there is no array.

    Raises:
        NumberRangeError: The type lacks it; a library may wrap it around.

    Examples:
        >>> require_room(255, np.dtype("uint8"))
    """
    if is_beyond(number, dtype):
        limits = np.iinfo(dtype)
        raise NumberRangeError(
            f"{number} is no number of {dtype}, which it meets "
            f"({limits.min} to {limits.max}); .astype a wider type first"
        )
