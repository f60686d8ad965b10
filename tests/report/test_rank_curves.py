"""ROC and precision-recall curves, their areas and the areas' intervals."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.stats import norm
from sklearn import metrics

from seqloom.report import auprc_interval, auroc_interval, class_curves
from seqloom.report._rank_curves import RankCurve

# Few distinct scores, so that there are ties.
ANSWERS = st.lists(st.tuples(st.booleans(), st.integers(0, 12)), min_size=2, max_size=60)


def drawn(labels, scores) -> Any:
    return class_curves(labels, scores, classes=("a", "b", "c"), name="test")


@pytest.fixture
def three():
    """Forty records of three classes, and scores that part them in part."""
    rng = np.random.default_rng(3)
    labels = np.eye(3, dtype=bool)[rng.integers(0, 3, 40)]
    return labels, labels + rng.normal(size=(40, 3))


@given(ANSWERS.filter(lambda it: len({label for label, _ in it}) == 2))
def test_curves_equal_those_of_scikit_learn(answers):
    labels, scores = map(np.array, zip(*answers, strict=True))
    curve = RankCurve.of(labels, scores)
    false, found, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose((curve.false_alarms, curve.recall), (false, found))
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    np.testing.assert_allclose(curve.precision, precision[-2::-1])
    np.testing.assert_allclose(curve.recall, recall[::-1])


@given(ANSWERS.filter(lambda it: len({label for label, _ in it}) == 2))
def test_areas_equal_those_of_scikit_learn(answers):
    labels, scores = map(np.array, zip(*answers, strict=True))
    curve = RankCurve.of(labels, scores)
    assert curve.auroc == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert curve.auprc == pytest.approx(metrics.average_precision_score(labels, scores))


def coverage(area, interval, *, positives=40, negatives=60, shift=1.2):
    """How often an interval holds the area of two normal distributions."""
    rng, times = np.random.default_rng(0), 400
    labels = np.repeat([1, 0], (positives, negatives))
    held = 0
    for _ in range(times):
        curve = RankCurve.of(labels, rng.normal(size=labels.size) + shift * labels)
        low, high = interval(curve)
        held += low <= area <= high
    return held / times


def test_the_interval_of_an_auroc_holds_the_true_one_as_often_as_it_says():
    area = norm.cdf(1.2 / np.sqrt(2))
    held = coverage(area, lambda it: auroc_interval(it.auroc, 40, 60))
    assert held == pytest.approx(0.95, abs=0.025)


def test_the_interval_of_an_auprc_holds_the_true_one_at_least_as_often_as_it_says():
    thresholds = np.linspace(10, -9, 20_001)
    recall, false = norm.sf(thresholds - 1.2), norm.sf(thresholds)
    area = np.trapezoid(40 * recall / (40 * recall + 60 * false), recall)
    assert coverage(area, lambda it: auprc_interval(it.auprc, 40)) >= 0.94


@pytest.mark.soak
@pytest.mark.parametrize("positives", [20, 100, 500])
@pytest.mark.parametrize("share", [0.5, 0.1])
@pytest.mark.parametrize("shift", [0.5, 1, 2, 3])
def test_the_interval_of_an_auprc_holds_the_true_one_in_95_of_100_cases(
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
        curve = RankCurve.of(labels, rng.normal(size=labels.size) + shift * labels)
        low, high = auprc_interval(curve.auprc, positives)
        held += low <= area <= high
    assert held / times >= 0.94


def test_of_a_perfect_area_the_interval_ends_at_1_and_begins_below():
    for low, high in (auroc_interval(1.0, 20, 20), auprc_interval(1.0, 20)):
        assert high == pytest.approx(1.0)
        assert 0.7 < low < 0.95


def test_each_class_stands_against_all_others(three):
    labels, scores = three
    rows = drawn(labels, scores).table.rows
    assert [row[:2] for row in rows] == list(zip("abc", labels.sum(axis=0), strict=True))
    for row, true, guess in zip(rows, labels.T, scores.T, strict=True):
        assert row[2].startswith(f"{metrics.roc_auc_score(true, guess):.3f} (")
        assert row[3].startswith(f"{metrics.average_precision_score(true, guess):.3f} (")


def test_a_class_that_no_record_has_is_left_out(three):
    labels, scores = three
    labels[:, 1] = False
    section = drawn(labels, scores)
    assert [row[0] for row in section.table.rows] == ["a", "c"]


def test_records_of_one_class_have_no_curves():
    assert drawn([[1, 0, 0]] * 4, np.eye(4)[:, :3]) is None


def test_of_many_classes_those_with_the_most_records_are_drawn():
    numbers = np.repeat(np.arange(12), np.arange(1, 13))
    labels = numbers[:, None] == np.arange(12)
    names = [f"class-{number}" for number in range(12)]
    section: Any = class_curves(labels, labels + 0.0, classes=names, name="test")
    legend = [trace.name.split()[0] for trace in section.drawings[1].traces]
    assert legend == names[4:]
    assert len(section.table.rows) == 12
    assert "Drawn: the 8 classes with the most records." in section.note


def test_a_thinned_curve_lies_on_the_whole_one_and_is_as_large():
    rng = np.random.default_rng(0)
    labels = rng.random(100_000) < 0.2
    curve = RankCurve.of(labels, labels + rng.normal(size=labels.size))
    thin = curve.thin()
    assert len(thin.hits) <= 4000
    assert (thin.positives, thin.negatives) == (curve.positives, curve.negatives)
    assert thin.hits[0] == thin.misses[0] == 0
    assert thin.auroc == pytest.approx(curve.auroc, abs=1e-5)
