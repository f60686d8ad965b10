"""Losses of classes match PyTorch, with weights, ignored labels and label smoothing."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
F, TF = sl.nn.functional, torch.nn.functional

AUTODIFF = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
RANDOM_GENERATOR = np.random.default_rng(3)
LOGITS = RANDOM_GENERATOR.normal(size=(6, 4))
CLASS_LABELS = np.array([2, 0, 3, 1, 2, 2])
IGNORED_LABELS = np.array([2, -100, 3, 1, -100, 2])
CLASS_WEIGHTS = np.array([1.0, 2.0, 0.5, 1.5])
CLASS_PROBABILITIES = np.exp(LOGITS[::-1]) / np.exp(LOGITS[::-1]).sum(axis=1, keepdims=True)
LOGITS_OF_POSITIONS = RANDOM_GENERATOR.normal(size=(2, 4, 3))
LABELS_OF_POSITIONS = np.array([[0, 3, 1], [2, 2, -100]])
REDUCTIONS = ("mean", "sum", "none")


def compare(ours, theirs, x):
    """Compare the losses, and the gradients of their sum, with PyTorch."""
    leaf, point = (
        AUTODIFF.tensor(x, requires_grad=True),
        torch.tensor(x, requires_grad=True),
    )
    found, expected = ours(leaf), theirs(point)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-9)
    expected.sum().backward()
    grads = found.sum().backward()
    np.testing.assert_allclose(
        grads.wrt(leaf).numpy(), point.grad.numpy(), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, CLASS_WEIGHTS])
@pytest.mark.parametrize(
    "labels", [CLASS_LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_cross_entropy_matches_pytorch(labels, weight, smoothing, reduction):
    options = {"label_smoothing": smoothing, "reduction": reduction}
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.cross_entropy(x, labels, weight, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(labels), theirs, **options),
        LOGITS,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, CLASS_WEIGHTS])
def test_cross_entropy_of_class_probabilities_matches_pytorch(weight, reduction):
    options = {"label_smoothing": 0.1, "reduction": reduction}
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.cross_entropy(x, CLASS_PROBABILITIES, weight, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(CLASS_PROBABILITIES), theirs, **options),
        LOGITS,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_labels_may_have_several_axes(reduction):
    compare(
        lambda x: F.cross_entropy(
            x, LABELS_OF_POSITIONS, CLASS_WEIGHTS, reduction=reduction
        ),
        lambda x: TF.cross_entropy(
            x,
            torch.tensor(LABELS_OF_POSITIONS),
            torch.tensor(CLASS_WEIGHTS),
            reduction=reduction,
        ),
        LOGITS_OF_POSITIONS,
    )


def test_cross_entropy_of_a_single_row_needs_no_batch_axis():
    compare(
        lambda x: F.cross_entropy(x, 2),
        lambda x: TF.cross_entropy(x, torch.tensor(2)),
        LOGITS[0],
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, CLASS_WEIGHTS])
@pytest.mark.parametrize(
    "labels", [CLASS_LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_nll_loss_matches_pytorch(labels, weight, reduction):
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.nll_loss(F.log_softmax(x), labels, weight, reduction=reduction),
        lambda x: TF.nll_loss(
            TF.log_softmax(x, -1), torch.tensor(labels), theirs, reduction=reduction
        ),
        LOGITS,
    )


def test_ignore_index_may_be_any_label():
    compare(
        lambda x: F.cross_entropy(x, CLASS_LABELS, ignore_index=2),
        lambda x: TF.cross_entropy(x, torch.tensor(CLASS_LABELS), ignore_index=2),
        LOGITS,
    )


@pytest.mark.parametrize(
    "labels", [CLASS_LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_labels_may_be_tensors_arrays_or_lists(labels):
    x = AUTODIFF.tensor(LOGITS)
    found = {
        F.cross_entropy(x, each, weight).item()
        for each in (labels, labels.tolist(), AUTODIFF.tensor(labels))
        for weight in (
            CLASS_WEIGHTS,
            CLASS_WEIGHTS.tolist(),
            AUTODIFF.tensor(CLASS_WEIGHTS),
        )
    }
    assert max(found) - min(found) < 1e-12


def test_labels_that_are_not_integers_are_an_error():
    with pytest.raises(sl.errors.ArgumentError, match="integers"):
        F.cross_entropy(AUTODIFF.tensor(LOGITS), [0.5] * 6)
