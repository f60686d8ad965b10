"""Tests of tasks: activations, metrics, and losses compared with PyTorch."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from torch.nn import functional as torch_functional

import seqloom as sl
from seqloom.models import Classify, Multilabel, Regress, Task

NUMPY = sl.tensor.backend("numpy", num_threads=1)
RANDOM_LOGITS = np.random.default_rng(0).normal(size=(6, 3)).astype(np.float32)
CLASS_LABELS = np.array([0, 2, 1, 1, 0, 2])
MULTILABEL_TARGETS = np.array([[0, 1, 1], [1, 0, 0]] * 3, np.float32)
CLASSIFY_TASK = Classify(("a", "b", "c"), weights=(1.0, 2.0, 0.5))


def test_the_classification_loss_matches_weighted_cross_entropy_in_pytorch():
    expected = torch_functional.cross_entropy(
        torch.tensor(RANDOM_LOGITS),
        torch.tensor(CLASS_LABELS),
        weight=torch.tensor([1.0, 2.0, 0.5]),
    )
    assert CLASSIFY_TASK.loss(
        NUMPY.tensor(RANDOM_LOGITS), CLASS_LABELS
    ).item() == pytest.approx(float(expected))


def test_the_multilabel_loss_matches_binary_cross_entropy_in_pytorch():
    expected = torch_functional.binary_cross_entropy_with_logits(
        torch.tensor(RANDOM_LOGITS), torch.tensor(MULTILABEL_TARGETS)
    )
    loss = Multilabel(("a", "b", "c")).loss(NUMPY.tensor(RANDOM_LOGITS), MULTILABEL_TARGETS)
    assert loss.item() == pytest.approx(float(expected), rel=1e-6)


def test_the_regression_loss_is_in_standard_deviations():
    task = Regress(("gc",), mean=(0.5,), deviation=(0.1,))
    labels = np.array([0.5, 0.7], np.float32)
    assert task.loss(NUMPY.tensor([[0.0], [1.0]]), labels).item() == pytest.approx(0.5)


def test_class_probabilities_match_the_pytorch_softmax():
    expected = torch.tensor(RANDOM_LOGITS).softmax(dim=1).numpy()
    np.testing.assert_allclose(CLASSIFY_TASK.activate(RANDOM_LOGITS), expected, atol=1e-7)


@pytest.mark.parametrize("logit", [-200.0, -20.0, 0.0, 20.0, 200.0])
def test_label_probabilities_match_the_pytorch_sigmoid(logit):
    found = Multilabel(("a",)).activate(np.full((1, 1), logit, np.float32))
    expected = torch.tensor(logit, dtype=torch.float64).sigmoid().numpy()
    np.testing.assert_allclose(found.item(), expected, rtol=1e-6, atol=1e-45)


def test_probabilities_of_large_outputs_are_finite():
    assert CLASSIFY_TASK.activate(RANDOM_LOGITS * 1e4).sum(axis=1).tolist() == [1.0] * 6


def test_predicted_numbers_have_the_units_of_the_labels():
    task = Regress(("gc",), mean=(0.5,), deviation=(0.1,))
    assert task.activate(np.array([[2.0]], np.float32)).item() == pytest.approx(0.7)


def test_regression_metrics_include_an_error_in_label_units():
    task = Regress(("gc",))
    metrics = task.measure(np.array([0.0, 1.0]), np.array([[0.0], [3.0]], np.float32))
    assert metrics["rmse"] == pytest.approx(2**0.5)


def test_auroc_and_auprc_of_two_classes_use_the_scores_of_the_second():
    scores = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]], np.float32)
    metrics = Classify(("no", "yes")).measure(np.array([0, 1, 0]), scores)
    assert (metrics["auroc"], metrics["auprc"]) == (1.0, 1.0)


# The probabilities of all these logits round to 1 in float32; in float64, only the last
# two do.
LARGE_LOGITS = np.array([18, 25, 19, 30, 40, 50], np.float32)
TRUE_CLASSES = np.array([0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize("rest", [[0], [0, 0], [-7, 2, 1]])
def test_the_more_certain_class_ranks_higher_if_both_probabilities_round_to_one(rest):
    logits = np.column_stack([np.tile(rest, (6, 1)), LARGE_LOGITS]).astype(np.float32)
    labels = np.where(TRUE_CLASSES, len(rest), 0)
    found = Classify(tuple("abcd"[: len(rest) + 1])).measure_outputs(labels, logits)
    # Correctly ordered pairs of a positive and a negative: 25 > 18, 19; 30 > 18, 19;
    # 50 > 18, 19, 40. In total, 7 of 9 pairs are ordered correctly. Class 0 has the
    # same area.
    assert found["auroc"] == pytest.approx(7 / 9)


def test_the_more_certain_label_ranks_higher_if_both_probabilities_round_to_one():
    found = Multilabel(("x",)).measure_outputs(TRUE_CLASSES[:, None], LARGE_LOGITS[:, None])
    # Precision at each of the three positives, from the top: 1/1, 2/3, 3/4.
    assert found["auroc"] == pytest.approx(7 / 9)
    assert found["auprc"] == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)


def test_classes_are_ranked_by_their_log_odds():
    wide = np.array([[3.0, -2.0, 0.5], [700.0, 0.0, 699.0], [-1e4, 5.0, -9e3]])
    expected = np.empty((3, 3))
    with localcontext(prec=60):
        for at, row in enumerate(wide.tolist()):
            odds = [Decimal(value).exp() for value in row]
            for k in range(3):
                rest = sum(odds[:k] + odds[k + 1 :])
                expected[at, k] = float((odds[k] / rest).ln())
    np.testing.assert_allclose(CLASSIFY_TASK.order(wide), expected, rtol=1e-14)


def test_metrics_use_unrounded_predictions():
    # In float32 the first two predictions are both 1e7 + 1, but their ranks are 1 and
    # 2.
    task = Regress(("mass",), mean=(1e7,), deviation=(1.0,))
    logits = np.array([[0.9], [1.1], [2.0]], np.float32)
    assert task.measure_outputs(np.array([0.0, 1.0, 2.0]), logits)["spearman"] == 1


def test_multilabel_metrics_use_all_labels_and_each_label():
    scores = np.array([[0.9, 0.1], [0.2, 0.1]], np.float32)
    metrics = Multilabel(("a", "b")).measure(np.array([[1, 0], [0, 1]]), scores)
    assert (metrics["accuracy"], metrics["balanced_accuracy"]) == (0.75, 0.75)


@pytest.mark.parametrize(
    "task", [CLASSIFY_TASK, Multilabel(("a",)), Regress(("gc",), (0.1,), (0.2,))], ids=str
)
def test_a_task_is_restored_from_json(task):
    assert Task.from_json(task.to_json()) == task
