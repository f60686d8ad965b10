"""Dtypes, type promotion and creation follow the Array API standard on all backends."""

import numpy as np
import pytest

from backend_oracle import everywhere, found
from seqloom.tensor import apply


def numbers(b, x):
    return np.asarray(b.to_numpy(x))


FLOAT_CREATION_FUNCTIONS = ["zeros", "ones", "empty"]


@everywhere
@pytest.mark.parametrize("function", FLOAT_CREATION_FUNCTIONS)
def test_created_arrays_are_float32_by_default(function, name):
    b = found(name)
    assert b.dtype(getattr(b, function)((2,))) == np.float32
    for dtype in ("int32", np.dtype("int32"), "bool"):
        assert b.dtype(getattr(b, function)((2,), dtype=dtype)) == np.dtype(dtype)


@everywhere
def test_python_numbers_get_the_default_types(name):
    b = found(name)
    assert b.dtype(b.asarray([1.0])) == np.float32
    assert b.dtype(b.asarray([True])) == np.bool_
    assert b.dtype(b.asarray([1])) in {np.dtype("int64"), np.dtype("int32")}
    assert b.dtype(b.full((2,), 1.5)) == np.float32
    assert b.dtype(b.eye(2)) == np.float32
    assert b.dtype(b.arange(3, dtype="float32")) == np.float32


BINARY_FUNCTIONS = [
    "add",
    "subtract",
    "multiply",
    "divide",
    "pow",
    "maximum",
    "minimum",
    "logaddexp",
    "atan2",
]


@everywhere
@pytest.mark.parametrize("function", BINARY_FUNCTIONS)
def test_a_python_number_is_converted_to_the_dtype_of_the_array(function, name):
    b = found(name)
    for x, number in ((b.asarray([1.0, 2.0]), 2.0), (b.asarray([1.0, 2.0]), 2)):
        for args in ((x, number), (number, x)):
            out = getattr(b, function)(*args)
            assert b.dtype(out) == np.float32
            plain = [numbers(b, a) if a is x else np.float32(a) for a in args]
            np.testing.assert_allclose(
                numbers(b, out), getattr(np, function)(*plain), rtol=1e-6
            )


@everywhere
def test_a_scalar_array_is_not_treated_as_a_python_number(name):
    b = found(name)
    small, large = b.asarray([1, 2], dtype="int8"), b.asarray(3, dtype="int32")
    assert b.dtype(b.add(small, large)) == np.int32
    assert b.dtype(b.multiply(large, small)) == np.int32


@everywhere
def test_a_sum_of_floats_keeps_its_type(name):
    b = found(name)
    x = b.ones((3, 4))
    for function in ("sum", "mean", "var", "max", "min", "prod"):
        out = getattr(b, function)(x, axis=(0, 1), keepdims=True)
        assert b.dtype(out) == np.float32
        assert tuple(out.shape) == (1, 1)


@everywhere
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), ()])
@pytest.mark.parametrize("function", ["sum", "mean", "max", "min", "any", "all"])
def test_reductions_equal_numpy(function, axis, name):
    b = found(name)
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    got = getattr(b, function)(b.asarray(x), axis=axis)
    np.testing.assert_allclose(
        numbers(b, got), getattr(np, function)(x, axis=axis), rtol=1e-5
    )


@everywhere
@pytest.mark.parametrize("descending", [False, True])
def test_sorting_is_stable_in_both_directions(descending, name):
    b = found(name)
    x = b.asarray([1, 3, 2, 3, 1])
    order = sorted(range(5), key=lambda i: [1, 3, 2, 3, 1][i], reverse=descending)
    assert numbers(b, b.argsort(x, descending=descending)).tolist() == order
    values = [[1, 3, 2, 3, 1][i] for i in order]
    assert numbers(b, b.sort(x, descending=descending)).tolist() == values


KIND_OF_DTYPE = [
    ("float32", "real floating"),
    ("int32", "integral"),
    ("bool", "bool"),
    ("uint32", "unsigned integer"),
]


@everywhere
@pytest.mark.parametrize(("dtype", "kind"), KIND_OF_DTYPE)
def test_isdtype_recognises_the_kind_of_each_type(dtype, kind, name):
    b = found(name)
    assert b.isdtype(np.dtype(dtype), kind)
    assert not b.isdtype(dtype, "complex floating")


@everywhere
def test_division_and_remainder_have_the_signs_of_python(name):
    b = found(name)
    x = b.asarray([-7, 7], dtype="int32")
    assert numbers(b, b.floor_divide(x, 2)).tolist() == [-4, 3]
    assert numbers(b, b.remainder(x, 3)).tolist() == [2, 1]


@pytest.mark.parametrize(
    "function", ["add", "exp", "sum", "matmul", "where", "astype", "clip", "relu"]
)
def test_numpy_functions_write_to_the_output_array(function):
    b = found("numpy")
    x = b.asarray(np.array([[0.5, -1.0], [2.0, 3.0]], np.float32))
    args = {
        "add": (x, 1.0),
        "matmul": (x, x),
        "where": (x > 0, x, 0.0),
        "astype": (x, "float32"),
        "clip": (x, 0.0, 1.0),
    }.get(function, (x,))
    out = np.empty(() if function == "sum" else (2, 2), np.float32)
    got = getattr(b, function)(*args, out=out)
    assert got is out
    np.testing.assert_array_equal(out, getattr(b, function)(*args))


def test_half_precision_on_numpy_is_summed_in_float32():
    b = found("numpy")
    x = b.full((4096,), 1.0, dtype="bfloat16")
    assert float(b.sum(x)) == 4096
    assert float(b.mean(x)) == 1


@everywhere
def test_sizes_may_be_numpy_integers(name):
    x, two = found(name).tensor([[1.0, 2.0]]), np.int64(2)
    assert apply("pad", x, ((two, 0), (0, two))).shape == (3, 4)
    assert apply("reshape", x, (two, 1)).shape == (2, 1)
    assert x[np.int64(0), np.int64(1)].item() == 2
