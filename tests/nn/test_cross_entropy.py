"""Losses of classes match PyTorch, with weights, ignored labels and label smoothing."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")
F, TF = sl.nn.functional, torch.nn.functional

A = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(6, 4))
LABELS = np.array([2, 0, 3, 1, 2, 2])
IGNORED_LABELS = np.array([2, -100, 3, 1, -100, 2])
WEIGHT = np.array([1.0, 2.0, 0.5, 1.5])
SHARES = np.exp(X[::-1]) / np.exp(X[::-1]).sum(axis=1, keepdims=True)
DEEP = RANDOM.normal(size=(2, 4, 3))
DEEP_LABELS = np.array([[0, 3, 1], [2, 2, -100]])
REDUCTIONS = ("mean", "sum", "none")


def compare(ours, theirs, x):
    """Compare the losses, and the gradients of their sum, with PyTorch."""
    leaf, point = A.tensor(x, requires_grad=True), torch.tensor(x, requires_grad=True)
    found, expected = ours(leaf), theirs(point)
    np.testing.assert_allclose(found.numpy(), expected.detach().numpy(), rtol=1e-9)
    expected.sum().backward()
    grads = found.sum().backward()
    np.testing.assert_allclose(
        grads.wrt(leaf).numpy(), point.grad.numpy(), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    "labels", [LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_cross_entropy_matches_pytorch(labels, weight, smoothing, reduction):
    options = {"label_smoothing": smoothing, "reduction": reduction}
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.cross_entropy(x, labels, weight, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(labels), theirs, **options),
        X,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_cross_entropy_of_class_probabilities_matches_pytorch(weight, reduction):
    options = {"label_smoothing": 0.1, "reduction": reduction}
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.cross_entropy(x, SHARES, weight, **options),
        lambda x: TF.cross_entropy(x, torch.tensor(SHARES), theirs, **options),
        X,
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_labels_may_have_more_axes(reduction):
    compare(
        lambda x: F.cross_entropy(x, DEEP_LABELS, WEIGHT, reduction=reduction),
        lambda x: TF.cross_entropy(
            x, torch.tensor(DEEP_LABELS), torch.tensor(WEIGHT), reduction=reduction
        ),
        DEEP,
    )


def test_a_single_row_needs_no_axis():
    compare(
        lambda x: F.cross_entropy(x, 2),
        lambda x: TF.cross_entropy(x, torch.tensor(2)),
        X[0],
    )


@pytest.mark.parametrize("reduction", REDUCTIONS)
@pytest.mark.parametrize("weight", [None, WEIGHT])
@pytest.mark.parametrize(
    "labels", [LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_nll_loss_matches_pytorch(labels, weight, reduction):
    theirs = None if weight is None else torch.tensor(weight)
    compare(
        lambda x: F.nll_loss(F.log_softmax(x), labels, weight, reduction=reduction),
        lambda x: TF.nll_loss(
            TF.log_softmax(x, -1), torch.tensor(labels), theirs, reduction=reduction
        ),
        X,
    )


def test_ignore_index_may_be_any_label():
    compare(
        lambda x: F.cross_entropy(x, LABELS, ignore_index=2),
        lambda x: TF.cross_entropy(x, torch.tensor(LABELS), ignore_index=2),
        X,
    )


@pytest.mark.parametrize(
    "labels", [LABELS, IGNORED_LABELS], ids=["all count", "some count"]
)
def test_labels_may_be_tensors_arrays_or_lists(labels):
    x = A.tensor(X)
    found = {
        F.cross_entropy(x, each, weight).item()
        for each in (labels, labels.tolist(), A.tensor(labels))
        for weight in (WEIGHT, WEIGHT.tolist(), A.tensor(WEIGHT))
    }
    assert max(found) - min(found) < 1e-12


def test_labels_that_are_not_integers_are_an_error():
    with pytest.raises(sl.errors.ArgumentError, match="integers"):
        F.cross_entropy(A.tensor(X), [0.5] * 6)
