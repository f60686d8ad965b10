"""Eager and compiled training steps on a GPU have the same results as on NumPy."""

from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from compiled_networks import batch_of, model_of, step

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device
LEARNING_RATES = (
    1e-3,
    1e-2,
    3e-3,
    1e-3,
)  # learning rates; the second call records a CUDA graph


def run(step_function, network, backend):
    """Return the losses of a few steps, and the final weights."""
    (model, optimizer), batch = model_of(network, backend), batch_of(network, backend)
    losses = [
        step_function(model, optimizer, lr, batch, sl.Key(7, number))[1].item()
        for number, lr in enumerate(LEARNING_RATES)
    ]
    return losses, model.to_record()


def assert_close(actual, expected):
    (losses, weights), (expected_losses, expected_weights) = actual, expected
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-4)
    # The bias of the keys has a gradient of 0, whose rounding errors Adam amplifies.
    for path in set(weights) - {"attend.bias"}:
        np.testing.assert_allclose(
            weights[path], expected_weights[path], atol=5e-4, err_msg=path
        )


@cuda_device.in_both_libraries
@pytest.mark.parametrize("network", ["MLP", "CNN", "encoder"])
def test_eager_steps_on_a_device_equal_numpy(name, network):
    backend = cuda_device.backend(name)
    with cuda_device.whole_float32(name):
        on_device = run(step, network, backend)
    assert_close(on_device, run(step, network, sl.tensor.backend("numpy")))


@cuda_device.in_both_libraries
@pytest.mark.parametrize("network", ["MLP", "encoder"])
def test_compiled_steps_on_a_device_equal_numpy(name, network):
    backend, compiled = cuda_device.backend(name), sl.tensor.compile(step)
    with cuda_device.whole_float32(name):
        on_device = run(compiled, network, backend)
    assert_close(on_device, run(step, network, sl.tensor.backend("numpy")))
    assert compiled.recompiles == 0


@cuda_device.in_both_libraries
def test_random_numbers_on_a_device_equal_numpy(name):
    draws = [
        (
            b.to_numpy(b.random_bits(b.key_words(sl.Key(3)), (5, 3))),
            b.to_numpy(b.uniform(b.key_words(sl.Key(3)), (7,))),
        )
        for b in (cuda_device.backend(name), sl.tensor.backend("numpy"))
    ]
    for numbers, expected in zip(*draws, strict=True):
        np.testing.assert_array_equal(numbers, expected)


def test_random_keys_are_the_same_on_every_device():
    key = sl.Key(2**40 + 7).fold("x")
    words = [
        np.asarray(b.to_numpy(b.key_words(key)))
        for b in map(sl.tensor.backend, ("torch:cpu:0", cuda_device.TORCH, "numpy"))
    ]
    assert {array.dtype.name for array in words} == {"uint32"}
    on_cpu, on_device, on_numpy = (array.tolist() for array in words)
    assert on_cpu == on_device == on_numpy


@cuda_device.on_cuda
def test_a_compiled_step_does_not_wait_for_the_device():
    backend, compiled = sl.tensor.backend(cuda_device.TORCH), sl.tensor.compile(step)
    (model, optimizer), batch = model_of("MLP", backend), batch_of("MLP", backend)
    for number in range(4):  # the step is compiled, then recorded, then replayed
        compiled(model, optimizer, 1e-3, batch, sl.Key(7, number))
    torch.cuda.set_sync_debug_mode("error")
    try:
        for number in range(3):
            compiled(model, optimizer, 1e-3, batch, sl.Key(8, number))
    finally:
        torch.cuda.set_sync_debug_mode("default")
