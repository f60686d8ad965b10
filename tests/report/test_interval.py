"""Tests of the 95 % intervals of proportions and of areas under curves."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm

from seqloom.nn._metric_inputs import RankCurve
from seqloom.report import auprc_interval, auroc_interval, wilson_interval


def test_the_wilson_interval_equals_the_one_that_newcombe_published():
    # Interval of 81 of 263 by the score method, from Newcombe (1998), Statistics in
    # Medicine 17, table I.
    assert wilson_interval(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_the_interval_of_zero_trials_is_0_to_1():
    assert wilson_interval(0, 0) == (0.0, 1.0)


@given(st.integers(1, 10_000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_a_proportion_is_inside_its_interval(counts):
    hits, total = counts
    low, high = wilson_interval(hits, total)
    assert 0 <= low <= hits / total + 1e-12
    assert hits / total - 1e-12 <= high <= 1


def coverage(area, interval, *, positives=40, negatives=60, shift=1.2):
    """Return the fraction of simulations in which the interval contains the true area."""
    rng, times = np.random.default_rng(0), 400
    labels = np.repeat([1, 0], (positives, negatives))
    held = 0
    for _ in range(times):
        curve = RankCurve.from_scores(labels, rng.normal(size=labels.size) + shift * labels)
        low, high = interval(curve)
        held += low <= area <= high
    return held / times


def test_the_auroc_interval_contains_the_true_area_in_95_percent_of_cases():
    area = norm.cdf(1.2 / np.sqrt(2))
    held = coverage(area, lambda it: auroc_interval(it.auroc, 40, 60))
    assert held == pytest.approx(0.95, abs=0.025)


def test_the_auprc_interval_contains_the_true_area_in_at_least_95_percent_of_cases():
    thresholds = np.linspace(10, -9, 20_001)
    recall, false = norm.sf(thresholds - 1.2), norm.sf(thresholds)
    area = np.trapezoid(40 * recall / (40 * recall + 60 * false), recall)
    assert coverage(area, lambda it: auprc_interval(it.auprc, 40)) >= 0.94


@pytest.mark.soak
@pytest.mark.parametrize("positives", [20, 100, 500])
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("shift", [0.5, 1, 2, 3])
def test_the_auprc_interval_contains_the_true_area_for_many_sizes_and_areas(
    shift, share, positives
):
    rng = np.random.default_rng(0)
    ratio, times = (1 - share) / share, 1000
    thresholds = np.linspace(12, -9, 40_001)
    recall, false = norm.sf(thresholds - shift), norm.sf(thresholds)
    area = np.trapezoid(recall / (recall + ratio * false), recall)
    labels = np.arange(positives + round(positives * ratio)) < positives
    held = 0
    for _ in range(times):
        curve = RankCurve.from_scores(labels, rng.normal(size=labels.size) + shift * labels)
        low, high = auprc_interval(curve.auprc, positives)
        held += low <= area <= high
    assert held / times >= 0.94


def test_the_interval_of_an_area_of_1_begins_below_1_and_ends_at_1():
    for low, high in (auroc_interval(1.0, 20, 20), auprc_interval(1.0, 20)):
        assert high == pytest.approx(1.0)
        assert 0.7 < low < 0.95
