"""Python numbers in compiled steps, including NaN and infinity, act as in eager steps."""

import math
from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import CaptureError

INF, NAN = float("inf"), float("nan")
SL_TENSOR = sl.tensor

STEP_FUNCTIONS = {
    "a product": lambda x: x * INF,
    "a sum with NaN": lambda x: x + NAN,
    "a choice": lambda x: SL_TENSOR.where(x > 0, x, -INF),
    "a choice among several": lambda x: SL_TENSOR.where(x > 0, x * 2, NAN) + INF,
    "a bound": lambda x: SL_TENSOR.maximum(SL_TENSOR.minimum(x, INF), -INF),
    "a comparison": lambda x: x < INF,
    "bounds": lambda x: SL_TENSOR.clip(x, -INF, 1.0),
    "a constant": lambda x: x * np.float32("inf") + np.array(NAN, "f4"),
}


@pytest.mark.parametrize("size", [3, 20_000])  # operations on the larger size are fused
@pytest.mark.parametrize("case", STEP_FUNCTIONS)
@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_compiled_steps_accept_nan_and_infinity(name, case, size):
    pytest.importorskip(name)
    x = sl.tensor.backend(name).tensor(np.resize(np.array([-1, 1, 2], "f4"), size))
    expected = STEP_FUNCTIONS[case](x).numpy()
    np.testing.assert_array_equal(
        sl.tensor.compile(STEP_FUNCTIONS[case])(x).numpy(), expected
    )


def test_compiled_torch_steps_accept_nan_and_infinity():
    pytest.importorskip("torch")
    x = sl.tensor.backend("torch").tensor([-1.0, 1.0, 2.0])

    def step(x):
        return [STEP_FUNCTIONS[case](x) for case in STEP_FUNCTIONS]

    for found, expected in zip(sl.tensor.compile(step)(x), step(x), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


NUMPY_SCALARS = [3, np.int64(3), np.int32(3), np.uint8(3), np.True_, True]
OPERATIONS_WITH_NUMBERS: dict[str, Any] = {
    "a product": lambda x, n: x * n,
    "a difference from it": lambda x, n: n - x.astype("float32"),
    "a quotient": lambda x, n: x / n,
    "a power": lambda x, n: x**n,
    "a bound": SL_TENSOR.maximum,
    "a choice": lambda x, n: SL_TENSOR.where(x > 0, x, n),
    "a sum with itself": lambda x, n: x + (n + n),
    "a number in a dict": lambda x, n: x * {"n": [n]}["n"][0],
}


@pytest.mark.parametrize("case", OPERATIONS_WITH_NUMBERS)
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("kind", ["u1", "i4", "f2"])
def test_numpy_scalars_give_the_same_types_in_compiled_steps(kind, name, case):
    x = sl.tensor.backend(name).tensor(np.array([1, 2, 3], kind))
    step: Any = sl.tensor.compile(OPERATIONS_WITH_NUMBERS[case])
    for number in NUMPY_SCALARS:
        expected, found = OPERATIONS_WITH_NUMBERS[case](x, number), step(x, number)
        assert found.dtype == expected.dtype, type(number)
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-3)


def test_numpy_scalars_give_the_same_types_in_compiled_torch_steps():
    pytest.importorskip("torch")
    x = sl.tensor.backend("torch").tensor(np.array([1, 2, 3], "u1"))
    step: Any = sl.tensor.compile(OPERATIONS_WITH_NUMBERS["a product"])
    assert step(x, np.int64(3)).dtype == (x * np.int64(3)).dtype == np.uint8


def test_a_numpy_integer_can_be_a_size_an_axis_or_an_index():
    x = sl.tensor.backend("numpy").tensor(np.arange(6.0, dtype="f4"))

    def step(x, n):
        return x.reshape(n, -1).sum(axis=n - 2), x[n], x * sum(range(n))

    compiled: Any = sl.tensor.compile(step)
    for n in (np.int64(2), np.int32(2), np.uint8(2)):
        for found, expected in zip(compiled(x, n), step(x, n), strict=True):
            np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_a_new_numpy_integer_compiles_a_new_program():
    x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
    step = sl.tensor.compile(lambda x, n: x * n)
    found = [step(x, n).tolist() for n in (np.int64(2), np.int64(3), np.int64(2))]
    assert found == [[2, 4], [3, 6], [2, 4]]
    assert step.recompiles == 1


FUNCTIONS_WITH_NUMBER_ARITHMETIC = {
    "a sum of it": lambda x, n: x + (n + n),
    "a fraction of it": lambda x, n: x * (1 - n / 2),
    "a power of it": lambda x, n: x * (n**2 + 1),
    "a bound of it": lambda x, n: SL_TENSOR.maximum(x, -n * 3),
    "a choice of it": lambda x, n: SL_TENSOR.where(x > 1, x, n * 0.5),
}


@pytest.mark.parametrize("case", FUNCTIONS_WITH_NUMBER_ARITHMETIC)
@pytest.mark.parametrize("name", ["numpy", "jax"])
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "int32"])
def test_arithmetic_on_python_numbers_does_not_widen_the_dtype_of_arrays(kind, name, case):
    x = sl.tensor.backend(name).tensor([1.0, 2.0, 3.0]).astype(kind)
    step: Any = sl.tensor.compile(FUNCTIONS_WITH_NUMBER_ARITHMETIC[case])
    for number in (0.5, np.float64(1.5)):
        expected, found = FUNCTIONS_WITH_NUMBER_ARITHMETIC[case](x, number), step(x, number)
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(
            found.numpy().astype("f4"), expected.numpy().astype("f4"), rtol=0.01
        )
    assert step.recompiles <= 1


def test_arithmetic_on_python_numbers_does_not_widen_torch_arrays():
    pytest.importorskip("torch")
    x = sl.tensor.backend("torch").tensor([1.0, 2.0], dtype="bfloat16")
    found: Any = sl.tensor.compile(FUNCTIONS_WITH_NUMBER_ARITHMETIC["a fraction of it"])(
        x, 0.5
    )
    assert found.dtype == x.dtype
    assert found.tolist() == [0.75, 1.5]


@pytest.mark.parametrize("call", [np.exp, round, math.trunc, lambda lr: divmod(lr, 2)[0]])
def test_math_functions_in_a_step_are_an_error_that_names_the_line(call):
    step = sl.tensor.compile(lambda x, lr: (x * call(lr)).sum())
    x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
    with pytest.raises(
        CaptureError, match=r"test_numbers_in_steps\.py:\d+ passes a number or tensor"
    ):
        step(x, 0.5)


def test_unrelated_type_errors_in_a_step_are_raised_unchanged():
    x = sl.tensor.backend("numpy").tensor([1.0, 2.0])
    with pytest.raises(TypeError, match="can only concatenate"):
        sl.tensor.compile(lambda x: x * len("a" + 1))(x)  # pyright: ignore[reportOperatorIssue]
