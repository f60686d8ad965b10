"""Whole numbers that a caller gives, checked before they meet 64 bits."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from seqloom.errors import ArgumentError, OutOfRangeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

MOST = (1 << 63) - 1


def check_number(name: str, value: object, *, least: int = 1) -> None:
    """Refuses a number that makes no sense; ``sys.maxsize`` is the largest that does."""
    try:
        number = operator.index(value)  # pyright: ignore[reportArgumentType] - judged here
    except TypeError:
        raise ArgumentError(f"{name} must be a whole number, got {value!r}") from None
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {number}")
    if number > MOST:
        # The number is left out: Python refuses to write one of thousands of digits.
        raise ArgumentError(f"{name} must be below 2**63, got a larger number")


def whole_numbers(values: ArrayLike) -> NDArray[np.int64]:
    """Makes an array of whole numbers; anything else is an error."""
    found = np.asarray(values)
    if found.size == 0:
        return np.empty(0, np.int64)
    if found.dtype.kind not in "iu" and not _are_huge(found):
        raise ArgumentError(f"expected whole numbers, got {found.dtype}")
    if found.dtype.kind != "i":
        _check_64_bits(found.min(), found.max())
    return np.ascontiguousarray(found.reshape(-1), np.int64)


def _are_huge(values: NDArray[Any]) -> bool:
    """Says whether these are whole numbers that NumPy has no type for."""
    return values.dtype.kind == "O" and all(isinstance(value, int) for value in values.flat)


def _check_64_bits(least: int, most: int) -> None:
    """Refuses numbers that no record and no letter can have."""
    if least < -MOST - 1 or most > MOST:
        found = f"{least}" if least == most else f"{least} to {most}"
        raise OutOfRangeError(f"no file has so much, got {found}")
