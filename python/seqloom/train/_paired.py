"""Paired tests of two models on the same records."""

from math import exp, lgamma, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RESAMPLES = 2000
MIN_BOOTSTRAP_P = 2 / (_RESAMPLES + 1)  # smallest p-value of `bootstrap`
# Maximum product of records and resamples in one chunk, to limit memory.
_MAX_COUNTS = 1 << 22


def mcnemar(only_first: int, only_second: int) -> float:
    """Compute the two-sided p-value of McNemar's test, from the binomial distribution."""
    # The test counts only records that exactly one of the classifiers predicts
    # correctly. If both classifiers are equally good, each of them is right on such a
    # record with probability 1/2 (McNemar, Psychometrika 12, 1947).
    fewer, total = min(only_first, only_second), only_first + only_second
    chance = exp(
        lgamma(total + 1) - lgamma(fewer + 1) - lgamma(total - fewer + 1) - total * log(2)
    )
    # Binomial probabilities of counts below `fewer`, relative to the probability of
    # `fewer`.
    down = np.arange(fewer, 0, -1)
    below = float(np.cumprod(down / (total - down + 1)).sum())
    return min(1.0, 2 * chance * (1 + below))


def bootstrap(differences: NDArray[np.floating[Any]]) -> float:
    """Compute the two-sided p-value of a mean difference, by a paired bootstrap."""
    # The p-value is twice the smaller fraction of resampled means on one side of 0, at
    # least about 0.001. It inverts the percentile interval of Efron and Tibshirani (An
    # Introduction to the Bootstrap, 1993, chapter 13).
    count = len(differences)
    if not differences.any():
        return 1.0
    # The seed is fixed, so the same predictions always have the same p-value.
    random, means = np.random.default_rng(0), list[float]()
    size = max(1, _MAX_COUNTS // count)
    while len(means) < _RESAMPLES:
        rows = random.integers(count, size=(min(size, _RESAMPLES - len(means)), count))
        means += differences[rows].mean(axis=1).tolist()
    above = sum(it >= 0 for it in means) + 1
    below = sum(it <= 0 for it in means) + 1
    return min(1.0, 2 * min(above, below) / (_RESAMPLES + 1))
