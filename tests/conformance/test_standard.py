"""Data types, shapes and broadcasting agree with the Array API standard."""

import warnings
from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st
from hypothesis.extra import numpy as nps
from hypothesis.extra.array_api import make_strategies_namespace

from conformance.backends import BACKEND_NAMES, backend, wide
from seqloom.errors import SeqloomError
from seqloom.tensor import apply

strict = pytest.importorskip("array_api_strict")
xps = make_strategies_namespace(strict)

libraries = pytest.mark.parametrize("library", BACKEND_NAMES)
quick = settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
    derandomize=True,
)

FLOAT_DTYPES = ("float32", "float64")
INTEGER_DTYPES = ("int8", "int16", "int32", "int64", "uint8")
ARITHMETIC_FUNCTIONS = ("add", "subtract", "multiply", "maximum", "minimum")
COMPARISON_FUNCTIONS = (
    "equal",
    "not_equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
)
BROADCASTABLE_SHAPES = xps.mutually_broadcastable_shapes(2, max_dims=4, max_side=4)
kinds = st.sampled_from([FLOAT_DTYPES, INTEGER_DTYPES])


@cache
def _backend(library):
    return backend(library)


def _array(draw, dtype, shape):
    elements = {"min_value": -9 if dtype[0] != "u" else 0, "max_value": 9}
    return draw(nps.arrays(np.dtype(dtype), shape, elements=elements))


def _same(ours, expected):
    expected = np.asarray(expected)
    assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(ours.numpy(), expected, rtol=1e-5, atol=1e-5)


def _strict_result(name, *args, **options):
    """Return the result of array_api_strict as a NumPy array."""
    strictly = [strict.asarray(x) if isinstance(x, np.ndarray) else x for x in args]
    return np.asarray(getattr(strict, name)(*strictly, **options))


@libraries
@quick
@given(data=st.data())
def test_binary_functions_broadcast_shapes_and_promote_dtypes(library, data):
    one, other = data.draw(BROADCASTABLE_SHAPES).input_shapes
    types = data.draw(kinds)
    name = data.draw(st.sampled_from(ARITHMETIC_FUNCTIONS + COMPARISON_FUNCTIONS))
    x = _array(data.draw, data.draw(st.sampled_from(types)), one)
    y = _array(data.draw, data.draw(st.sampled_from(types)), other)
    with wide(library), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        b = _backend(library)
        _same(apply(name, b.tensor(x), b.tensor(y)), _strict_result(name, x, y))


@libraries
@quick
@given(data=st.data())
def test_a_python_number_operand_gets_the_dtype_of_the_array(library, data):
    dtype = data.draw(st.sampled_from(FLOAT_DTYPES + INTEGER_DTYPES))
    x = _array(data.draw, dtype, data.draw(xps.array_shapes(max_dims=3, max_side=3)))
    number = data.draw(st.integers(1, 3))
    with wide(library):
        b = _backend(library)
        _same(b.tensor(x) * number, x * np.asarray(number, x.dtype))


@libraries
@quick
@given(data=st.data())
def test_adding_arrays_that_do_not_broadcast_is_an_error(library, data):
    one, other = (data.draw(xps.array_shapes(max_dims=3, max_side=4)) for _ in range(2))
    assume(not _broadcasts(one, other))
    b = _backend(library)
    with pytest.raises(SeqloomError, match="add"):
        b.tensor(np.ones(one, np.float32)) + b.tensor(np.ones(other, np.float32))


def _broadcasts(one, other):
    try:
        np.broadcast_shapes(one, other)
    except ValueError:
        return False
    return True


@libraries
@quick
@given(data=st.data())
def test_reductions_have_the_shape_and_dtype_of_the_array_api(library, data):
    shape = data.draw(xps.array_shapes(max_dims=4, max_side=4))
    name = data.draw(st.sampled_from(("sum", "prod", "max", "min")))
    x = _array(
        data.draw, data.draw(st.sampled_from((*FLOAT_DTYPES, "int32", "int64"))), shape
    )
    x = np.sign(x) if name == "prod" else x
    axes = data.draw(st.none() | nps.valid_tuple_axes(len(shape), min_size=1))
    options = {"axis": axes, "keepdims": data.draw(st.booleans())}
    with wide(library):
        ours = apply(name, _backend(library).tensor(x), **options)
        _same(ours, _strict_result(name, x, **options))


@libraries
@quick
@given(data=st.data())
def test_indexing_selects_the_same_elements_as_numpy(library, data):
    shape = data.draw(xps.array_shapes(max_dims=3, max_side=5))
    key = data.draw(xps.indices(shape, allow_newaxis=True))
    assume(library == "numpy" or not _has_negative_step(key))
    x = _array(data.draw, "float32", shape)
    _same(_backend(library).tensor(x)[key], x[key])


def _has_negative_step(key):
    """Return whether a slice has a negative step, which PyTorch and JAX may not support."""
    every = key if isinstance(key, tuple) else (key,)
    return any(isinstance(each, slice) and (each.step or 1) < 0 for each in every)


@libraries
@quick
@given(data=st.data())
def test_concat_and_stack_promote_the_dtypes_of_arrays(library, data):
    types = data.draw(kinds)
    shape = data.draw(xps.array_shapes(min_dims=1, max_dims=3, max_side=3))
    arrays = [_array(data.draw, data.draw(st.sampled_from(types)), shape) for _ in "ab"]
    name = data.draw(st.sampled_from(("concat", "stack")))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    with wide(library):
        b = _backend(library)
        ours = apply(name, [b.tensor(each) for each in arrays], axis=axis)
    plain = np.concatenate if name == "concat" else np.stack
    _same(ours, plain(arrays, axis=axis))


@libraries
@quick
@given(data=st.data())
def test_where_broadcasts_three_arrays(library, data):
    shapes = data.draw(xps.mutually_broadcastable_shapes(3, max_dims=3, max_side=3))
    condition, x, y = (_array(data.draw, "float32", shape) for shape in shapes.input_shapes)
    b = _backend(library)
    ours = apply("where", b.tensor(condition > 0), b.tensor(x), b.tensor(y))
    _same(ours, np.where(condition > 0, x, y))


@libraries
@quick
@given(data=st.data())
def test_permute_dims_agrees_with_numpy(library, data):
    shape = data.draw(xps.array_shapes(max_dims=4, max_side=3))
    axes = data.draw(st.permutations(range(len(shape))))
    x = _array(data.draw, "float32", shape)
    ours = apply("permute_dims", _backend(library).tensor(x), tuple(axes))
    _same(ours, np.transpose(x, axes))


@libraries
@quick
@given(
    one=st.sampled_from(FLOAT_DTYPES + INTEGER_DTYPES),
    other=st.sampled_from(FLOAT_DTYPES + INTEGER_DTYPES),
)
def test_two_dtypes_are_promoted_as_in_the_array_api(library, one, other):
    assume((one in FLOAT_DTYPES) == (other in FLOAT_DTYPES))
    with wide(library):
        b = _backend(library)
        x, y = (b.tensor(np.ones(2, each)) for each in (one, other))
        ours = (x + y).dtype
    assert ours == np.result_type(np.dtype(one), np.dtype(other))
