"""Tests of powers and of the error function on the NumPy backend."""

import numpy as np
import pytest
import scipy.special

from seqloom.tensor import backend

NUMPY = backend("numpy", num_threads=1)
INPUT_ARRAY = np.random.default_rng(0).uniform(0.1, 4, (300, 300))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("exponent", [0.5, 2, 3, 2.0, 3.0])
def test_small_powers_are_accurate_to_two_units_in_the_last_place(exponent, dtype):
    x = INPUT_ARRAY.astype(dtype)
    wanted = x.astype(np.longdouble) ** exponent
    off = np.abs(NUMPY.pow(x, exponent) - wanted) / np.spacing(wanted.astype(dtype))
    assert off.max() <= 2


def test_a_cube_can_be_computed_in_place():
    x = INPUT_ARRAY.copy()
    NUMPY.pow(x, 3, x)
    np.testing.assert_allclose(x, INPUT_ARRAY**3, rtol=1e-15)


def test_powers_of_integers_stay_integers():
    assert NUMPY.pow(np.array([2, -3]), 3).tolist() == [8, -27]


@pytest.mark.parametrize(("dtype", "off"), [("float32", 2e-7), ("float64", 1e-15)])
def test_the_error_function_equals_scipy(dtype, off):
    x = np.linspace(-6, 6, 1001).astype(dtype)
    wanted = scipy.special.erf(x.astype("f8"))
    np.testing.assert_allclose(NUMPY.erf(x), wanted, atol=off, rtol=0)
    assert NUMPY.erf(x).dtype == dtype
