"""Training losses of nine user-defined networks match those of equal PyTorch networks."""

from functools import cache

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn

torch = pytest.importorskip("torch")
from users import (  # noqa: E402  # they need torch
    bpnet,
    gru_language_model,
    inner_loop,
    low_rank,
    masks,
    transformer_classifier,
    two_methods,
    two_optimisers,
    vae,
)

_MODULES = (
    bpnet,
    gru_language_model,
    inner_loop,
    low_rank,
    masks,
    transformer_classifier,
    two_methods,
    two_optimisers,
    vae,
)
MODULE_OF_NETWORK = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
# `make soak` runs the combinations that compile each network.
BACKENDS_AND_COMPILATION = [
    ("numpy", "eager"),
    ("numpy", "compiled"),
    ("torch", "eager"),
    pytest.param("torch", "compiled", marks=pytest.mark.soak),
    pytest.param("jax", "eager", marks=pytest.mark.soak),
    ("jax", "compiled"),
]
STEPS, RATE = 50, 1e-3


def batches_of(user):
    draw = np.random.default_rng(0)
    return [user.batch(draw) for _ in range(4)]


def plain_step(model, optimizer, batch):
    """Run one training step with one loss and one optimiser, as for most networks."""
    loss, grads = nn.value_and_grad(lambda model: model.loss(**batch))(model)
    optimizer.step(RATE, model, grads)
    return loss


def plain_twin_step(net, optimizer, batch):
    optimizer.zero_grad()
    loss = net.loss(**batch)
    loss.backward()
    optimizer.step()
    return loss


def new_twin(user):
    torch.manual_seed(0)
    return user.Twin()


@cache
def losses_of_twin(name):
    user = MODULE_OF_NETWORK[name]
    net = new_twin(user)
    trained = [param for param in net.parameters() if param.requires_grad]
    make = getattr(user, "twin_optimizers", None)
    optimizer = make(net) if make else torch.optim.AdamW(trained, RATE)
    step = getattr(user, "twin_step", plain_twin_step)
    batches = [
        {name: torch.tensor(array) for name, array in batch.items()}
        for batch in batches_of(user)
    ]
    return [step(net, optimizer, batches[number % 4]).item() for number in range(STEPS)]


def losses_of(user, library, *, compiled):
    backend = sl.tensor.backend(library, num_threads=1)
    model = user.Net().bind(backend, sl.Key(0))
    state = new_twin(user).state_dict()
    model.load_state_dict({path: array.numpy() for path, array in state.items()})
    optimizer = getattr(user, "optimizers", sl.optim.AdamW)()
    step = sl.tensor.compile(getattr(user, "step", plain_step), enabled=compiled)
    batches = [
        {name: model.backend.tensor(array) for name, array in batch.items()}
        for batch in batches_of(user)
    ]
    return [float(step(model, optimizer, batches[number % 4])) for number in range(STEPS)]


@pytest.fixture(autouse=True)
def _one_thread():
    """Use one thread, which is faster than two threads for networks of this size."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("backend", "way"), BACKENDS_AND_COMPILATION)
@pytest.mark.parametrize("name", MODULE_OF_NETWORK)
def test_losses_of_each_network_match_the_equivalent_pytorch_network(name, backend, way):
    pytest.importorskip(backend)
    found = losses_of(MODULE_OF_NETWORK[name], backend, compiled=way == "compiled")
    wanted = losses_of_twin(name)
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert np.mean(wanted[-4:]) < np.mean(wanted[:4])
