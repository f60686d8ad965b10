"""SGD compared with PyTorch."""

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn

torch = pytest.importorskip("torch")

SGD_OPTIONS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
    {"weight_decay": 0.1},
]


def train(step, optimizer, backend="numpy"):
    model = nn.Linear(3, 2).bind(backend, sl.Key(0))
    x = model.backend.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]])
    for _ in range(3):
        step(model, optimizer, x)
    return model.weight.value.numpy()


def step(model, optimizer, x):
    _, grads = nn.value_and_grad(lambda model: (model(x) ** 2).sum())(model)
    return optimizer.step(0.01, model, grads)


@pytest.mark.parametrize("options", SGD_OPTIONS)
def test_optimiser_steps_match_pytorch(options):
    model = nn.Linear(3, 2).bind("numpy", sl.Key(0))
    theirs = torch.nn.Linear(3, 2)
    theirs.load_state_dict(
        {path: torch.tensor(each.value.numpy()) for path, each in model.parameters()}
    )
    optimizer = torch.optim.SGD(theirs.parameters(), lr=0.01, **options)
    for _ in range(3):
        optimizer.zero_grad()
        (theirs(torch.tensor([[1.0, 2.0, -1.0], [0.5, 0.0, 1.0]])) ** 2).sum().backward()
        optimizer.step()
    found = train(step, sl.optim.SGD(**options))
    np.testing.assert_allclose(found, theirs.weight.detach().numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("options", SGD_OPTIONS)
@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_compiled_sgd_step_equals_the_eager_step(options, backend):
    pytest.importorskip(backend)
    compiled = sl.tensor.compile(step)
    found = train(compiled, sl.optim.SGD(**options), backend)
    np.testing.assert_allclose(
        found, train(step, sl.optim.SGD(**options)), rtol=1e-5, atol=1e-6
    )
    assert compiled.recompiles == 0
