"""Scalar tensors and scalar parameters, eager and compiled, compared with PyTorch."""

import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F

FOR_EACH_LIBRARY = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])


class Scale(nn.Module):
    """Module with a learned temperature, as in contrastive losses."""

    factor: nn.Param

    def __init__(self):
        self.factor = nn.Param((), nn.Fill(2.0))

    def forward(self, x):
        return (F.gelu(self.factor.value) * x).sum()


def step(model, optimizer, x):
    loss, grads = nn.value_and_grad(lambda model: model(x))(model)
    optimizer.step(0.1, model, grads)
    return loss


OPTIMIZER_PAIRS = {
    "AdamW": (
        lambda: sl.optim.AdamW(weight_decay=0.1),
        lambda params: torch.optim.AdamW(params, lr=0.1, weight_decay=0.1),
    ),
    "SGD": (
        lambda: sl.optim.SGD(momentum=0.9),
        lambda params: torch.optim.SGD(params, lr=0.1, momentum=0.9),
    ),
}


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("kind", OPTIMIZER_PAIRS)
def test_a_scalar_parameter_is_updated_as_in_torch(kind, compiled, name):
    ours, theirs = OPTIMIZER_PAIRS[kind]
    factor = torch.tensor(2.0, requires_grad=True)
    optimizer = theirs([factor])
    model = Scale().bind(name, sl.Key(0))
    x, mine = model.backend.tensor([1.0, 2.0]), ours()
    run = sl.tensor.compile(step) if compiled else step
    for _ in range(3):
        optimizer.zero_grad()
        loss = (torch.nn.functional.gelu(factor) * torch.tensor([1.0, 2.0])).sum()
        loss.backward()
        optimizer.step()
        assert abs(run(model, mine, x).item() - loss.item()) < 1e-5
    assert abs(model.factor.numpy() - factor.item()) < 1e-5


@FOR_EACH_LIBRARY
def test_a_compiled_step_accepts_the_result_of_another_step(name):
    x = sl.tensor.backend(name).tensor(np.array([1, 2], np.float32))
    found = sl.tensor.compile(lambda total: sl.tensor.exp(total) * total)(x.sum())
    assert abs(found.item() - 3 * np.exp(3)) < 1e-4
