"""Tests of ROC and precision-recall curves, and of the areas under these curves."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn import metrics

from seqloom.nn._metric_inputs import RankCurve

# There are few distinct scores, so that ties occur.
RANDOM_LABELS_AND_SCORES = st.lists(
    st.tuples(st.booleans(), st.integers(0, 12)), min_size=2, max_size=60
)


@given(RANDOM_LABELS_AND_SCORES.filter(lambda it: len({label for label, _ in it}) == 2))
def test_roc_and_precision_recall_curves_match_scikit_learn(answers):
    labels, scores = map(np.array, zip(*answers, strict=True))
    curve = RankCurve.from_scores(labels, scores)
    false, found, _ = metrics.roc_curve(labels, scores, drop_intermediate=False)
    np.testing.assert_allclose((curve.fpr, curve.recall), (false, found))
    precision, recall, _ = metrics.precision_recall_curve(labels, scores)
    np.testing.assert_allclose(curve.precision, precision[-2::-1])
    np.testing.assert_allclose(curve.recall, recall[::-1])


@given(RANDOM_LABELS_AND_SCORES.filter(lambda it: len({label for label, _ in it}) == 2))
def test_auroc_and_auprc_of_curves_match_scikit_learn(answers):
    labels, scores = map(np.array, zip(*answers, strict=True))
    curve = RankCurve.from_scores(labels, scores)
    assert curve.auroc == pytest.approx(metrics.roc_auc_score(labels, scores))
    assert curve.auprc == pytest.approx(metrics.average_precision_score(labels, scores))
