"""Optimisers reject invalid settings and learning rates before a step."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError
from seqloom.optim import SGD, AdamW

NAN, INF = float("nan"), float("inf")
INVALID_SETTINGS = [
    (AdamW, {"weight_decay": NAN}),
    (AdamW, {"weight_decay": INF}),
    (AdamW, {"weight_decay": "0.1"}),
    (AdamW, {"eps": NAN}),
    (AdamW, {"eps": 0}),
    (AdamW, {"betas": (0.9,)}),
    (AdamW, {"betas": 0.9}),
    (AdamW, {"betas": (0.9, NAN)}),
    (SGD, {"weight_decay": NAN}),
    (SGD, {"momentum": NAN}),
    (SGD, {"momentum": None}),
]


@pytest.mark.parametrize(("kind", "options"), INVALID_SETTINGS)
def test_invalid_optimiser_settings_are_rejected(kind, options):
    with pytest.raises(ArgumentError, match=f"{kind.__name__} needs"):
        kind(**options)


def test_numpy_scalars_are_valid_optimiser_settings():
    half: Any = np.float32(0.5)
    made = AdamW(betas=(half, 0), eps=np.float64(1e-8), weight_decay=half)
    assert made.betas == (0.5, 0)


def stepped(lr):
    layer = sl.nn.Linear(2, 1).bind("numpy", sl.Key(0))
    x = layer.backend.tensor([[1.0, 2.0]])
    _, grads = sl.nn.value_and_grad(lambda layer: layer(x).sum())(layer)
    return SGD().step(lr, layer, grads).weight.value.numpy()


@pytest.mark.parametrize("lr", ["0.1", None, [0.1], np.array([0.1]), NAN, -1.0])
def test_an_invalid_learning_rate_is_rejected(lr):
    with pytest.raises(ArgumentError, match="learning rate must be a number from 0 up"):
        stepped(lr)


def test_a_learning_rate_may_be_a_scalar_of_any_library():
    torch = pytest.importorskip("torch")
    for lr in (np.float32(0.5), np.array(0.5), torch.tensor(0.5)):
        np.testing.assert_array_equal(stepped(lr), stepped(0.5))
