"""Reference implementation of standardised genotypes in NumPy."""

import warnings
from typing import Any

import numpy as np
import scipy.stats


def standardised(copies, learnt_from=None, *, how: Any = "unit"):
    """Impute and standardise genotypes by the formula in NumPy."""
    learnt_from = copies if learnt_from is None else learnt_from
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # columns without genotypes
        mean = np.nan_to_num(np.nanmean(learnt_from, axis=0))
        deviation = np.nan_to_num(np.nanstd(learnt_from, axis=0))
    filled = np.where(np.isnan(copies), mean, copies)
    if how is None:
        return filled
    varies = deviation > 1e-12
    if how == "unit":
        factor = 1 / np.where(varies, deviation, 1)
    else:
        rarer = np.minimum(mean / 2, 1 - mean / 2)
        factor = scipy.stats.beta.pdf(np.where(varies, rarer, 0.5), how[1], how[2])
    return np.where(varies, (filled - mean) * factor, 0)


def assert_equal_in_float32(found, expected):
    """Compare with a float64 reference, up to one rounding to float32."""
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=3e-7, atol=3e-7)
