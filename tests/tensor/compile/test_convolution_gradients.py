"""On PyTorch, a compiled step computes both gradients of a convolution in one call."""

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.nn import functional as F

torch = pytest.importorskip("torch")


class TwoConvolutions(nn.Module):
    """Network of two convolutions; only the second convolution needs an input gradient."""

    first: nn.Conv1d
    second: nn.Conv1d

    def __init__(self):
        self.first = nn.Conv1d(4, 6, 3, padding=1, bias=False)
        self.second = nn.Conv1d(6, 5, 5, padding=2, stride=2)

    def loss(self, x):
        return (self.second(F.gelu(self.first(x))) ** 2).sum()


def step(model, x):
    return nn.value_and_grad(lambda model: model.loss(x))(model)[1]


def gradients(step, backend):
    model = TwoConvolutions().bind(backend, sl.Key(3))
    x = np.random.default_rng(1).normal(size=(3, 4, 17)).astype(np.float32)
    found = step(model, model.backend.tensor(x))
    return {path: found.wrt(param).numpy() for path, param in model.parameters()}


@pytest.fixture(scope="module")
def compiled():
    return sl.tensor.compile(step)


def test_all_gradients_of_a_convolution_are_computed_in_one_call(compiled):
    gradients(compiled, "torch")
    with torch.profiler.profile() as profile:
        gradients(compiled, "torch")
    calls = {each.key: each.count for each in profile.key_averages()}
    assert calls["aten::convolution_backward"] == 2


def test_merged_convolution_gradients_equal_those_of_numpy(compiled):
    expected = gradients(step, "numpy")
    for path, found in gradients(compiled, "torch").items():
        np.testing.assert_allclose(found, expected[path], rtol=2e-5, atol=1e-5)
