"""Integers and truths among floats have one rule on every backend: torch's and jax's."""

import numpy as np
import pytest

import seqloom as sl
from backend_oracle import found
from seqloom.tensor import apply

WHOLE = np.array([1, 2, 3], np.int32)
FLOATS = np.array([0.5, 1.5, 2.5], np.float32)
LIBRARIES = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])


def tensor(name, values):
    b = found(name)
    return sl.tensor.Tensor(b.asarray(values), b)


def equal(found_, wanted):
    """The numbers of a float32 tensor."""
    assert np.asarray(found_).dtype == np.float32
    np.testing.assert_allclose(np.asarray(found_), wanted, rtol=1e-6)


TWO = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "atan2": np.arctan2,
    "logaddexp": np.logaddexp,
    "remainder": np.remainder,
    "floor_divide": np.floor_divide,
}


@LIBRARIES
@pytest.mark.parametrize("function", TWO)
def test_integers_beside_floats_take_their_type(function, name):
    whole, floats = tensor(name, WHOLE), tensor(name, FLOATS)
    equal(apply(function, whole, floats).numpy(), TWO[function](WHOLE, FLOATS))
    equal(apply(function, floats, whole).numpy(), TWO[function](FLOATS, WHOLE))


@LIBRARIES
@pytest.mark.parametrize("function", ["divide", "atan2", "logaddexp"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_fractions_of_integers_are_of_the_backends_float_type(dtype, function, name):
    values = np.ones(3, dtype)
    x = tensor(name, values)
    wanted = TWO[function](values.astype("f4"), values.astype("f4"))
    equal(apply(function, x, x).numpy(), wanted)


ONE = ["exp", "expm1", "log", "log1p", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"]


@LIBRARIES
@pytest.mark.parametrize("function", [*ONE, "reciprocal"])
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_functions_of_integers_that_give_floats_give_the_float_type(dtype, function, name):
    values = np.ones(3, dtype)
    wanted = getattr(np, function)(values.astype("f4"))
    equal(apply(function, tensor(name, values)).numpy(), wanted)


@LIBRARIES
@pytest.mark.parametrize("function", ["mean", "var"])
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_means_and_spreads_of_integers_are_of_the_float_type(dtype, function, name):
    values = np.array([[0, 1], [1, 1]], dtype)
    x = tensor(name, values)
    equal(apply(function, x).numpy(), getattr(np, function)(values))
    equal(apply(function, x, axis=0).numpy(), getattr(np, function)(values, axis=0))


@LIBRARIES
def test_astype_of_pythons_float_is_the_backends_float_type(name):
    assert np.asarray(tensor(name, WHOLE).astype(float)).dtype == np.float32
    assert found(name).dtype(found(name).zeros((1,), dtype=float)) == np.float32


@LIBRARIES
def test_joined_chosen_and_bounded_kinds_are_of_the_float_type(name):
    whole, floats = tensor(name, WHOLE), tensor(name, FLOATS)
    equal(apply("concat", [whole, floats]).numpy(), np.concatenate([WHOLE, FLOATS]))
    equal(apply("stack", [whole, floats]).numpy(), np.stack([WHOLE, FLOATS]))
    equal(apply("where", whole > 1, whole, floats).numpy(), [0.5, 2, 3])
    equal(apply("where", whole > 1, 1, 0.5).numpy(), [0.5, 1, 1])
    equal(apply("clip", whole, 1.5, 2.5).numpy(), [1.5, 2, 2.5])


@LIBRARIES
def test_products_of_integers_and_floats_are_of_the_float_type(name):
    whole, floats = tensor(name, WHOLE), tensor(name, FLOATS)
    equal((whole @ floats).numpy(), WHOLE @ FLOATS)
    equal(apply("tensordot", whole, floats, axes=1).numpy(), WHOLE @ FLOATS)
    equal(apply("einsum", "i,i->", whole, floats).numpy(), WHOLE @ FLOATS)


@LIBRARIES
def test_a_number_with_a_fraction_makes_floats_of_integers(name):
    x = tensor(name, WHOLE)
    equal(apply("add", x, 1.5).numpy(), WHOLE + 1.5)
    equal(apply("multiply", x > 1, 2.5).numpy(), [0, 2.5, 2.5])
    equal((2 / x).numpy(), 2 / WHOLE)


@LIBRARIES
def test_a_result_type_of_mixed_kinds_is_that_of_the_floats(name):
    b = found(name)
    whole, floats = b.asarray(WHOLE), b.asarray(FLOATS)
    assert np.dtype(b.result_type(whole, floats)) == np.float32
    assert np.dtype(b.result_type(floats, floats)) == np.float32


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_float32_beside_float64_stays_float64(name):
    out = tensor(name, FLOATS) + tensor(name, FLOATS.astype("f8"))
    assert np.asarray(out).dtype == np.float64


@LIBRARIES
def test_a_masked_mean_has_gradients_of_the_leafs_type(name):
    level = sl.tensor.Autodiff(found(name))
    x = level.tensor(np.ones((2, 3, 4), "f4"), requires_grad=True)
    mask = level.tensor(np.array([[1, 1, 0], [1, 0, 0]], np.int32))
    mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
    grad = mean.sum().backward().wrt(x)
    equal(grad.numpy()[:, :, 0], [[0.5, 0.5, 0], [1, 0, 0]])


@LIBRARIES
def test_a_compiled_step_of_mixed_kinds_equals_the_eager_one(name):
    b = found(name)

    def step(whole, floats):
        total = (whole * floats).sum() / whole.sum()
        return total + apply("exp", whole).mean() + (whole / 2).sum() + whole.astype(float)

    args = sl.tensor.Tensor(b.asarray(WHOLE), b), sl.tensor.Tensor(b.asarray(FLOATS), b)
    equal(sl.tensor.compile(step)(*args).numpy(), step(*args).numpy())
