"""Gradients at kinks and at probabilities of 0 and 1 match PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as torch_functional

import seqloom as sl
from seqloom.nn import functional as F
from seqloom.tensor import apply

FOR_EACH_LIBRARY = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
INPUTS_AT_KINKS = np.array([-30, -1, 0, 1e-3, 1, 2], np.float32)


def derivatives(name, function, x):
    """Return the derivative with respect to each number, computed by Autodiff."""
    level = sl.tensor.Autodiff(sl.tensor.backend(name, num_threads=1))
    leaf = level.tensor(x, requires_grad=True)
    return function(leaf).sum().backward().wrt(leaf).numpy()


def torch_derivatives(function, x):
    """Return the derivative with respect to each number, computed by PyTorch."""
    leaf = torch.tensor(x, requires_grad=True)
    function(leaf).sum().backward()
    return leaf.grad.numpy()


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", ["elu", "relu", "leaky_relu", "softplus", "silu"])
def test_activation_gradients_at_kinks_match_pytorch(function, name):
    found = derivatives(name, getattr(F, function), INPUTS_AT_KINKS)
    wanted = torch_derivatives(getattr(torch_functional, function), INPUTS_AT_KINKS)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-18)


@FOR_EACH_LIBRARY
def test_the_gradient_of_clip_at_its_bounds_matches_pytorch(name):
    found = derivatives(name, lambda x: apply("clip", x, -1.0, 1.0), INPUTS_AT_KINKS)
    np.testing.assert_array_equal(
        found, torch_derivatives(lambda x: x.clamp(-1, 1), INPUTS_AT_KINKS)
    )


EXTREME_PROBABILITIES = np.array(
    [0, 1, 0, 1, 1e-20, 0.3, 1e-6, 1 - 1e-7, 0.5, 1e-13], np.float32
)
TARGET_PROBABILITIES = np.array([0, 1, 1, 0, 0, 0.7, 1, 0, 1, 1], np.float32)


@FOR_EACH_LIBRARY
def test_the_loss_of_probabilities_near_0_and_1_matches_pytorch(name):
    x = sl.tensor.backend(name, num_threads=1).tensor(EXTREME_PROBABILITIES)
    found = F.binary_cross_entropy(x, TARGET_PROBABILITIES, reduction="none").numpy()
    wanted = torch_functional.binary_cross_entropy(
        torch.tensor(EXTREME_PROBABILITIES),
        torch.tensor(TARGET_PROBABILITIES),
        reduction="none",
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-12)


@FOR_EACH_LIBRARY
def test_the_loss_gradient_near_0_and_1_matches_pytorch(name):
    found = derivatives(
        name,
        lambda x: F.binary_cross_entropy(x, TARGET_PROBABILITIES),
        EXTREME_PROBABILITIES,
    )
    wanted = torch_derivatives(
        lambda x: torch_functional.binary_cross_entropy(
            x, torch.tensor(TARGET_PROBABILITIES)
        ),
        EXTREME_PROBABILITIES,
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_the_target_gets_a_gradient_at_probabilities_0_and_1():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
    target = level.tensor(TARGET_PROBABILITIES, requires_grad=True)
    loss = F.binary_cross_entropy(
        level.tensor(EXTREME_PROBABILITIES), target, reduction="sum"
    )
    found = loss.backward().wrt(target).numpy()
    log = np.maximum(
        np.log(
            EXTREME_PROBABILITIES.astype("f8"),
            where=EXTREME_PROBABILITIES > 0,
            out=np.full(10, -100.0),
        ),
        -100,
    )
    rest = 1 - EXTREME_PROBABILITIES.astype("f8")
    other = np.maximum(np.log(rest, where=rest > 0, out=np.full(10, -100.0)), -100)
    np.testing.assert_allclose(found, other - log, rtol=1e-5)


ROWS_WITH_THE_LOWEST_NUMBER = [
    np.array([[[-np.inf, -np.inf, -np.inf, 5]]], np.float32),
    np.array([[[0, 0, 0, 5]]], np.uint8),
    np.array([[[-128, -128, 7]]], np.int8),
]


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("row", ROWS_WITH_THE_LOWEST_NUMBER, ids=["-inf", "uint8", "int8"])
def test_max_pooling_padding_is_below_the_lowest_number_of_a_dtype(row, name):
    x = sl.tensor.backend(name, num_threads=1).tensor(row)
    wanted = torch_functional.max_pool1d(torch.tensor(row.astype("f4")), 2, 2, 1)
    found, places = F.max_pool1d(x, 2, 2, 1, return_indices=True)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())
    assert places.numpy().min() >= 0
    plane = x.reshape(1, 1, 1, row.size)
    found = F.max_pool2d(plane, (1, 2), (1, 2), (0, 1))
    np.testing.assert_array_equal(found.numpy()[:, :, 0], wanted.numpy())


@FOR_EACH_LIBRARY
def test_a_window_of_minus_infinity_has_no_gradient_at_padding(name):
    row = np.array([[[-np.inf, -np.inf, 1, -np.inf, -np.inf, -np.inf, 2]]], np.float32)
    found = derivatives(name, lambda x: F.max_pool1d(x, 3, 2, 1), row)
    wanted = torch_derivatives(lambda x: torch_functional.max_pool1d(x, 3, 2, 1), row)
    np.testing.assert_array_equal(found, wanted)
