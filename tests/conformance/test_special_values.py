"""NaN, the infinities and the two zeros: as the Array API standard's tables say."""

import math
import operator
import warnings
from typing import Any

import numpy as np
import pytest

from conformance.backends import backend, wide
from conformance.operations import SPECIAL
from conformance.special_values import ROWS, cases, is_meant

strict = pytest.importorskip("array_api_strict")

LIBRARIES = ("numpy", "torch", "jax")
_ABOVE = [np.nan, np.inf, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0]
VALUES = [*_ABOVE, *(-value for value in _ABOVE)]
# fmt: off
ONE = [
    "abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "conj", "cos", "cosh",
    "exp", "expm1", "floor", "isfinite", "isinf", "isnan", "log", "log10", "log1p", "log2",
    "negative", "positive", "real", "reciprocal", "round", "sign", "signbit", "sin", "sinh",
    "sqrt", "square", "tan", "tanh", "trunc",
]
# fmt: on
# fmt: off
TWO = [
    "add", "atan2", "copysign", "divide", "equal", "floor_divide", "greater",
    "greater_equal", "hypot", "less", "less_equal", "logaddexp", "maximum", "minimum",
    "multiply", "nextafter", "not_equal", "pow", "remainder", "subtract",
]
# fmt: on
OPERATORS = {
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
libraries = pytest.mark.parametrize("library", LIBRARIES)


@pytest.fixture(autouse=True)
def _quiet():
    """Let NumPy, which computes what is expected, divide by 0 without a word."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def namespace(library):
    made: Any = backend(library).tensor(0).__array_namespace__()
    return made


def expected(name, *arrays):
    return np.asarray(getattr(strict, name)(*map(strict.asarray, arrays)))


def pairs(values):
    """Each value beside each."""
    return np.repeat(values, len(values)), np.tile(values, len(values))


def assert_same(found, wanted, name):
    """The same numbers, NaN and signs of zero; of two zeros, either is the larger."""
    close = 1e-6 if found.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(found, wanted, rtol=close, atol=0)
    assert found.dtype == wanted.dtype
    if wanted.dtype != bool and name not in {"maximum", "minimum"}:
        zero = wanted == 0
        np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(wanted[zero]))


@libraries
@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_special_value_becomes_what_the_standard_says(library, name, dtype):
    x = np.array(VALUES, dtype)
    with wide(library):
        xp = namespace(library)
        found = getattr(xp, name)(xp.asarray(x)).numpy()
    assert_same(found, expected(name, x), name)


@libraries
@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_two_special_values_become_what_the_standard_says(library, name, dtype):
    x, y = pairs(np.array(VALUES, dtype))
    with wide(library):
        xp = namespace(library)
        found = getattr(xp, name)(xp.asarray(x), xp.asarray(y)).numpy()
    assert_same(found, expected(name, x, y), name)


@libraries
@pytest.mark.parametrize("symbol", OPERATORS)
def test_an_operator_treats_special_values_as_its_function(library, symbol):
    name, operate = OPERATORS[symbol], getattr(operator, symbol)
    x, y = pairs(np.array(VALUES, "float32"))
    xp = namespace(library)
    found = operate(xp.asarray(x), xp.asarray(y)).numpy()
    assert_same(found, expected(name, x, y), name)


@libraries
@pytest.mark.parametrize("symbol", [each for each in OPERATORS if each[0] != "i"])
def test_a_python_number_may_be_a_special_value(library, symbol):
    name, operate = OPERATORS[symbol], getattr(operator, symbol)
    xp = namespace(library)
    row = np.array(VALUES, "float32")
    # ** 0.5 and ** -0.5 are roots, which differ from powers at -inf and -0 alone.
    numbers = [0.0, -0.0, 2.0, -3.0, np.inf, -np.inf, np.nan]
    for number in numbers:
        beside = np.full_like(row, number)
        found = operate(xp.asarray(row), number).numpy()
        assert_same(found, expected(name, row, beside), name)
        found = operate(number, xp.asarray(row)).numpy()
        assert_same(found, expected(name, beside, row), name)


@libraries
def test_nan_keeps_its_sign(library):
    xp = namespace(library)
    nans = xp.asarray(np.copysign(np.float32(np.nan), np.asarray([1, -1], "float32")))
    assert xp.signbit(nans).tolist() == [False, True]
    assert xp.copysign(xp.asarray([1.0, 1.0]), nans).tolist() == [1.0, -1.0]
    signed = xp.copysign(xp.asarray([np.nan, np.nan]), xp.asarray([2.0, -2.0]))
    assert xp.signbit(signed).tolist() == [False, True]


@libraries
@pytest.mark.parametrize("name", ROWS)
def test_a_special_complex_value_becomes_what_the_standard_says(library, name):
    left_out = SPECIAL.get(library, {})
    rows = [row for row in cases(name) if f"{name} {row[0]}" not in left_out]
    if name in left_out:
        pytest.skip(left_out[name])
    with wide(library):
        xp = namespace(library)
        numbers = np.array([number for _, number, _ in rows], "complex128")
        found = getattr(xp, name)(xp.asarray(numbers)).numpy()
    values: Any = found.tolist()
    wrong = [
        f"{name}({number}) is {value}, of {given} it should be {' '.join(parts)}"
        for (given, number, parts), value in zip(rows, values, strict=True)
        if not all(map(is_meant, (value.real, value.imag), parts))
    ]
    assert wrong == []


@libraries
@pytest.mark.parametrize(
    ("name", "wanted"),
    [("sum", 0.0), ("prod", 1.0), ("mean", np.nan), ("std", np.nan), ("var", np.nan)],
)
def test_no_numbers_at_all_have_the_standards_total(library, name, wanted):
    xp = namespace(library)
    found = getattr(xp, name)(xp.asarray(np.zeros(0, "float32")))
    np.testing.assert_equal((found.shape, found.item()), ((), wanted))


@libraries
@pytest.mark.parametrize("name", ["max", "mean", "min", "prod", "std", "sum", "var"])
def test_one_nan_makes_the_total_nan(library, name):
    xp = namespace(library)
    x = xp.asarray([[1.0, 2.0], [float("nan"), 4.0]])
    assert math.isnan(getattr(xp, name)(x).item())
    rows = getattr(xp, name)(x, axis=1)
    np.testing.assert_array_equal(np.isnan(rows.numpy()), [False, True])
