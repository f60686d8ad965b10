"""With `deterministic`, results of the NumPy backend do not depend on the threads."""

import pickle

import numpy as np
import pytest

import seqloom as sl
from compiled_networks import NETWORK_FUNCTIONS, batch_of, model_of, step
from seqloom.errors import BackendError
from seqloom.tensor import backend

RNG = np.random.default_rng(0)
THREAD_COUNTS = (1, 2, 4)


def deterministic(threads):
    return backend("numpy", num_threads=threads, deterministic=True)


def draw(*shape, dtype="f4"):
    return RNG.normal(size=shape).astype(dtype)


def test_a_deterministic_backend_is_a_separate_object():
    assert deterministic(2) is deterministic(2)
    assert deterministic(2) is not backend("numpy", num_threads=2)
    assert deterministic(2) is not deterministic(1)
    assert pickle.loads(pickle.dumps(deterministic(2))) is deterministic(2)  # noqa: S301


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_backend_without_determinism_raises_an_error(name):
    pytest.importorskip(name)
    with pytest.raises(BackendError, match=f"{name} cannot compute deterministically"):
        backend(name, deterministic=True)


PRODUCT_CALLS = {
    "matrices": ("matmul", draw(90, 300), draw(300, 70)),
    "a vector": ("matmul", draw(700), draw(700, 90)),
    "two vectors": ("matmul", draw(900), draw(900)),
    "a matrix and a vector": ("matmul", draw(3, 90, 300), draw(300)),
    "two types": ("matmul", draw(90, 300), draw(300, 70, dtype="f8")),
    "a layer": ("linear", draw(5, 30, 200), draw(80, 200), draw(80)),
    "over two axes": ("tensordot", draw(40, 20, 30), draw(20, 30, 50)),
}


@pytest.mark.parametrize("case", PRODUCT_CALLS)
def test_deterministic_products_are_correct_for_any_thread_count(case):
    name, *arrays = PRODUCT_CALLS[case]
    found = [getattr(deterministic(threads), name)(*arrays) for threads in THREAD_COUNTS]
    assert len({each.tobytes() for each in found}) == 1
    expected = getattr(backend("numpy"), name)(*arrays)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-4)


def test_a_product_is_written_to_the_output_array():
    x, y, out = draw(30), draw(30, 20), np.empty((20, 2), "f4")
    b = deterministic(1)
    assert b.matmul(x, y, out=out[:, 0]).base is out
    np.testing.assert_allclose(out[:, 0], x @ y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", NETWORK_FUNCTIONS)
def test_deterministic_training_has_the_same_bits_for_any_thread_count(name, compiled):
    assert len({_trained(name, threads, compiled) for threads in THREAD_COUNTS}) == 1


def _trained(name, threads, compiled):
    """Return the bytes of a network's weights after two training steps."""
    b = deterministic(threads)
    (model, optimizer), batch = model_of(name, b), batch_of(name, b)
    move = sl.tensor.compile(step) if compiled else step
    for number in range(2):
        move(model, optimizer, 1e-2, batch, sl.Key(7, number))
    return b"".join(each.tobytes() for each in model.to_record().values())


def test_a_compiled_step_on_a_deterministic_backend_is_deterministic():
    x = draw(64, 300)
    square = sl.tensor.compile(lambda x: x @ x.mT)
    square(backend("numpy", num_threads=1).tensor(x))
    found = square(deterministic(1).tensor(x)).numpy()
    assert square.recompiles == 1
    assert found.tobytes() == deterministic(1).matmul(x, x.T).tobytes()
