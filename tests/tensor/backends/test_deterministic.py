"""NumPy's backend with the promise that no number of threads changes a bit."""

import pickle

import numpy as np
import pytest

import seqloom as sl
from compiled_networks import MODELS, batch_of, model_of, step
from seqloom.errors import BackendError
from seqloom.tensor import backend

RNG = np.random.default_rng(0)
THREADS = (1, 2, 4)


def promised(threads):
    return backend("numpy", num_threads=threads, deterministic=True)


def normal(*shape, dtype="f4"):
    return RNG.normal(size=shape).astype(dtype)


def test_it_is_an_object_of_its_own():
    assert promised(2) is promised(2)
    assert promised(2) is not backend("numpy", num_threads=2)
    assert promised(2) is not promised(1)
    assert pickle.loads(pickle.dumps(promised(2))) is promised(2)  # noqa: S301


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_backend_that_cannot_promise_it_says_so(name):
    pytest.importorskip(name)
    with pytest.raises(BackendError, match=f"{name} cannot compute deterministically"):
        backend(name, deterministic=True)


PRODUCTS = {
    "matrices": ("matmul", normal(90, 300), normal(300, 70)),
    "a vector": ("matmul", normal(700), normal(700, 90)),
    "two vectors": ("matmul", normal(900), normal(900)),
    "a matrix and a vector": ("matmul", normal(3, 90, 300), normal(300)),
    "two types": ("matmul", normal(90, 300), normal(300, 70, dtype="f8")),
    "a layer": ("linear", normal(5, 30, 200), normal(80, 200), normal(80)),
    "over two axes": ("tensordot", normal(40, 20, 30), normal(20, 30, 50)),
}


@pytest.mark.parametrize("case", PRODUCTS)
def test_products_have_the_same_bits_and_are_right(case):
    name, *arrays = PRODUCTS[case]
    found = [getattr(promised(threads), name)(*arrays) for threads in THREADS]
    assert len({each.tobytes() for each in found}) == 1
    expected = getattr(backend("numpy"), name)(*arrays)
    np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-4)


def test_a_product_fills_the_array_that_it_is_given():
    x, y, out = normal(30), normal(30, 20), np.empty((20, 2), "f4")
    b = promised(1)
    assert b.matmul(x, y, out=out[:, 0]).base is out
    np.testing.assert_allclose(out[:, 0], x @ y, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("name", MODELS)
def test_training_has_the_same_bits(name, compiled):
    assert len({_trained(name, threads, compiled) for threads in THREADS}) == 1


def _trained(name, threads, compiled):
    """The bytes of a network's weights after two steps."""
    b = promised(threads)
    (model, optimizer), batch = model_of(name, b), batch_of(name, b)
    move = sl.tensor.compile(step) if compiled else step
    for number in range(2):
        move(model, optimizer, 1e-2, batch, sl.Key(7, number))
    return b"".join(each.tobytes() for each in model.to_record().values())


def test_a_compiled_step_keeps_the_promise_of_the_backend_it_is_called_on():
    x = normal(64, 300)
    square = sl.tensor.compile(lambda x: x @ x.mT)
    square(backend("numpy", num_threads=1).tensor(x))
    found = square(promised(1).tensor(x)).numpy()
    assert square.recompiles == 1
    assert found.tobytes() == promised(1).matmul(x, x.T).tobytes()
