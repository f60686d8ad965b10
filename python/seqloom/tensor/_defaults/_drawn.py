"""What is asked of random numbers: shapes, shares and ranges that exist."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

_WHOLE = np.iinfo(np.int32)


def to_shape(shape: Sequence[int]) -> tuple[int, ...]:
    """A shape to draw, without lengths below 0."""
    lengths = tuple(shape)
    if lengths and min(lengths) < 0:
        raise ArgumentError(f"random numbers of shape {lengths}: a length is below 0")
    return lengths


def to_count(n: int) -> int:
    """How many numbers to bring into a random order."""
    count = index(n)
    if count < 0:
        raise ArgumentError(f"a permutation of {count} numbers: there must be 0 at least")
    return count


def share(p: float) -> float:
    """A probability."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"a probability must lie in [0, 1], got {p}")
    return p


def rising(low: int, high: int) -> tuple[int, int]:
    """The ends of a range of int32 numbers that is not empty."""
    if not _WHOLE.min <= low < high <= _WHOLE.max:
        raise ArgumentError(
            f"randint: low must be below high, both of int32; got {low} and {high}"
        )
    return low, high


def bounds(lower: float, upper: float) -> tuple[float, float]:
    """Two bounds that numbers fit between."""
    if not lower < upper:
        raise ArgumentError(f"lower must be below upper, got {lower} and {upper}")
    return lower, upper


def beyond(low: float, high: float, least: float, most: float) -> float | None:
    """What a normal number is whose share of the distribution rounds to 0 or 1.

    Args:
        low: The error function at the lower bound.
        high: At the upper one.
        least: The smallest number that may be given.
        most: The largest.

    Returns:
        The bound that it has reached; None where no share rounds so.

    Examples:
        >>> beyond(1.0, 1.0, 20.0, 21.0)
        21.0
    """
    if low > -1 and high < 1:
        return None
    return most if low > -1 else least
