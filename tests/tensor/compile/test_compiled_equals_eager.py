"""Compiled and eager training steps have the same results on every backend."""

import numpy as np
import pytest

import seqloom as sl
from compiled_networks import NETWORK_FUNCTIONS, batch_of, model_of, step

LEARNING_RATES = (1e-3, 1e-2, 3e-3)


def backend_of(name):
    if name != "numpy":
        pytest.importorskip(name)
    return sl.tensor.backend(name, num_threads=1)


def run(step_function, name, backend):
    """Return the losses of a few steps, and the final weights."""
    (model, optimizer), batch = model_of(name, backend), batch_of(name, backend)
    losses = [
        step_function(model, optimizer, lr, batch, sl.Key(7, number))[1].item()
        for number, lr in enumerate(LEARNING_RATES)
    ]
    return losses, model.to_record(), optimizer.to_record()


@pytest.mark.parametrize("name", NETWORK_FUNCTIONS)
def test_compiled_losses_and_state_equal_eager_ones_on_numpy(name):
    backend = backend_of("numpy")
    (losses, weights, states), (wanted, *records) = (
        run(each, name, backend) for each in (sl.tensor.compile(step), step)
    )
    np.testing.assert_allclose(losses, wanted, rtol=1e-6)
    for mine, theirs in zip((weights, states), records, strict=True):
        assert list(mine) == list(theirs)
        for path, values in mine.items():
            np.testing.assert_allclose(values, theirs[path], atol=2e-6, err_msg=path)
    assert states.metadata == {"step_count": 3}


@pytest.mark.parametrize("name", ["CNN", "encoder"])  # each network must be compiled
@pytest.mark.parametrize("library", ["jax", pytest.param("torch", marks=pytest.mark.soak)])
def test_compiled_losses_on_torch_and_jax_equal_those_on_numpy(library, name):
    compiled = sl.tensor.compile(step)
    losses, weights, states = run(compiled, name, backend_of(library))
    wanted, expected, _ = run(step, name, backend_of("numpy"))
    np.testing.assert_allclose(losses, wanted, rtol=2e-5)
    # The bias of the keys has a gradient of 0, whose rounding errors Adam amplifies.
    for path in set(weights) - {"attend.bias"}:
        np.testing.assert_allclose(weights[path], expected[path], atol=3e-4, err_msg=path)
    assert states.metadata == {"step_count": 3}
    assert compiled.recompiles == 0
