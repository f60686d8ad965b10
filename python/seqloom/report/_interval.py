"""Confidence intervals of proportions, areas under curves and correlations."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

# The 97.5th percentile of the normal distribution, for two-sided 95 % intervals.
_Z_95 = 1.959963984540054
# Fisher's z has the variance 1 / (n - 3), so it needs more than three pairs.
_MIN_FISHER_PAIRS = 3
# After this number of bisection steps, the search range is below double precision.
_BISECTION_STEPS = 60


def percent(share: float) -> str:
    """Format a proportion as a percentage.

    Args:
        share: The proportion, from 0 to 1.

    Returns:
        The percentage with one decimal.

    Examples:
        >>> percent(0.9623)
        '96.2 %'
    """
    return f"{100 * share:.1f} %"


def wilson_interval(hits: int, total: int) -> tuple[float, float]:
    """Compute the 95 % Wilson score interval of a proportion.

    Args:
        hits: The number of successes.
        total: The number of trials.

    Returns:
        The lower and the upper bound; ``(0.0, 1.0)`` if ``total`` is 0.

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
    """Compute the Wilson intervals of an array of proportions; totals must be above 0."""
    p, n, square = np.asarray(share, float), np.asarray(total, float), _Z_95 * _Z_95
    centre = (p + square / (2 * n)) / (1 + square / n)
    spread = np.sqrt(p * (1 - p) / n + square / (4 * n * n))
    half = _Z_95 * spread / (1 + square / n)
    # A proportion is always inside its interval; the clip removes rounding errors.
    return np.clip(centre - half, 0.0, p), np.clip(centre + half, p, 1.0)


def auroc_interval(area: float, positives: int, negatives: int) -> tuple[float, float]:
    """Compute the 95 % confidence interval of an area under the ROC curve.

    The method is Newcombe's method 5 (Statistics in Medicine 25, 2006, part 2). The
    interval contains every area that differs from ``area`` by at most 1.96 standard errors.
    The standard error is that of Hanley and McNeil (Radiology 143, 1982). The interval of
    an area of 1 also has a width above 0.

    Args:
        area: The measured area.
        positives: The number of records of the class.
        negatives: The number of records that are not of the class.

    Returns:
        The lower and the upper bound.

    Examples:
        >>> low, high = auroc_interval(0.9, 50, 50)
        >>> round(low, 3), round(high, 3)
        (0.816, 0.946)
    """
    extra = (positives + negatives) / 2 - 1

    def is_inside(other: float) -> bool:
        """Return whether the measured area is compatible with a given true area."""
        spread = 1 + extra * (1 - other) / (2 - other) + extra * other / (1 + other)
        variance = other * (1 - other) * spread / (positives * negatives)
        return abs(area - other) <= _Z_95 * math.sqrt(variance)

    return _find_bound(is_inside, area, 0.0), _find_bound(is_inside, area, 1.0)


def auprc_interval(area: float, positives: int) -> tuple[float, float]:
    """Compute the 95 % confidence interval of an area under the precision-recall curve.

    Boyd, Eng and Page (ECML PKDD 2013) treat the area as a proportion of the positives and
    derive a binomial and a logit interval. At an area of 1 the binomial interval has no
    width and the logit interval is not defined. This function uses Wilson's score interval
    (1927) for the same proportion. The area is not a proportion of records, so all three
    intervals are approximations. Near an area of 1, Wilson's interval tends to be too wide.

    Args:
        area: The measured average precision, which is the area under the curve.
        positives: The number of records of the class.

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
    """Compute the 95 % confidence interval of Pearson's correlation, by Fisher's z (1921).

    Args:
        correlation: The measured correlation.
        records: The number of pairs of values.

    Returns:
        The lower and the upper bound; ``(-1.0, 1.0)`` for fewer than four pairs, or if
        the correlation is NaN.

    Examples:
        >>> low, high = pearson_interval(0.5, 100)
        >>> round(low, 3), round(high, 3)
        (0.337, 0.634)
    """
    if records <= _MIN_FISHER_PAIRS or math.isnan(correlation):
        return -1.0, 1.0
    if abs(correlation) >= 1:
        return correlation, correlation
    middle, half = math.atanh(correlation), _Z_95 / math.sqrt(records - _MIN_FISHER_PAIRS)
    return math.tanh(middle - half), math.tanh(middle + half)


def _find_bound(is_inside: Callable[[float], bool], inside: float, outside: float) -> float:
    """Find the end of an interval by bisection between a value inside and one outside."""
    for _ in range(_BISECTION_STEPS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if is_inside(middle) else (inside, middle)
    return inside
