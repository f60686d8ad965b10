"""Metrics match scikit-learn and SciPy."""

import math
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as theirs

from seqloom.errors import (
    ArgumentError,
    DTypeError,
    NotFiniteError,
    OutOfRangeError,
    ShapeError,
)
from seqloom.nn import Accuracy, _metrics as ours
from seqloom.nn._metric_inputs import RankCurve

stats = pytest.importorskip("scipy.stats")
brief = settings(max_examples=30, deadline=None)
classes = arrays(np.int64, 40, elements=st.integers(0, 2))
answers = arrays(np.int64, 40, elements=st.integers(0, 1))
# There are few distinct values, so that ties are frequent.
values = arrays(np.float64, 40, elements=st.integers(-8, 8).map(lambda value: value / 8))


@brief
@given(classes, classes)
def test_the_confusion_matrix_matches_scikit_learn(labels, predicted):
    expected = theirs.confusion_matrix(labels, predicted, labels=range(3))
    assert (ours.confusion_matrix(labels, predicted, size=3) == expected).all()


@brief
@given(classes, classes)
def test_accuracy_matches_scikit_learn(labels, predicted):
    assert ours.accuracy(labels, predicted) == theirs.accuracy_score(labels, predicted)


@pytest.mark.filterwarnings("ignore:y_pred contains classes", "ignore:A single label")
@brief
@given(classes, classes)
def test_balanced_accuracy_matches_scikit_learn(labels, predicted):
    expected = theirs.balanced_accuracy_score(labels, predicted)
    assert ours.balanced_accuracy(labels, predicted, size=3) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:A single label")
@brief
@given(classes, classes)
def test_mcc_matches_scikit_learn(labels, predicted):
    expected = theirs.matthews_corrcoef(labels, predicted)
    assert ours.mcc(labels, predicted, size=3) == pytest.approx(expected, abs=1e-12)


@brief
@given(answers.filter(lambda labels: 0 < labels.sum() < 40), values)
def test_auroc_matches_scikit_learn_with_ties(labels, scores):
    assert ours.auroc(labels, scores) == pytest.approx(theirs.roc_auc_score(labels, scores))


@brief
@given(answers.filter(lambda labels: 0 < labels.sum() < 40), values)
def test_auprc_matches_the_average_precision_of_scikit_learn(labels, scores):
    expected = theirs.average_precision_score(labels, scores)
    assert ours.auprc(labels, scores) == pytest.approx(expected)


def test_auroc_of_classes_is_the_mean_of_one_vs_rest():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 60), rng.dirichlet([1, 1, 1], 60)
    expected = theirs.roc_auc_score(labels, scores, multi_class="ovr")
    assert ours.auroc(labels, scores) == pytest.approx(expected)


def test_auroc_of_a_table_is_the_mean_over_its_columns():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, (60, 2)), rng.random((60, 2))
    assert ours.auroc(labels, scores) == pytest.approx(theirs.roc_auc_score(labels, scores))


def test_a_column_with_one_label_is_excluded_from_the_mean():
    labels, scores = np.array([[0, 0], [1, 0]]), np.array([[0.1, 0.5], [0.9, 0.6]])
    assert ours.auroc(labels, scores) == 1.0


@brief
@given(values.filter(lambda labels: labels.std() > 0), values)
def test_r2_matches_scikit_learn(labels, predicted):
    assert ours.r2(labels, predicted) == pytest.approx(theirs.r2_score(labels, predicted))


@brief
@given(*[values.filter(lambda column: column.std() > 0)] * 2)
def test_correlations_match_scipy(labels, predicted):
    pearson = stats.pearsonr(labels, predicted).statistic
    spearman = stats.spearmanr(labels, predicted).statistic
    assert ours.pearson(labels, predicted) == pytest.approx(pearson, abs=1e-9)
    assert ours.spearman(labels, predicted) == pytest.approx(spearman, abs=1e-9)


@pytest.mark.parametrize("measure", [ours.auroc, ours.auprc, ours.r2, ours.pearson])
def test_metrics_of_constant_labels_are_nan(measure):
    assert math.isnan(measure([1.0, 1.0], [0.2, 0.4]))


def test_accuracy_without_labels_is_nan():
    assert math.isnan(ours.accuracy([], []))


def test_the_error_of_a_metric_names_mismatched_shapes():
    with pytest.raises(
        ShapeError, match=r"labels must have the shape of scores \(2,\).*, got \(3,\)"
    ):
        ours.auroc([0, 1, 1], [0.5, 0.5])


