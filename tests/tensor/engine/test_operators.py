"""Operators have the results of NumPy, and the type promotion of the Array API standard."""

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import seqloom as sl
from seqloom.errors import ArgumentError

NUMPY = sl.tensor.backend("numpy")
BACKEND_NAMES = ["numpy", "torch", "jax"]
ARITHMETIC_OPERATORS = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
COMPARISON_OPERATORS = ["lt", "le", "gt", "ge", "eq", "ne"]
BITWISE_OPERATORS = ["and_", "or_", "xor"]


def tensor(name, values):
    pytest.importorskip(name)
    return sl.tensor.backend(name).tensor(np.asarray(values))


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("op", ARITHMETIC_OPERATORS + COMPARISON_OPERATORS)
def test_operators_of_two_tensors_equal_numpy(name, op):
    function = getattr(operator, op)
    x, y = np.array([[1.5, 2.0], [3.0, 0.5]], np.float32), np.array([2.0, 3.0], np.float32)
    found = function(tensor(name, x), tensor(name, y)).numpy()
    np.testing.assert_allclose(found, function(x, y), rtol=1e-6)


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("op", ARITHMETIC_OPERATORS)
def test_a_python_number_on_either_side_keeps_the_type(name, op):
    function = getattr(operator, op)
    x = np.array([1.5, 2.0], np.float32)
    for left, right in ((x, 2), (2, x), (x, 0.5), (0.5, x)):
        sides = (tensor(name, s) if s is x else s for s in (left, right))
        found = function(*sides)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found.numpy(), function(left, right), rtol=1e-6)


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("op", BITWISE_OPERATORS)
def test_bitwise_operators_equal_numpy(name, op):
    function = getattr(operator, op)
    for x, y in (
        (np.array([6, 3], np.int32), np.array([3, 5], np.int32)),
        (np.array([True, False]), True),
    ):
        found = function(tensor(name, x), y if y is True else tensor(name, y))
        assert found.tolist() == function(x, y).tolist()


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_shifts_and_unary_operators_equal_numpy(name):
    x = tensor(name, np.array([1, -2], np.int32))
    assert (x << 2).tolist() == [4, -8]
    assert (x >> 1).tolist() == [0, -1]
    assert (-x).tolist() == [-1, 2]
    assert (+x).tolist() == [1, -2]
    assert abs(x).tolist() == [1, 2]
    assert (~x).tolist() == [-2, 1]


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_integers_with_a_python_float_become_floats(name):
    x = tensor(name, np.array([1, 2], np.int32))
    found = x * 0.5
    assert (found.dtype, found.tolist()) == (np.float32, [0.5, 1.0])
    assert (0.5 + x).dtype == np.float32


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_the_matmul_operator_equals_numpy(name):
    x, y = np.array([[1, 2], [3, 4]], np.float32), np.array([1, 10], np.float32)
    assert (tensor(name, x) @ tensor(name, y)).tolist() == [21, 43]
    assert (x @ tensor(name, y)).tolist() == [21, 43]


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_a_numpy_array_on_either_side_gives_a_tensor(name):
    x = tensor(name, np.array([1, 2], np.float32))
    ones = np.ones(2, "f4")
    for found in (x + ones, ones + x, x - np.float32(1), np.float32(1) - x):
        assert type(found) is sl.tensor.Tensor


def test_a_tensor_does_not_equal_a_string():
    assert (NUMPY.tensor([1.0]) == None) is False  # noqa: E711
    assert (NUMPY.tensor([1.0]) != "text") is True


def test_adding_a_string_to_a_tensor_is_an_error():
    with pytest.raises(TypeError, match="unsupported operand"):
        NUMPY.tensor([1.0]) + "text"


def test_an_augmented_assignment_creates_a_new_tensor():
    x = before = NUMPY.tensor([1.0])
    x += 1
    assert (before.item(), x.item()) == (1, 2)


def test_the_error_for_item_assignment_suggests_at_set():
    with pytest.raises(ArgumentError, match=r"x\.at\[key\]\.set\(value\)"):
        NUMPY.tensor([1.0])[0] = 2


FLOAT_ARRAY_OPTIONS: dict[str, Any] = {
    "elements": st.floats(-8, 8, width=32),
    "dtype": np.float32,
}


@given(
    shapes=hnp.mutually_broadcastable_shapes(num_shapes=2, max_dims=3, max_side=3),
    data=st.data(),
)
def test_broadcasting_equals_numpy(shapes, data):
    x, y = (
        data.draw(hnp.arrays(shape=s, **FLOAT_ARRAY_OPTIONS)) for s in shapes.input_shapes
    )
    found = NUMPY.tensor(x) * NUMPY.tensor(y)
    assert found.shape == shapes.result_shape
    np.testing.assert_array_equal(found.numpy(), x * y)


TESTED_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "float32", "float64", "bool"]


@pytest.mark.parametrize("one", TESTED_DTYPES)
@pytest.mark.parametrize("other", TESTED_DTYPES)
def test_type_promotion_follows_the_standard(one, other):
    xp = pytest.importorskip("array_api_strict")
    try:
        expected = xp.result_type(getattr(xp, one), getattr(xp, other))
    except TypeError:
        pytest.skip("the standard leaves kinds that are mixed open")
    if expected == xp.bool:
        pytest.skip("booleans are not added")
    found = NUMPY.tensor(np.ones(1, one)) + NUMPY.tensor(np.ones(1, other))
    assert str(found.dtype) == str(expected).rpartition(".")[2]
