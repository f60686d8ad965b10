"""Metrics over batches equal the metric of all data for any split and any order."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn import metrics as theirs

import seqloom as sl
from seqloom.errors import (
    ArgumentError,
    NotFiniteError,
    OutOfRangeError,
    RecordError,
    ShapeError,
)

nn = sl.nn
brief = settings(max_examples=25, deadline=None)

CLASS_METRICS = {
    "accuracy": (nn.Accuracy, nn.accuracy),
    "balanced accuracy": (
        lambda: nn.BalancedAccuracy(size=3),
        lambda *pair: nn.balanced_accuracy(*pair, size=3),
    ),
    "mcc": (lambda: nn.MCC(size=3), lambda *pair: nn.mcc(*pair, size=3)),
    **{
        f"{way} F1": (
            lambda way=way: nn.F1(size=3, average=way),
            lambda *pair, way=way: nn.f1(*pair, size=3, average=way),
        )
        for way in ("macro", "micro", "weighted")
    },
}
SCORE_METRICS = {
    "auroc": (nn.AUROC, nn.auroc),
    "auprc": (nn.AUPRC, nn.auprc),
    "pearson": (nn.Pearson, nn.pearson),
    "spearman": (nn.Spearman, nn.spearman),
    "r2": (nn.R2, nn.r2),
}


def accumulate(draw, make, columns):
    """Return a metric that several ranks updated with batches, merged in any order."""
    length = len(columns[0])
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    parts = [slice(*pair) for pair in zip([0, *cuts], [*cuts, length], strict=True)]
    ranks = [make() for _ in range(draw(st.integers(1, 4)))]
    for part in draw(st.permutations(parts)):
        draw(st.sampled_from(ranks)).update(*(column[part] for column in columns))
    first, *others = draw(st.permutations(ranks))
    for other in others:
        saved = make().load_record(other.to_record())
        first.merge(saved)
    return first


def same(found, expected):
    return found == expected or (math.isnan(found) and math.isnan(expected))


@pytest.mark.parametrize("name", CLASS_METRICS)
@brief
@given(data=st.data(), pairs=st.lists(st.tuples(*[st.integers(0, 2)] * 2), max_size=40))
def test_class_metrics_do_not_depend_on_the_split_into_batches(name, data, pairs):
    make, function = CLASS_METRICS[name]
    labels, predicted = np.array(pairs, np.int64).reshape(-1, 2).T
    metric = accumulate(data.draw, make, (labels, predicted))
    assert same(metric.compute(), function(labels, predicted))


scores = st.floats(-1e3, 1e3) | st.sampled_from([0.0, 0.25, 1.0])


@pytest.mark.parametrize("name", SCORE_METRICS)
@brief
@given(
    data=st.data(),
    pairs=st.lists(st.tuples(st.integers(0, 1), scores), min_size=1, max_size=40),
)
def test_score_metrics_do_not_depend_on_the_split_into_batches(name, data, pairs):
    make, function = SCORE_METRICS[name]
    labels, predicted = (np.array(column) for column in zip(*pairs, strict=True))
    metric = accumulate(data.draw, make, (labels, predicted))
    assert same(metric.compute(), function(labels, predicted))


@brief
@given(data=st.data(), values=st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=30))
def test_a_running_mean_is_rounded_once(data, values):
    metric = accumulate(data.draw, nn.Mean, (np.array(values),))
    exact = sum(map(Fraction, values), Fraction(0)) / len(values)
    assert metric.compute() == float(exact)


def test_a_mean_of_a_batch_is_weighted_by_its_number_of_records():
    metric = nn.Mean()
    metric.update(0.5, 3)
    metric.update([2.0])
    assert metric.compute() == 0.875


@pytest.mark.parametrize(
    ("values", "expected"), [([math.inf, 1.0], math.inf), ([math.nan, 1.0], math.nan)]
)
def test_the_mean_of_infinite_or_nan_values_is_not_finite(values, expected):
    metric = nn.Mean()
    metric.update(values)
    assert same(metric.compute(), expected)


@pytest.mark.parametrize("average", ["binary", "macro", "micro", "weighted"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")
@brief
@given(pairs=st.lists(st.tuples(*[st.integers(0, 3)] * 2), min_size=1, max_size=30))
def test_f1_matches_scikit_learn(average, pairs):
    labels, predicted = np.array(pairs).T
    size = 4
    if average == "binary":
        labels, predicted, size = labels % 2, predicted % 2, 2
    options: Any = {"average": average, "zero_division": 0}
    expected = theirs.f1_score(labels, predicted, **options)
    found = nn.f1(labels, predicted, size=size, average=average)
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", [*CLASS_METRICS, *SCORE_METRICS])
def test_a_metric_without_batches_is_nan(name):
    metric = (CLASS_METRICS | SCORE_METRICS)[name][0]()
    found = metric.compute()
    assert math.isnan(found) or (name == "mcc" and found == 0)
    metric.update([0, 1], [0, 1])
    metric.reset()
    assert same(metric.compute(), found)


def test_scores_of_classes_are_accumulated_by_column():
    rng = np.random.default_rng(0)
    labels, predicted = rng.integers(0, 3, 20), rng.normal(size=(20, 3))
    metric = nn.AUROC()
    for part in (slice(0, 7), slice(7, 20)):
        metric.update(labels[part], predicted[part])
    assert metric.compute() == nn.auroc(labels, predicted)


def test_overwriting_a_batch_does_not_change_the_metric():
    metric, labels = nn.AUROC(), np.array([0, 1])
    metric.update(labels, [0.1, 0.2])
    labels[:] = 0
    assert metric.compute() == 1.0


def test_metrics_with_other_settings_cannot_be_merged():
    with pytest.raises(ArgumentError, match="same average"):
        nn.F1(size=3, average="macro").merge(nn.F1(size=3, average="micro"))
    with pytest.raises(ArgumentError, match="merges another Accuracy"):
        nn.Accuracy().merge(nn.Mean())


def test_a_record_of_another_metric_is_rejected():
    with pytest.raises(RecordError, match="right, total"):
        nn.Accuracy().load_record(nn.MCC(size=2).to_record())
    with pytest.raises(RecordError, match=r"shape \(3, 3\)"):
        nn.MCC(size=3).load_record(nn.MCC(size=2).to_record())


def test_running_metrics_reject_a_class_out_of_range():
    with pytest.raises(OutOfRangeError, match="from 0 to 1, got 2"):
        nn.confusion_matrix([0, 1], [0, 2], size=2)


def test_running_metrics_reject_a_changed_number_of_columns():
    metric = nn.AUROC()
    metric.update([0, 1], [0.0, 1.0])
    with pytest.raises(ShapeError, match="had the shapes"):
        metric.update([[0, 1]], [[0.0, 1.0]])


@pytest.mark.parametrize("name", SCORE_METRICS)
@pytest.mark.parametrize(
    ("scores", "kind", "message"),
    [
        ([[0.1], [0.9]], ShapeError, r"\(2,\).*\(2, 1\)|\(2, 1\).*\(2,\)"),
        ([0.1, math.nan], NotFiniteError, "1 NaN, the first at 1"),
    ],
)
def test_an_invalid_batch_is_rejected_by_update(name, scores, kind, message):
    metric = SCORE_METRICS[name][0]()
    metric.update([0, 1], [0.2, 0.4])
    before = metric.compute()
    with pytest.raises(kind, match=message):
        metric.update([0, 1], scores)
    assert same(metric.compute(), before)
