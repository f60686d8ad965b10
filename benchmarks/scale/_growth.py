"""Measured time and memory for each input size, and the exponent of their growth."""

import math
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

# Minimum memory in MB; smaller measurements are noise.
MIN_MEMORY_BYTES = 1_000_000
# The slope is fitted to this number of decades at the largest sizes.
FITTED_DECADES = 2


class MeasuredSize(NamedTuple):
    """Seconds and megabytes of one library for one input size."""

    seconds: float
    megabytes: float


# Library -> measurements, from the smallest input to the largest.
Points: TypeAlias = dict[str, list[MeasuredSize]]


def growth_exponent(
    sizes: Sequence[float], values: Sequence[float], *, decades: float = math.inf
) -> float:
    """Fit a power law of the sizes to the values and return the exponent.

    Args:
        sizes: The sizes, from the smallest to the largest.
        values: Measured values, above 0.
        decades: Number of decades below the largest size that the fit uses.

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
