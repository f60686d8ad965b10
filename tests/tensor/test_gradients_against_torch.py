"""Gradients of losses and layers, compared with PyTorch's autograd."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.nn import functional as F

torch = pytest.importorskip("torch")
TORCH_FUNCTIONAL = torch.nn.functional

AUTODIFF = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
RANDOM_GENERATOR = np.random.default_rng(3)


def values(*shape):
    return RANDOM_GENERATOR.normal(size=shape).astype(np.float32)


CLASS_LABELS = np.array([0, 2, 1, 2])
CLASS_WEIGHTS = np.array([1.0, 2.0, 0.5], np.float32)
BINARY_TARGETS = (values(4, 3) > 0).astype(np.float32)

GRADIENT_CASES = {
    "cross entropy": (
        lambda x: F.cross_entropy(x, CLASS_LABELS),
        lambda x: TORCH_FUNCTIONAL.cross_entropy(x, torch.tensor(CLASS_LABELS)),
        [values(4, 3)],
    ),
    "weighted cross entropy": (
        lambda x: F.cross_entropy(x, CLASS_LABELS, CLASS_WEIGHTS),
        lambda x: TORCH_FUNCTIONAL.cross_entropy(
            x, torch.tensor(CLASS_LABELS), torch.tensor(CLASS_WEIGHTS)
        ),
        [values(4, 3)],
    ),
    "binary cross entropy": (
        lambda x: F.binary_cross_entropy_with_logits(x, BINARY_TARGETS),
        lambda x: TORCH_FUNCTIONAL.binary_cross_entropy_with_logits(
            x, torch.tensor(BINARY_TARGETS)
        ),
        [values(4, 3) * 20],
    ),
    "weighted binary cross entropy": (
        lambda x: F.binary_cross_entropy_with_logits(x, BINARY_TARGETS, CLASS_WEIGHTS),
        lambda x: TORCH_FUNCTIONAL.binary_cross_entropy_with_logits(
            x, torch.tensor(BINARY_TARGETS), pos_weight=torch.tensor(CLASS_WEIGHTS)
        ),
        [values(4, 3)],
    ),
    "mean squared error": (
        lambda x: F.mse_loss(x, BINARY_TARGETS),
        lambda x: TORCH_FUNCTIONAL.mse_loss(x, torch.tensor(BINARY_TARGETS)),
        [values(4, 3)],
    ),
    "convolution": (
        lambda x, w, b: F.gelu(F.conv1d(x, w, b, padding="same")).sum(),
        lambda x, w, b: TORCH_FUNCTIONAL.gelu(
            TORCH_FUNCTIONAL.conv1d(x, w, b, padding="same")
        ).sum(),
        [values(3, 4, 21), values(17, 4, 7), values(17)],
    ),
    "pooled convolution": (
        lambda x, w: F.max_pool1d(F.relu(F.conv1d(x, w, None, 2, 3)), 3, 2, 1).sum(),
        lambda x, w: TORCH_FUNCTIONAL.max_pool1d(
            TORCH_FUNCTIONAL.relu(TORCH_FUNCTIONAL.conv1d(x, w, None, 2, 3)), 3, 2, 1
        ).sum(),
        [values(3, 4, 21), values(8, 4, 5)],
    ),
    "batch norm": (
        lambda x, w, b: (F.batch_norm(x, w, b)[0] ** 3).sum(),
        lambda x, w, b: (
            TORCH_FUNCTIONAL.batch_norm(x, None, None, w, b, training=True) ** 3
        ).sum(),
        [values(5, 4, 6), values(4), values(4)],
    ),
    "softmax": (
        lambda x: (F.softmax(x) ** 2).sum(),
        lambda x: (TORCH_FUNCTIONAL.softmax(x, -1) ** 2).sum(),
        [values(4, 3)],
    ),
    "linear": (
        lambda x, w, b: F.sigmoid(F.linear(x, w, b)).mean(),
        lambda x, w, b: torch.sigmoid(TORCH_FUNCTIONAL.linear(x, w, b)).mean(),
        [values(4, 5), values(3, 5), values(3)],
    ),
}


@pytest.mark.parametrize("name", GRADIENT_CASES)
def test_values_and_gradients_equal_torch(name):
    ours, theirs, arrays = GRADIENT_CASES[name]
    leaves = [AUTODIFF.tensor(each, requires_grad=True) for each in arrays]
    tracked = [torch.tensor(each, requires_grad=True) for each in arrays]
    value, expected = ours(*leaves), theirs(*tracked)
    expected.backward()
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    grads = value.backward()
    for leaf, other in zip(leaves, tracked, strict=True):
        np.testing.assert_allclose(grads.wrt(leaf), other.grad, rtol=1e-4, atol=2e-5)
