"""In a compiled step, `scan` is compiled as a loop and is not unrolled."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.tensor import apply

RNG = np.random.default_rng(0)
GRU_SHAPES = {"x": (2, 5, 3), "h0": (2, 4), "w_ih": (12, 3), "w_hh": (12, 4)}
GRU_ARRAYS = {
    name: RNG.normal(size=shape).astype("f4") for name, shape in GRU_SHAPES.items()
}


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_a_compiled_recurrent_layer_equals_the_uncompiled_one(library):
    if library != "numpy":
        pytest.importorskip(library)
    tensors = [sl.tensor.backend(library).tensor(each) for each in GRU_ARRAYS.values()]

    def run(*args):
        return apply("gru", *args)[0] * 2.0

    compiled = sl.tensor.compile(run)
    for _ in range(2):
        np.testing.assert_allclose(
            compiled(*tensors).numpy(), run(*tensors).numpy(), atol=1e-6
        )


class Reader(sl.nn.Module):
    """Module with a recurrent layer that computes a number from the last state."""

    inputs: sl.nn.Param
    states: sl.nn.Param
    head: sl.nn.Linear

    def __call__(self, x, h0):
        _, last, _ = apply("gru", x, h0, self.inputs.value, self.states.value)
        return self.head(last)


def train(step, backend):
    """Return the losses of a few steps, and the final weights."""
    fan = sl.nn.FanIn(4)
    params = sl.nn.Param((12, 3), fan), sl.nn.Param((12, 4), fan)
    model = Reader(*params, sl.nn.Linear(4, 1)).bind(backend, sl.Key(0))
    x, h0 = (backend.tensor(GRU_ARRAYS[name]) for name in ("x", "h0"))
    optimizer = sl.optim.AdamW()
    losses = [step(model, optimizer, x, h0).item() for _ in range(4)]
    return losses, model.to_record()


def fit(model, optimizer, x, h0):
    loss, grads = sl.nn.value_and_grad(lambda m, x, h0: (m(x, h0) ** 2).mean())(
        model, x, h0
    )
    optimizer.step(1e-2, model, grads)
    return loss


@pytest.mark.parametrize("library", ["numpy", "jax"])
def test_a_compiled_recurrent_layer_trains_like_the_uncompiled_one(library):
    if library != "numpy":
        pytest.importorskip(library)
    losses, weights = train(
        sl.tensor.compile(fit), sl.tensor.backend(library, num_threads=1)
    )
    wanted, expected = train(fit, sl.tensor.backend("numpy", num_threads=1))
    assert losses[-1] < losses[0]
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    for path, values in weights.items():
        np.testing.assert_allclose(values, expected[path], atol=1e-5, err_msg=path)
