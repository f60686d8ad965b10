"""What was measured at one size, and by which power of the size it grew."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

# A process's own bookkeeping moves by less: what is smaller counts as this.
LEAST_BYTES = 1_000_000
# So many decades at the large end say how something grows where it hurts.
LAST = 2


class Point(NamedTuple):
    """What one side took at one size."""

    seconds: float
    megabytes: float


# The points of each side, from the smallest size to the largest.
Points: TypeAlias = dict[str, list[Point]]


def slope(
    sizes: Sequence[float], values: Sequence[float], *, decades: float = math.inf
) -> float:
    """Fit values to a power of the sizes and return the exponent.

    Args:
        sizes: The sizes, from the smallest to the largest.
        values: What was measured at each, above 0.
        decades: How far below the largest size the fit begins.

    Returns:
        The slope of the line of least squares through the logarithms; NaN of one point.

    Examples:
        >>> round(slope([1, 10, 100], [3, 30, 300]), 6)
        1.0
        >>> round(slope([1, 10, 100], [1, 1, 100], decades=1), 6)
        2.0
    """
    x, y = np.log10([sizes, values])
    near = x >= x[-1] - decades - 1e-9
    return float(np.polyfit(x[near], y[near], 1)[0]) if near.sum() > 1 else math.nan
