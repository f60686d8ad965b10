"""Tests of report sections about ROC and precision-recall curves, and calibration."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics
from sklearn.calibration import calibration_curve

from seqloom.nn._metric_inputs import RankCurve
from seqloom.train._probabilities import (
    Calibration,
    calibration_section,
    curve_section,
    merge_close_points,
)

# Scores are multiples of 0.01, because many multiples are at the edge of a bin.
RANDOM_OUTCOMES_AND_SCORES = st.lists(
    st.tuples(st.booleans(), st.integers(0, 100)), min_size=1, max_size=80
)


def curves_of(labels, scores) -> Any:
    return curve_section(labels, scores, classes=("a", "b", "c"), name="test")


@pytest.fixture
def three_classes():
    """Forty records of three classes, and scores that partly separate them."""
    rng = np.random.default_rng(3)
    labels = np.eye(3, dtype=bool)[rng.integers(0, 3, 40)]
    return labels, labels + rng.normal(size=(40, 3))


def test_the_curve_of_a_class_compares_it_with_all_other_classes(three_classes):
    labels, scores = three_classes
    rows = curves_of(labels, scores).table.rows
    assert [row[:2] for row in rows] == list(zip("abc", labels.sum(axis=0), strict=True))
    for row, true, guess in zip(rows, labels.T, scores.T, strict=True):
        assert row[2].startswith(f"{metrics.roc_auc_score(true, guess):.3f} (")
        assert row[3].startswith(f"{metrics.average_precision_score(true, guess):.3f} (")


def test_a_class_without_records_has_no_curve(three_classes):
    labels, scores = three_classes
    labels[:, 1] = False
    section = curves_of(labels, scores)
    assert [row[0] for row in section.table.rows] == ["a", "c"]


def test_records_of_one_class_have_no_curves():
    assert curves_of([[1, 0, 0]] * 4, np.eye(4)[:, :3]) is None


def test_only_the_classes_with_the_most_records_are_drawn():
    numbers = np.repeat(np.arange(12), np.arange(1, 13))
    labels = numbers[:, None] == np.arange(12)
    names = [f"class-{number}" for number in range(12)]
    section: Any = curve_section(labels, labels + 0.0, classes=names, name="test")
    legend = [trace.name.split()[0] for trace in section.drawings[1].traces]
    assert legend == names[4:]
    assert len(section.table.rows) == 12
    assert "Shown: the 8 classes with the most records." in section.note


def test_a_thinned_curve_follows_the_full_curve_and_has_the_same_area():
    rng = np.random.default_rng(0)
    labels = rng.random(100_000) < 0.2
    curve = RankCurve.from_scores(labels, labels + rng.normal(size=labels.size))
    thin = merge_close_points(curve)
    assert len(thin.true_positives) <= 4000
    assert (thin.positives, thin.negatives) == (curve.positives, curve.negatives)
    assert thin.true_positives[0] == thin.false_positives[0] == 0
    assert thin.auroc == pytest.approx(curve.auroc, abs=1e-5)


@given(RANDOM_OUTCOMES_AND_SCORES)
def test_calibration_bins_equal_those_of_scikit_learn(answers):
    right, hundredths = map(np.array, zip(*answers, strict=True))
    found = Calibration.measure(right, hundredths / 100)
    share, sure = calibration_curve(right, hundredths / 100, n_bins=10, pos_label=True)
    full = found.counts > 0
    np.testing.assert_allclose(found.right[full], share)
    np.testing.assert_allclose(found.mean[full], sure)
    assert found.counts.sum() == len(answers)


def test_the_calibration_error_is_the_mean_gap_over_predictions():
    # Four predictions are 0.9 (two are correct), and one prediction is 0.2 (wrong).
    found = Calibration.measure([1, 1, 0, 0, 0], [0.9, 0.9, 0.9, 0.9, 0.2])
    assert found.error == pytest.approx((4 * 0.4 + 1 * 0.2) / 5)


def test_perfectly_calibrated_predictions_have_an_error_of_zero():
    assert Calibration.measure([1, 1, 1, 0], [0.75] * 4).error == pytest.approx(0)


def test_the_calibration_table_counts_the_predictions_of_each_bin():
    section = calibration_section([1, 0, 1], [0.95, 0.55, 0.52], name="test")
    assert [row[:2] for row in section.details.rows] == [
        ("0.5 to 0.6", 2),
        ("0.9 to 1.0", 1),
    ]
