"""A step compiled for a card does what the step does on NumPy."""

from typing import Any

import numpy as np
import pytest

import card
import seqloom as sl
from compiled_networks import batch_of, model_of, step

torch: Any = pytest.importorskip("torch")

pytestmark = card.on_a_card
RATES = (1e-3, 1e-2, 3e-3, 1e-3)  # a CUDA graph is recorded in the second call


def run(step_function, network, backend):
    """The losses and the last weights of a few steps."""
    (model, optimizer), batch = model_of(network, backend), batch_of(network, backend)
    losses = [
        step_function(model, optimizer, lr, batch, sl.Key(7, number))[1].item()
        for number, lr in enumerate(RATES)
    ]
    return losses, model.to_record()


def assert_same(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
    # The bias of attention's keys changes nothing: Adam scales up its gradient's rounding.
    for path in set(found[1]) - {"attend.bias"}:
        np.testing.assert_allclose(
            found[1][path], expected[1][path], atol=5e-4, err_msg=path
        )


@card.on_each_card
@pytest.mark.parametrize("network", ["MLP", "CNN", "encoder"])
def test_eager_steps_on_a_card_are_those_of_numpy(name, network):
    backend = card.backend(name)
    with card.whole_float32(name):
        found = run(step, network, backend)
    assert_same(found, run(step, network, sl.tensor.backend("numpy")))


@card.on_each_card
@pytest.mark.parametrize("network", ["MLP", "encoder"])
def test_compiled_steps_on_a_card_are_those_of_numpy(name, network):
    backend, compiled = card.backend(name), sl.tensor.compile(step)
    with card.whole_float32(name):
        found = run(compiled, network, backend)
    assert_same(found, run(step, network, sl.tensor.backend("numpy")))
    assert compiled.recompiles == 0


@card.on_each_card
def test_random_numbers_of_a_card_are_those_of_numpy(name):
    draws = [
        (
            b.to_numpy(b.random_bits(b.key_words(sl.Key(3)), (5, 3))),
            b.to_numpy(b.uniform(b.key_words(sl.Key(3)), (7,))),
        )
        for b in (card.backend(name), sl.tensor.backend("numpy"))
    ]
    for found, expected in zip(*draws, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_the_words_of_a_key_are_the_same_on_every_device():
    key = sl.Key(2**40 + 7).fold("x")
    words = [
        np.asarray(b.to_numpy(b.key_words(key)))
        for b in map(sl.tensor.backend, ("torch:cpu:0", card.TORCH, "numpy"))
    ]
    assert {it.dtype.name for it in words} == {"uint32"}
    assert words[0].tolist() == words[1].tolist() == words[2].tolist()


@card.cuda_alone
def test_a_compiled_step_waits_for_nothing():
    backend, compiled = sl.tensor.backend(card.TORCH), sl.tensor.compile(step)
    (model, optimizer), batch = model_of("MLP", backend), batch_of("MLP", backend)
    for number in range(4):  # compiled, recorded, and replayed
        compiled(model, optimizer, 1e-3, batch, sl.Key(7, number))
    torch.cuda.set_sync_debug_mode("error")
    try:
        for number in range(3):
            compiled(model, optimizer, 1e-3, batch, sl.Key(8, number))
    finally:
        torch.cuda.set_sync_debug_mode("default")
