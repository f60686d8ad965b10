"""A compiled step writes its results to preallocated memory."""

import resource

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F


class Convolutions(nn.Module):
    """Network of two convolutions with normalisation between them, and pooling."""

    first: nn.Conv1d
    norm: nn.BatchNorm1d
    second: nn.Conv1d

    def __init__(self):
        self.first, self.norm = nn.Conv1d(4, 64, 5, padding=2), nn.BatchNorm1d(64)
        self.second = nn.Conv1d(64, 64, 5, padding=2)

    def loss(self, x):
        x = F.max_pool1d(F.gelu(self.norm(self.first(x))), 2)
        return (self.second(x) ** 2).mean()


def step(model, optimizer, x):
    loss, grads = nn.value_and_grad(lambda model: model.loss(x))(model)
    optimizer.step(1e-3, model, grads)
    return loss


@pytest.mark.parametrize("compiled", [True, False])
def test_a_compiled_convolution_step_touches_no_new_memory_pages(compiled):
    model = Convolutions().bind("numpy", sl.Key(0))
    x = model.backend.tensor(np.ones((16, 4, 500), np.float32))
    run, optimizer = sl.tensor.compile(step) if compiled else step, sl.optim.AdamW()
    for _ in range(3):
        run(model, optimizer, x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        run(model, optimizer, x)
    # Each output of a convolution has 500 memory pages, so no output was newly
    # allocated.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 500
