"""Means and spreads of genotypes, from counts: the same for any number of threads."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from seqloom.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_COPIES = 2


def mean_and_scale(
    counts: NDArray[np.int64],
    total: int,
    standardize: str | tuple[str, float, float] | None,
    *,
    count_a1: bool,
) -> tuple[Floats, Floats, NDArray[np.bool_]]:
    """Finds for each variant what is taken off, and what the rest is multiplied by."""
    missing, single, double = counts.T
    known = total - missing
    if count_a1:
        double = known - single - double
    sums, squares = single + _COPIES * double, single + _COPIES**2 * double
    # n times the sum of squares, less the square of the sum: an integer.
    spread = known * squares - sums**2
    mean = sums / np.maximum(known, 1)
    is_constant = spread == 0
    scale = _scale(mean, np.sqrt(spread) / np.maximum(known, 1), standardize)
    return mean, np.where(is_constant, 0.0, scale), is_constant


def _scale(
    mean: Floats, deviation: Floats, standardize: str | tuple[str, float, float] | None
) -> Floats:
    """Finds the factors; what does not vary may have any."""
    if standardize is None:
        return np.ones_like(mean)
    if standardize == "unit":
        return 1 / np.where(deviation == 0, 1.0, deviation)
    frequency = mean / _COPIES
    rarer = np.minimum(frequency, 1 - frequency)
    return _beta_density(np.where(deviation == 0, 0.5, rarer), *standardize[1:])  # pyright: ignore[reportArgumentType] - checked before


def _beta_density(x: Floats, a: float, b: float) -> Floats:
    """Gives the density of the beta distribution."""
    constant = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return np.exp(constant + (a - 1) * np.log(x) + (b - 1) * np.log1p(-x))


def check_standardize(standardize: object) -> str | tuple[str, float, float] | None:
    """Refuses what is no way to standardise."""
    if standardize is None or (isinstance(standardize, str) and standardize == "unit"):
        return standardize
    if isinstance(standardize, (tuple, list)) and standardize:
        name, *numbers = standardize  # pyright: ignore[reportUnknownVariableType]
        if name == "beta" and len(numbers) == _COPIES and all(n > 0 for n in numbers):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            return ("beta", float(numbers[0]), float(numbers[1]))  # pyright: ignore[reportUnknownArgumentType]
    raise ArgumentError(
        f'standardize must be "unit", ("beta", a, b) with a and b above 0, or None; '
        f"got {standardize!r}"
    )


def covariate_statistics(values: Floats) -> tuple[Floats, Floats]:
    """Finds mean and factor of each covariate; what does not vary becomes 0."""
    known = np.isfinite(values)
    count = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, values, 0).sum(axis=0) / count
    differences = np.where(known, values - mean, 0)
    deviation = np.sqrt((differences**2).sum(axis=0) / count)
    is_same = np.ptp(np.where(known, values, mean), axis=0) == 0 if len(values) else True
    return mean, np.where(is_same, 0.0, 1 / np.where(deviation == 0, 1.0, deviation))