AREAS, FITS = [ours.auroc, ours.auprc], [ours.r2, ours.pearson, ours.spearman]


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
@pytest.mark.parametrize(
    ("true", "guess"), [((4,), (4, 1)), ((4, 1), (4,)), ((4,), (3,)), ((), ()), ((), (4,))]
)
def test_metrics_reject_shapes_that_would_broadcast(measure, true, guess):
    scores = np.array([0.1, 0.9, 0.8, 0.3])
    labels = np.resize([0, 1, 1, 0], true)
    with pytest.raises(ShapeError) as caught:
        measure(labels, np.resize(scores, guess))
    assert str(true) in str(caught.value)
    assert str(guess) in str(caught.value)


@pytest.mark.parametrize("measure", FITS)
def test_class_scores_are_rejected_by_regression_metrics(measure):
    with pytest.raises(ShapeError, match=r"labels \(3,\), got shape \(3, 2\)"):
        measure([0, 1, 1], CLASS_SCORES)


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
@pytest.mark.parametrize("which", [0, 1])
def test_metrics_reject_nan_labels_and_scores(measure, which):
    given = [np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.1, 0.9, 0.8, 0.3])]
    given[which][2] = math.nan
    with pytest.raises(NotFiniteError, match="1 NaN, the first at 2"):
        measure(*given)


@pytest.mark.parametrize("measure", [ours.accuracy, partial(ours.mcc, size=2)])
def test_nan_class_scores_are_rejected(measure):
    with pytest.raises(NotFiniteError, match="predicted holds 1 NaN, the first at 1, 0"):
        measure([0, 1], [[0.3, 0.7], [math.nan, 0.2]])


@pytest.mark.parametrize("measure", AREAS)
@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
        ([0, 2, 0], [0.1, 0.9, 0.8], "labels must be 0 or 1, got 2"),
        ([-1, 1, 1], [0.1, 0.9, 0.8], "labels must be 0 or 1, got -1"),
        ([0, 0.5, 1], [0.1, 0.9, 0.8], "labels must be 0 or 1, got 0.5"),
        ([0, 2, 1], [[0.1, 0.9]] * 3, "classes from 0 to 1, got 2"),
    ],
)
def test_labels_that_are_not_classes_are_rejected_by_auroc(
    measure, labels, scores, message
):
    with pytest.raises(OutOfRangeError, match=message):
        measure(labels, scores)


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
def test_metrics_without_records_are_nan(measure):
    assert math.isnan(measure([], []))


def test_auroc_ranks_infinite_scores():
    assert ours.auroc([0, 1, 1], [-math.inf, 0.2, math.inf]) == 1.0


CLASS_SCORES = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])


@pytest.mark.parametrize(
    "measure",
    [
        ours.accuracy,
        ours.f1,
        partial(ours.mcc, size=2),
        partial(ours.balanced_accuracy, size=2),
        partial(ours.confusion_matrix, size=2),
    ],
)
def test_the_highest_class_score_determines_the_class(measure):
    found = measure([0, 1, 1], CLASS_SCORES)
    np.testing.assert_array_equal(found, measure([0, 1, 1], [0, 1, 0]))


@pytest.mark.parametrize("measure", [ours.accuracy, ours.f1])
@pytest.mark.parametrize(
    ("predicted", "kind", "message"),
    [
        ([0.2, 0.7, 0.6], DTypeError, "got fractions; pass for example scores > 0.5"),
        ([[0], [1], [1]], ShapeError, r"labels \(3,\), .* got shape \(3, 1\)"),
        ([0, 1], ShapeError, r"labels \(3,\), .* got shape \(2,\)"),
    ],
)
def test_predictions_that_are_not_classes_are_rejected(measure, predicted, kind, message):
    with pytest.raises(kind, match=message):
        measure([0, 1, 1], predicted)


NEARLY_EQUAL_LARGE_NUMBERS = [1e16, 1e16 + 2, 1e16 + 4, 1e16 + 8]
NUMBERS_WITH_INFINITY = [math.inf, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("order", [[0, 1], [1, 0]])
@pytest.mark.parametrize("equal", [-math.inf, math.inf])
def test_equal_infinite_scores_are_a_tie_in_any_order_of_records(order, equal):
    labels = np.array([1, 0])[order]
    # All records have the same score, so the only precision is 1/2, at recall 1.
    assert ours.auprc(labels, [equal] * 2) == 0.5
    assert ours.auroc(labels, [equal] * 2) == 0.5
    curve = RankCurve.from_scores(labels, [equal] * 2)
    assert (curve.auroc, curve.auprc) == (0.5, 0.5)


@pytest.mark.parametrize("measure", FITS)
@pytest.mark.parametrize("value", [0.1, 1e200, 1e-300, 1e308, -0.0])
def test_a_constant_column_gives_nan_despite_a_rounded_mean(measure, value):
    assert math.isnan(measure([value] * 3, [0.0, 0.5, 0.25]))
    if measure is not ours.r2:
        assert math.isnan(measure([0.0, 0.5, 0.25], [value] * 3))


@pytest.mark.parametrize("power", [-330, -1000, 700, 1010])
def test_metrics_do_not_depend_on_the_scale_of_the_values(power):
    labels, predicted = np.array([1.0, 2.0, 4.0, 3.0]), np.array([1.0, 3.0, 3.5, 3.0])
    scaled = np.ldexp(labels, power), np.ldexp(predicted, power)
    for measure in FITS:
        assert measure(*scaled) == measure(labels, predicted)


@brief
@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=9, unique=True))
def test_a_column_has_correlation_one_with_itself(column):
    for measure in (ours.pearson, ours.spearman):
        assert 1 - 1e-12 < measure(column, column) <= 1
        assert -1 <= measure(column, np.negative(column)) < -1 + 1e-12


