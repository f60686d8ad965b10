"""Compiling a long chain of elementwise operations."""

import numpy as np

import seqloom as sl
from counted_calls import calls_of


def create_rounds(count):
    def rounds(x):
        for _ in range(count):
            x = x * 1.0001 + 0.001
        return x

    return sl.tensor.compile(rounds)


def test_a_chain_of_four_thousand_operations_equals_numpy():
    x = np.linspace(-1, 1, 11, dtype=np.float32)
    expected = x.astype(np.float64)
    for _ in range(2000):
        expected = expected * 1.0001 + 0.001
    found = create_rounds(2000)(sl.tensor.backend("numpy").tensor(x))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4)


def test_compile_time_is_linear_in_the_number_of_operations():
    x = sl.tensor.backend("numpy").tensor(np.ones(3, np.float32))
    few, many = (
        calls_of(lambda count=count: create_rounds(count)(x)) for count in (300, 1200)
    )
    assert many < 4.4 * few


def count_first_call(layers):
    model = sl.nn.Sequential(*[sl.nn.Linear(2, 2) for _ in range(layers)])
    model.bind("numpy", sl.Key(0))
    x = model.backend.tensor(np.ones((3, 2), np.float32))
    step = sl.nn.value_and_grad(lambda model: (model(x) ** 2).sum())
    return lambda: sl.tensor.compile(step)(model)


def test_compile_time_is_linear_in_the_number_of_layers():
    few, many = (calls_of(count_first_call(layers)) for layers in (50, 200))
    assert many < 4.4 * few
