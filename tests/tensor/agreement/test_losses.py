"""With the same key, a training step has the same losses on every backend."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from networks import MLP, DeepSEA, Encoder, SpliceCNN, StillEncoder, losses, train

networks = pytest.mark.parametrize("network", [MLP, SpliceCNN, Encoder])
others = pytest.mark.parametrize("library", ["torch", "jax"])


def backend(library):
    if library != "numpy":
        pytest.importorskip(library)
    return sl.tensor.backend(library, num_threads=1)


@networks
@others
def test_losses_of_fifty_steps_with_dropout_equal_those_on_numpy(network, library):
    # JAX needs compilation to be fast. Only one test runs JAX without compilation.
    step = sl.tensor.compile(train) if library == "jax" else train
    theirs = losses(network, backend(library), step=step)
    assert np.abs(theirs - losses(network, backend("numpy"))).max() < 1e-4


@pytest.mark.parametrize(
    ("network", "library"),
    [
        (MLP, "torch"),
        pytest.param(SpliceCNN, "torch", marks=pytest.mark.soak),
        pytest.param(Encoder, "torch", marks=pytest.mark.soak),
        (MLP, "jax"),
        pytest.param(SpliceCNN, "jax", marks=pytest.mark.soak),
        pytest.param(Encoder, "jax", marks=pytest.mark.soak),
    ],
)
def test_losses_at_a_high_learning_rate_differ_only_by_rounding(network, library):
    pytest.importorskip("torch")
    options: Any = {"lr": 3e-3, "dropout": False}
    rows = len(network.batch(np.random.default_rng(0))["x"])
    plain, *others = (
        losses(network, backend("torch"), order=order, **options) for order in _orders(rows)
    )
    last_place = 1e-6  # about one unit in the last place of a float32 loss
    noise = max(last_place, *(np.abs(plain - each).max() for each in others))
    ours = losses(network, backend("numpy"), **options)
    theirs = losses(network, backend(library), **options)
    assert np.abs(theirs - ours).max() <= 3 * noise


def _orders(rows):
    """Return different orders of a batch's rows; the order changes sums of gradients."""
    draw = np.random.default_rng(5)
    return [slice(None), slice(None, None, -1), *(draw.permutation(rows) for _ in "ab")]


@networks
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_two_training_runs_give_bitwise_equal_losses(network, library):
    first, second = (losses(network, backend(library), steps=10) for _ in "ab")
    assert np.array_equal(first, second)


# PyTorch and JAX compile slowly, so only `make soak` compiles all networks with them.
COMPILED_NETWORKS = [
    *(("numpy", each) for each in (MLP, SpliceCNN, Encoder)),
    pytest.param("torch", SpliceCNN, marks=pytest.mark.soak),
    pytest.param("jax", Encoder, marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("library", "network"), COMPILED_NETWORKS)
def test_a_compiled_step_gives_the_losses_of_the_eager_step(library, network):
    compiled = sl.tensor.compile(train)
    ours = losses(network, backend(library), steps=10)
    theirs = losses(network, backend(library), steps=10, step=compiled)
    assert np.abs(ours - theirs).max() < 1e-5


@pytest.mark.parametrize("network", [DeepSEA, StillEncoder])
def test_training_with_default_implementations_gives_the_losses_of_numpy(network):
    from conformance.backends import backend as any_backend

    strict = any_backend("strict")
    ours = losses(network, backend("numpy"), steps=8)
    assert np.abs(losses(network, strict, steps=8) - ours).max() < 1e-4