def test_correlation_of_large_close_values_is_accurate():
    # A constant offset does not change the correlation, but the mean of large values is
    # rounded.
    expected = ours.pearson([0, 2, 4, 8], [1.0, 3.0, 2.0, 5.0])
    assert ours.pearson(NEARLY_EQUAL_LARGE_NUMBERS, [1.0, 3.0, 2.0, 5.0]) == pytest.approx(
        expected, rel=1e-12
    )


def test_r2_is_minus_infinity_for_infinite_predictions_and_nan_for_labels():
    assert ours.r2([1, 2, 3, 4], NUMBERS_WITH_INFINITY) == -math.inf
    assert math.isnan(ours.r2(NUMBERS_WITH_INFINITY, [1, 2, 3, 4]))
    assert math.isnan(ours.pearson([1, 2, 3, 4], NUMBERS_WITH_INFINITY))
    # Infinite values are ranked like finite values: 4, 1, 2, 3 against 1, 2, 3, 4.
    assert ours.spearman([1, 2, 3, 4], NUMBERS_WITH_INFINITY) == pytest.approx(-0.2)


def test_mcc_of_a_rare_class_among_many_records_is_exact():
    counts = np.array([[3_000_000_000, 1], [0, 1]])
    # The expected value, sqrt(1 / 2) - 1.2e-10, is computed with Fractions.
    assert ours.mcc_from_counts(counts) == pytest.approx(
        math.sqrt(Fraction(3 * 10**9, 2 * (3 * 10**9 + 1))), rel=1e-15
    )


def test_mcc_without_labels_is_nan():
    assert math.isnan(ours.mcc([], [], size=2))


def test_an_infinite_class_is_rejected():
    with pytest.raises(DTypeError, match="got infinity"):
        ours.accuracy([0, 1], [math.inf, 1])


@given(st.lists(st.tuples(st.booleans(), st.floats(-9, 9)), min_size=2, max_size=40))
def test_auroc_and_auprc_are_at_most_one(answers):
    labels, scores = zip(*answers, strict=True)
    if len(set(labels)) == 2:
        curve = RankCurve.from_scores(labels, np.array(scores) + 100 * np.array(labels))
        assert (curve.auroc, curve.auprc) == (1.0, 1.0)


def test_mixing_string_and_numeric_classes_is_an_error():
    scores = [[2.0, 1.0], [0.0, 1.0]]
    for labels, predicted in (
        (["0", "1"], scores),
        (["0", "1"], [0, 1]),
        ([0, 1], ["0", "1"]),
    ):
        with pytest.raises(
            DTypeError, match="are strings and the other classes are numbers"
        ):
            ours.accuracy(labels, predicted)
    assert ours.accuracy(["a", "b"], ["a", "a"]) == 0.5


@pytest.mark.parametrize("label", [-1, 2])
def test_a_label_without_a_score_column_is_an_error(label):
    scores = [[2.0, 1.0], [0.0, 1.0]]
    with pytest.raises(OutOfRangeError, match=f"classes from 0 to 1, got {label}"):
        ours.accuracy([0, label], scores)
    with pytest.raises(OutOfRangeError, match=f"classes from 0 to 1, got {label}"):
        Accuracy().update([0, label], scores)


def test_metrics_reject_pandas_series_in_another_order():
    labels = pd.Series([1.0, 2.0, 4.0], index=["a", "b", "c"])
    for start in (labels, labels.reset_index(drop=True)):
        other = start.iloc[::-1]
        with pytest.raises(
            ArgumentError, match="the index of predicted differs from that of labels"
        ):
            ours.pearson(start, other)
        assert ours.pearson(start.to_numpy(), other.loc[start.index]) == pytest.approx(1.0)


def test_metrics_reject_masked_arrays():
    masked = np.ma.array([0, 1, 7], mask=[False, False, True])
    with pytest.raises(ArgumentError, match="labels has 1 masked values"):
        ours.accuracy(masked, [0, 1, 1])
    assert ours.accuracy(masked.compressed(), [0, 1]) == 1.0
