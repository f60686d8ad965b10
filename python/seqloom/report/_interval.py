"""Intervals of shares, areas under curves and correlations, and how a share is written."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The 97.5th percentile of the normal distribution: two-sided 95 %.
_Z = 1.959963984540054
# Of so few pairs the deviation of Fisher's z is not known.
_FEWEST = 3
# Halving an interval so often leaves less than a double can hold.
_HALVINGS = 60


def percent(share: float) -> str:
    """Write a share as per cent.

    Args:
        share: From 0 to 1.

    Returns:
        Percent with one decimal.

    Examples:
        >>> percent(0.9623)
        '96.2 %'
    """
    return f"{100 * share:.1f} %"


def wilson_interval(hits: int, total: int) -> tuple[float, float]:
    """Compute the 95 % Wilson score interval of a share.

    Args:
        hits: How many were right.
        total: How many there were.

    Returns:
        The lower and the upper bound; ``(0.0, 1.0)`` where there were none.

    Examples:
        >>> low, high = wilson_interval(1137, 1186)
        >>> round(low, 4), round(high, 4)
        (0.9458, 0.9686)
    """
    if total == 0:
        return 0.0, 1.0
    low, high = wilson_bounds(hits / total, total)
    return float(low), float(high)


def wilson_bounds(
    share: ArrayLike, total: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute Wilson's interval of many shares at once, each of a total above 0."""
    p, n, square = np.asarray(share, float), np.asarray(total, float), _Z * _Z
    centre = (p + square / (2 * n)) / (1 + square / n)
    spread = np.sqrt(p * (1 - p) / n + square / (4 * n * n))
    half = _Z * spread / (1 + square / n)
    # The share lies inside; rounding must not say otherwise.
    return np.clip(centre - half, 0.0, p), np.clip(centre + half, p, 1.0)


def auroc_interval(area: float, positives: int, negatives: int) -> tuple[float, float]:
    """Compute the 95 % interval of an area under the ROC curve.

    It is Newcombe's method 5 (Statistics in Medicine 25, 2006, part 2): the areas from
    which the found one is at most 1.96 standard errors away, each with its own standard
    error by Hanley and McNeil (Radiology 143, 1982). An area of 1 has an interval too.

    Args:
        area: The area that was found.
        positives: How many records are of the class.
        negatives: How many are not.

    Returns:
        The lower and the upper bound.

    Examples:
        >>> low, high = auroc_interval(0.9, 50, 50)
        >>> round(low, 3), round(high, 3)
        (0.816, 0.946)
    """
    extra = (positives + negatives) / 2 - 1

    def is_inside(other: float) -> bool:
        """Return whether the area is inside the interval of another true area."""
        spread = 1 + extra * (1 - other) / (2 - other) + extra * other / (1 + other)
        variance = other * (1 - other) * spread / (positives * negatives)
        return abs(area - other) <= _Z * math.sqrt(variance)

    return _find_end(is_inside, area, 0.0), _find_end(is_inside, area, 1.0)


def auprc_interval(area: float, positives: int) -> tuple[float, float]:
    """Compute the 95 % interval of an area under the precision-recall curve.

    Boyd, Eng and Page (ECML PKDD 2013) take the area for a share of the positives, and
    give a binomial and a logit interval of it. Of an area of 1 the first has no width, and
    the second is not defined; this is Wilson's score interval (1927) of the same share. The
    area is no share of records, so all three are approximations. Of areas near 1 this one
    is rather too wide than too narrow.

    Args:
        area: The average precision that was found.
        positives: How many records are of the class.

    Returns:
        The lower and the upper bound.

    Examples:
        >>> low, high = auprc_interval(0.9, 50)
        >>> round(low, 3), round(high, 3)
        (0.786, 0.957)
    """
    low, high = wilson_bounds(area, positives)
    return float(low), float(high)


def pearson_interval(correlation: float, records: int) -> tuple[float, float]:
    """Compute the 95 % interval of Pearson's correlation, by Fisher's z (1921).

    Args:
        correlation: The correlation that was found.
        records: How many pairs there are.

    Returns:
        The lower and the upper bound; ``(-1.0, 1.0)`` of fewer than four pairs, or where
        the correlation is NaN.

    Examples:
        >>> low, high = pearson_interval(0.5, 100)
        >>> round(low, 3), round(high, 3)
        (0.337, 0.634)
    """
    if records <= _FEWEST or math.isnan(correlation):
        return -1.0, 1.0
    if abs(correlation) >= 1:
        return correlation, correlation
    middle, half = math.atanh(correlation), _Z / math.sqrt(records - _FEWEST)
    return math.tanh(middle - half), math.tanh(middle + half)


def _find_end(is_inside: Callable[[float], bool], inside: float, outside: float) -> float:
    """Find where an interval ends between a value inside and one that may be outside."""
    for _ in range(_HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside
