"""Measurements at each size, and the exponent of their growth."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

# Minimum memory: smaller values are noise of the process.
LEAST_BYTES = 1_000_000
# Decades at the large end that define the slope.
DECADES = 2


class Point(NamedTuple):
    """Seconds and megabytes of one side at one size."""

    seconds: float
    megabytes: float


# Side -> points, from the smallest size to the largest.
Points: TypeAlias = dict[str, list[Point]]


def slope(
    sizes: Sequence[float], values: Sequence[float], *, decades: float = math.inf
) -> float:
    """Fit values to a power of the sizes and return the exponent.

    Args:
        sizes: The sizes, from the smallest to the largest.
        values: Measured values, above 0.
        decades: Decades below the largest size where the fit begins.

    Returns:
        Slope of the least-squares line through the logarithms; NaN for one point.

    Examples:
        >>> round(slope([1, 10, 100], [3, 30, 300]), 6)
        1.0
        >>> round(slope([1, 10, 100], [1, 1, 100], decades=1), 6)
        2.0
    """
    x, y = np.log10([sizes, values])
    near = x >= x[-1] - decades - 1e-9
    return float(np.polyfit(x[near], y[near], 1)[0]) if near.sum() > 1 else math.nan
