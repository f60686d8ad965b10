"""Type promotion of integers, booleans and floats, compared with PyTorch and JAX."""

import numpy as np
import pytest

import seqloom as sl
from backend_oracle import found
from seqloom.tensor import apply

INTEGER_ARRAY = np.array([1, 2, 3], np.int32)
FLOAT_ARRAY = np.array([0.5, 1.5, 2.5], np.float32)
FOR_EACH_LIBRARY = pytest.mark.parametrize("name", ["numpy", "torch", "jax"])


def tensor(name, values):
    b = found(name)
    return sl.tensor.Tensor(b.asarray(values), b)


def assert_float32(found_, wanted):
    """Compare the dtype of a tensor with float32, and its values with expected values."""
    assert np.asarray(found_).dtype == np.float32
    np.testing.assert_allclose(np.asarray(found_), wanted, rtol=1e-6)


BINARY_FUNCTIONS = {
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


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", BINARY_FUNCTIONS)
def test_integers_and_floats_are_promoted_to_the_float_dtype(function, name):
    whole, floats = tensor(name, INTEGER_ARRAY), tensor(name, FLOAT_ARRAY)
    assert_float32(
        apply(function, whole, floats).numpy(),
        BINARY_FUNCTIONS[function](INTEGER_ARRAY, FLOAT_ARRAY),
    )
    assert_float32(
        apply(function, floats, whole).numpy(),
        BINARY_FUNCTIONS[function](FLOAT_ARRAY, INTEGER_ARRAY),
    )


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", ["divide", "atan2", "logaddexp"])
@pytest.mark.parametrize("dtype", ["int32", "uint8", "bool"])
def test_division_of_integers_returns_the_default_float_type(dtype, function, name):
    values = np.ones(3, dtype)
    x = tensor(name, values)
    wanted = BINARY_FUNCTIONS[function](values.astype("f4"), values.astype("f4"))
    assert_float32(apply(function, x, x).numpy(), wanted)


UNARY_FUNCTIONS = [
    "exp",
    "expm1",
    "log",
    "log1p",
    "sqrt",
    "sin",
    "cos",
    "tan",
    "sinh",
    "cosh",
    "tanh",
]


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", [*UNARY_FUNCTIONS, "reciprocal"])
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_float_functions_of_integers_return_the_default_float_type(dtype, function, name):
    values = np.ones(3, dtype)
    wanted = getattr(np, function)(values.astype("f4"))
    assert_float32(apply(function, tensor(name, values)).numpy(), wanted)


@FOR_EACH_LIBRARY
@pytest.mark.parametrize("function", ["mean", "var"])
@pytest.mark.parametrize("dtype", ["int32", "bool"])
def test_means_and_deviations_of_integers_have_the_default_float_type(
    dtype, function, name
):
    values = np.array([[0, 1], [1, 1]], dtype)
    x = tensor(name, values)
    assert_float32(apply(function, x).numpy(), getattr(np, function)(values))
    assert_float32(
        apply(function, x, axis=0).numpy(), getattr(np, function)(values, axis=0)
    )


@FOR_EACH_LIBRARY
def test_astype_float_is_the_default_float_type(name):
    assert np.asarray(tensor(name, INTEGER_ARRAY).astype(float)).dtype == np.float32
    assert found(name).dtype(found(name).zeros((1,), dtype=float)) == np.float32


@FOR_EACH_LIBRARY
def test_concat_where_and_clip_of_mixed_types_return_floats(name):
    whole, floats = tensor(name, INTEGER_ARRAY), tensor(name, FLOAT_ARRAY)
    assert_float32(
        apply("concat", [whole, floats]).numpy(),
        np.concatenate([INTEGER_ARRAY, FLOAT_ARRAY]),
    )
    assert_float32(
        apply("stack", [whole, floats]).numpy(), np.stack([INTEGER_ARRAY, FLOAT_ARRAY])
    )
    assert_float32(apply("where", whole > 1, whole, floats).numpy(), [0.5, 2, 3])
    assert_float32(apply("where", whole > 1, 1, 0.5).numpy(), [0.5, 1, 1])
    assert_float32(apply("clip", whole, 1.5, 2.5).numpy(), [1.5, 2, 2.5])


@FOR_EACH_LIBRARY
def test_products_of_integers_and_floats_return_floats(name):
    whole, floats = tensor(name, INTEGER_ARRAY), tensor(name, FLOAT_ARRAY)
    assert_float32((whole @ floats).numpy(), INTEGER_ARRAY @ FLOAT_ARRAY)
    assert_float32(
        apply("tensordot", whole, floats, axes=1).numpy(), INTEGER_ARRAY @ FLOAT_ARRAY
    )
    assert_float32(
        apply("einsum", "i,i->", whole, floats).numpy(), INTEGER_ARRAY @ FLOAT_ARRAY
    )


@FOR_EACH_LIBRARY
def test_a_python_float_converts_integers_to_floats(name):
    x = tensor(name, INTEGER_ARRAY)
    assert_float32(apply("add", x, 1.5).numpy(), INTEGER_ARRAY + 1.5)
    assert_float32(apply("multiply", x > 1, 2.5).numpy(), [0, 2.5, 2.5])
    assert_float32((2 / x).numpy(), 2 / INTEGER_ARRAY)


@FOR_EACH_LIBRARY
def test_the_result_type_of_integers_and_floats_is_the_float_type(name):
    b = found(name)
    whole, floats = b.asarray(INTEGER_ARRAY), b.asarray(FLOAT_ARRAY)
    assert np.dtype(b.result_type(whole, floats)) == np.float32
    assert np.dtype(b.result_type(floats, floats)) == np.float32


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_float32_with_float64_gives_float64(name):
    out = tensor(name, FLOAT_ARRAY) + tensor(name, FLOAT_ARRAY.astype("f8"))
    assert np.asarray(out).dtype == np.float64


@FOR_EACH_LIBRARY
def test_the_gradient_of_a_masked_mean_has_the_type_of_the_leaf(name):
    level = sl.tensor.Autodiff(found(name))
    x = level.tensor(np.ones((2, 3, 4), "f4"), requires_grad=True)
    mask = level.tensor(np.array([[1, 1, 0], [1, 0, 0]], np.int32))
    mean = (x * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1)[:, None]
    grad = mean.sum().backward().wrt(x)
    assert_float32(grad.numpy()[:, :, 0], [[0.5, 0.5, 0], [1, 0, 0]])


@FOR_EACH_LIBRARY
def test_a_compiled_step_with_mixed_types_equals_the_eager_step(name):
    b = found(name)

    def step(whole, floats):
        total = (whole * floats).sum() / whole.sum()
        return total + apply("exp", whole).mean() + (whole / 2).sum() + whole.astype(float)

    args = (
        sl.tensor.Tensor(b.asarray(INTEGER_ARRAY), b),
        sl.tensor.Tensor(b.asarray(FLOAT_ARRAY), b),
    )
    assert_float32(sl.tensor.compile(step)(*args).numpy(), step(*args).numpy())
