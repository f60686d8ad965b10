"""The metrics, with scikit-learn and SciPy as oracles."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays
from sklearn import metrics as theirs

from seqloom.errors import DTypeError, NotFiniteError, OutOfRangeError, ShapeError
from seqloom.nn import _metrics as ours

stats = pytest.importorskip("scipy.stats")
brief = settings(max_examples=30, deadline=None)
classes = arrays(np.int64, 40, elements=st.integers(0, 2))
answers = arrays(np.int64, 40, elements=st.integers(0, 1))
# Few distinct values, so that ties are met often.
values = arrays(np.float64, 40, elements=st.integers(-8, 8).map(lambda value: value / 8))


@brief
@given(classes, classes)
def test_the_confusion_matrix_is_that_of_scikit_learn(labels, predicted):
    expected = theirs.confusion_matrix(labels, predicted, labels=range(3))
    assert (ours.confusion_matrix(labels, predicted, size=3) == expected).all()


@brief
@given(classes, classes)
def test_accuracy_is_that_of_scikit_learn(labels, predicted):
    assert ours.accuracy(labels, predicted) == theirs.accuracy_score(labels, predicted)


@pytest.mark.filterwarnings("ignore:y_pred contains classes", "ignore:A single label")
@brief
@given(classes, classes)
def test_balanced_accuracy_is_that_of_scikit_learn(labels, predicted):
    expected = theirs.balanced_accuracy_score(labels, predicted)
    assert ours.balanced_accuracy(labels, predicted, size=3) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:A single label")
@brief
@given(classes, classes)
def test_mcc_is_that_of_scikit_learn(labels, predicted):
    expected = theirs.matthews_corrcoef(labels, predicted)
    assert ours.mcc(labels, predicted, size=3) == pytest.approx(expected, abs=1e-12)


@brief
@given(answers.filter(lambda labels: 0 < labels.sum() < 40), values)
def test_auroc_is_that_of_scikit_learn_with_ties(labels, scores):
    assert ours.auroc(labels, scores) == pytest.approx(theirs.roc_auc_score(labels, scores))


@brief
@given(answers.filter(lambda labels: 0 < labels.sum() < 40), values)
def test_auprc_is_the_average_precision_of_scikit_learn(labels, scores):
    expected = theirs.average_precision_score(labels, scores)
    assert ours.auprc(labels, scores) == pytest.approx(expected)


def test_auroc_of_classes_is_the_mean_of_one_against_the_rest():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 3, 60), rng.dirichlet([1, 1, 1], 60)
    expected = theirs.roc_auc_score(labels, scores, multi_class="ovr")
    assert ours.auroc(labels, scores) == pytest.approx(expected)


def test_auroc_of_a_table_is_the_mean_over_its_columns():
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, (60, 2)), rng.random((60, 2))
    assert ours.auroc(labels, scores) == pytest.approx(theirs.roc_auc_score(labels, scores))


def test_a_column_with_one_answer_is_left_out_of_the_mean():
    labels, scores = np.array([[0, 0], [1, 0]]), np.array([[0.1, 0.5], [0.9, 0.6]])
    assert ours.auroc(labels, scores) == 1.0


@brief
@given(values.filter(lambda labels: labels.std() > 0), values)
def test_r2_is_that_of_scikit_learn(labels, predicted):
    assert ours.r2(labels, predicted) == pytest.approx(theirs.r2_score(labels, predicted))


@brief
@given(*[values.filter(lambda column: column.std() > 0)] * 2)
def test_the_correlations_are_those_of_scipy(labels, predicted):
    pearson = stats.pearsonr(labels, predicted).statistic
    spearman = stats.spearmanr(labels, predicted).statistic
    assert ours.pearson(labels, predicted) == pytest.approx(pearson, abs=1e-9)
    assert ours.spearman(labels, predicted) == pytest.approx(spearman, abs=1e-9)


@pytest.mark.parametrize("measure", [ours.auroc, ours.auprc, ours.r2, ours.pearson])
def test_labels_that_do_not_vary_have_no_measure(measure):
    assert math.isnan(measure([1.0, 1.0], [0.2, 0.4]))


def test_no_labels_have_no_accuracy():
    assert math.isnan(ours.accuracy([], []))


def test_shapes_that_do_not_fit_are_named():
    with pytest.raises(
        ShapeError, match=r"labels must have the shape of scores \(2,\).*, got \(3,\)"
    ):
        ours.auroc([0, 1, 1], [0.5, 0.5])


AREAS, FITS = [ours.auroc, ours.auprc], [ours.r2, ours.pearson, ours.spearman]


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
@pytest.mark.parametrize(
    ("true", "guess"), [((4,), (4, 1)), ((4, 1), (4,)), ((4,), (3,)), ((), ()), ((), (4,))]
)
def test_shapes_that_could_be_broadcast_are_refused(measure, true, guess):
    scores = np.array([0.1, 0.9, 0.8, 0.3])
    labels = np.resize([0, 1, 1, 0], true)
    with pytest.raises(ShapeError) as caught:
        measure(labels, np.resize(scores, guess))
    assert str(true) in str(caught.value)
    assert str(guess) in str(caught.value)


@pytest.mark.parametrize("measure", FITS)
def test_a_column_for_each_class_is_no_prediction_of_a_number(measure):
    with pytest.raises(ShapeError, match=r"labels \(3,\), got shape \(3, 2\)"):
        measure([0, 1, 1], SCORES)


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
@pytest.mark.parametrize("which", [0, 1])
def test_numbers_that_are_none_are_refused(measure, which):
    given = [np.array([0.0, 1.0, 1.0, 0.0]), np.array([0.1, 0.9, 0.8, 0.3])]
    given[which][2] = math.nan
    with pytest.raises(NotFiniteError, match="1 NaN, the first at 2"):
        measure(*given)


@pytest.mark.parametrize("measure", [ours.accuracy, partial(ours.mcc, size=2)])
def test_a_class_is_not_chosen_among_scores_that_are_no_numbers(measure):
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
def test_labels_that_are_no_classes_have_no_area(measure, labels, scores, message):
    with pytest.raises(OutOfRangeError, match=message):
        measure(labels, scores)


@pytest.mark.parametrize("measure", [*AREAS, *FITS])
def test_no_records_have_no_measure(measure):
    assert math.isnan(measure([], []))


def test_infinite_scores_are_ranked():
    assert ours.auroc([0, 1, 1], [-math.inf, 0.2, math.inf]) == 1.0


SCORES = np.array([[0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])


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
def test_of_scores_by_class_the_highest_decides(measure):
    found = measure([0, 1, 1], SCORES)
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
def test_what_are_no_classes_is_refused(measure, predicted, kind, message):
    with pytest.raises(kind, match=message):
        measure([0, 1, 1], predicted)
