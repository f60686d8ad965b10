"""Results for NaN, infinities and signed zeros agree with the Array API standard."""

import math
import operator
import warnings
from typing import Any

import numpy as np
import pytest

from conformance.backends import backend, wide
from conformance.operations import SKIPPED_SPECIAL_VALUES
from conformance.special_values import SPECIAL_VALUE_RULES, cases, is_expected

strict = pytest.importorskip("array_api_strict")

LIBRARY_NAMES = ("numpy", "torch", "jax")
_NONNEGATIVE_VALUES = [np.nan, np.inf, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
SPECIAL_VALUES = [*_NONNEGATIVE_VALUES, *(-value for value in _NONNEGATIVE_VALUES)]
# fmt: off
UNARY_FUNCTIONS = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh",
    "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
]
# fmt: on
# fmt: off
BINARY_FUNCTIONS = [
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater",
    "greater_equal", "hypot", "less", "less_equal", "logaddexp", "maximum", "minimum",
    "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
]
# fmt: on
OPERATOR_OF_FUNCTION = {
    "add": "add",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "iadd": "add",
    "imul": "multiply",
    "ipow": "pow",
    "le": "less_equal",
    "lt": "less",
    "mod": "remainder",
    "mul": "multiply",
    "ne": "not_equal",
    "pow": "pow",
    "sub": "subtract",
    "truediv": "divide",
}
libraries = pytest.mark.parametrize("library", LIBRARY_NAMES)


@pytest.fixture(autouse=True)
def _hide_warnings():
    """Hide warnings, because NumPy divides by 0 to compute the expected results."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def namespace(library):
    xp: Any = backend(library).tensor(0).__array_namespace__()
    return xp


def expected(name, *arrays):
    return np.asarray(getattr(strict, name)(*map(strict.asarray, arrays)))


def pairs(values):
    """Return all pairs of values as two arrays."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def assert_same(found, wanted, name):
    """Compare values, NaN and signs of zero; max(0, -0) and min(0, -0) may be 0 or -0."""
    close = 1e-6 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=close, atol=0)
    assert found.dtype == wanted.dtype
    if wanted.dtype != bool and name not in {"maximum", "minimum"}:
        zero = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@libraries
@pytest.mark.parametrize("name", UNARY_FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_unary_functions_of_nan_and_inf_follow_the_array_api(library, name, dtype):
    x = np.array(SPECIAL_VALUES, dtype)
    with wide(library):
        xp = namespace(library)
        found = getattr(xp, name)(xp.asarray(x)).numpy()
    assert_same(found, expected(name, x), name)


@libraries
@pytest.mark.parametrize("name", BINARY_FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_binary_functions_of_nan_and_inf_follow_the_array_api(library, name, dtype):
    x, y = pairs(np.array(SPECIAL_VALUES, dtype))
    with wide(library):
        xp = namespace(library)
        found = getattr(xp, name)(xp.asarray(x), xp.asarray(y)).numpy()
    assert_same(found, expected(name, x, y), name)


@libraries
@pytest.mark.parametrize("symbol", OPERATOR_OF_FUNCTION)
def test_an_operator_treats_nan_and_inf_like_its_function(library, symbol):
    name, operate = OPERATOR_OF_FUNCTION[symbol], getattr(operator, symbol)
    x, y = pairs(np.array(SPECIAL_VALUES, "float32"))
    xp = namespace(library)
    found = operate(xp.asarray(x), xp.asarray(y)).numpy()
    assert_same(found, expected(name, x, y), name)


@libraries
@pytest.mark.parametrize(
    "symbol", [each for each in OPERATOR_OF_FUNCTION if each[0] != "i"]
)
def test_an_operator_accepts_nan_and_inf_as_python_numbers(library, symbol):
    name, operate = OPERATOR_OF_FUNCTION[symbol], getattr(operator, symbol)
    xp = namespace(library)
    row = np.array(SPECIAL_VALUES, "float32")
    # Exponents 0.5 and -0.5 are omitted, because square roots differ from powers at
    # -inf and -0.
    numbers = [0.0, -0.0, 2.0, -3.0, np.inf, -np.inf, np.nan]
    for number in numbers:
        repeated = np.full_like(row, number)
        found = operate(xp.asarray(row), number).numpy()
        assert_same(found, expected(name, row, repeated), name)
        found = operate(number, xp.asarray(row)).numpy()
        assert_same(found, expected(name, repeated, row), name)


@libraries
def test_signbit_and_copysign_keep_the_sign_of_nan(library):
    xp = namespace(library)
    nans = xp.asarray(np.copysign(np.float32(np.nan), np.asarray([1, -1], "float32")))
    assert xp.signbit(nans).tolist() == [False, True]
    assert xp.copysign(xp.asarray([1.0, 1.0]), nans).tolist() == [1.0, -1.0]
    signed = xp.copysign(xp.asarray([np.nan, np.nan]), xp.asarray([2.0, -2.0]))
    assert xp.signbit(signed).tolist() == [False, True]


@libraries
@pytest.mark.parametrize("name", SPECIAL_VALUE_RULES)
def test_functions_of_complex_nan_and_inf_follow_the_array_api(library, name):
    left_out = SKIPPED_SPECIAL_VALUES.get(library, {})
    rows = [row for row in cases(name) if f"{name} {row[0]}" not in left_out]
    if name in left_out:
        pytest.skip(left_out[name])
    with wide(library):
        xp = namespace(library)
        numbers = np.array([number for _, number, _ in rows], "complex128")
        found = getattr(xp, name)(xp.asarray(numbers)).numpy()
    values: Any = found.tolist()
    wrong = [
        f"{name}({number}) is {value}, of {label} it should be {' '.join(parts)}"
        for (label, number, parts), value in zip(rows, values, strict=True)
        if not all(map(is_expected, (value.real, value.imag), parts))
    ]
    assert wrong == []


@libraries
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("sum", 0.0), ("prod", 1.0), ("mean", np.nan), ("std", np.nan), ("var", np.nan)],
)
def test_a_reduction_of_an_empty_array_follows_the_array_api(library, name, wanted):
    xp = namespace(library)
    found = getattr(xp, name)(xp.asarray(np.zeros(0, "float32")))
    np.testing.assert_equal((found.shape, found.item()), ((), wanted))


@libraries
@pytest.mark.parametrize("name", ["max", "mean", "min", "prod", "std", "sum", "var"])
def test_a_reduction_of_an_array_with_nan_is_nan(library, name):
    xp = namespace(library)
    x = xp.asarray([[1.0, 2.0], [float("nan"), 4.0]])
    assert math.isnan(getattr(xp, name)(x).item())
    rows = getattr(xp, name)(x, axis=1)
    np.testing.assert_array_equal(np.isnan(rows.numpy()), [False, True])
