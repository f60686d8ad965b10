"""Optimiser updates do not depend on the memory order of parameters or gradients."""

import numpy as np
import pytest

import seqloom as sl
from optimiser_steps import BACKEND_NAMES
from seqloom import nn

INPUT_ARRAY = np.random.default_rng(0).normal(size=(8, 3)).astype("f4")
WEIGHT_ARRAY = np.random.default_rng(1).normal(size=(3, 5)).astype("f4")
OPTIMIZER_CLASSES = {
    "AdamW": sl.optim.AdamW,
    "SGD": lambda: sl.optim.SGD(momentum=0.9),
    "Lion": sl.optim.Lion,
}


class Product(nn.Module):
    """Module that multiplies by a parameter or by its transpose."""

    matrix: nn.Param
    is_transposed: bool

    def loss(self, x):
        matrix = self.matrix.value.T if self.is_transposed else self.matrix.value
        return ((x @ matrix - 1) ** 2).sum()


def trained(backend, make, *, is_transposed, compiled=False):
    weight = (
        WEIGHT_ARRAY.T if is_transposed else WEIGHT_ARRAY
    )  # a transposed array is not contiguous
    model = Product(nn.Param(weight.shape, nn.Fill(0.0)), is_transposed)
    model.bind(backend, sl.Key(0)).matrix.assign(weight)
    optimizer, x = make(), model.backend.tensor(INPUT_ARRAY)
    step = sl.tensor.compile(plain_step, enabled=compiled)
    for _ in range(3):
        step(model, optimizer, x)
    found = model.matrix.numpy()
    return found.T if is_transposed else found


def plain_step(model, optimizer, x):
    loss, grads = nn.value_and_grad(Product.loss)(model, x)
    optimizer.step(0.01, model, grads)
    return loss


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", OPTIMIZER_CLASSES)
@pytest.mark.parametrize("backend", BACKEND_NAMES)
def test_memory_order_does_not_change_an_update(backend, name, compiled):
    pytest.importorskip(backend)
    make = OPTIMIZER_CLASSES[name]
    plain = trained("numpy", make, is_transposed=False)
    found = trained(backend, make, is_transposed=True, compiled=compiled)
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)
