"""Numbers that a step holds: infinities and NaN are numbers like others."""

import numpy as np
import pytest

import seqloom as sl

INF, NAN = float("inf"), float("nan")
F = sl.tensor

STEPS = {
    "a product": lambda x: x * INF,
    "a sum with NaN": lambda x: x + NAN,
    "a choice": lambda x: F.where(x > 0, x, -INF),
    "a choice among more": lambda x: F.where(x > 0, x * 2, NAN) + INF,
    "a bound": lambda x: F.maximum(F.minimum(x, INF), -INF),
    "a comparison": lambda x: x < INF,
    "bounds": lambda x: F.clip(x, -INF, 1.0),
    "a constant": lambda x: x * np.float32("inf") + np.array(NAN, "f4"),
}


@pytest.mark.parametrize("size", [3, 20_000])  # by NumPy's own functions, and as programs
@pytest.mark.parametrize("case", STEPS)
@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_numbers_that_are_not_finite_stand_in_compiled_steps(name, case, size):
    pytest.importorskip(name)
    x = sl.tensor.backend(name).tensor(np.resize(np.array([-1, 1, 2], "f4"), size))
    expected = STEPS[case](x).numpy()
    np.testing.assert_array_equal(sl.tensor.compile(STEPS[case])(x).numpy(), expected)


def test_torch_takes_them_too():
    pytest.importorskip("torch")
    x = sl.tensor.backend("torch").tensor([-1.0, 1.0, 2.0])

    def step(x):
        return [STEPS[case](x) for case in STEPS]

    for found, expected in zip(sl.tensor.compile(step)(x), step(x), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
