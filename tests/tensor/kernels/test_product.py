"""Matrix products on the NumPy backend, computed by BLAS or in Rust."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from kernel_oracle import normal
from seqloom._rust import _native
from seqloom.tensor import backend

NUMPY = backend("numpy", num_threads=1)
RANDOM_SIZES = st.integers(1, 70)


def product(x, y, threads=1):
    """Return the kernel's product of matrices, which may be transposed views."""
    out = np.full((len(x), x.shape[1], y.shape[2]), np.nan, x.dtype)
    left = (x, False) if x.flags.c_contiguous else (x.swapaxes(1, 2), True)
    right = (y, False) if y.flags.c_contiguous else (y.swapaxes(1, 2), True)
    _native.products(left, right, out, threads)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@settings(deadline=None, max_examples=50)
@given(
    batch=st.integers(1, 3),
    m=RANDOM_SIZES,
    k=st.integers(0, 900),
    n=RANDOM_SIZES,
    turned=st.integers(0, 3),
)
def test_the_product_kernel_equals_numpy(dtype, batch, m, k, n, turned):
    x, y = normal((batch, m, k), dtype), normal((batch, k, n), dtype, 1)
    if turned & 1:
        x = np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    if turned & 2:
        y = np.ascontiguousarray(y.swapaxes(1, 2)).swapaxes(1, 2)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    expected = np.matmul(x.astype(np.float64), y.astype(np.float64))
    np.testing.assert_allclose(product(x, y), expected, rtol=0, atol=tolerance * 10)


@pytest.mark.parametrize("shape", [(1, 100, 700, 90), (6, 64, 40, 64)])
def test_results_do_not_depend_on_the_number_of_threads(shape):
    batch, m, k, n = shape
    x, y = normal((batch, m, k), np.float32), normal((batch, k, n), np.float32, 1)
    one, *others = (product(x, y, threads).tobytes() for threads in (1, 2, 4))
    assert all(other == one for other in others)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 7), (7, 3)),
        ((4, 5, 7), (7, 3)),
        ((2, 1, 5, 7), (3, 7, 3)),
        ((7,), (7, 3)),
        ((5, 7), (7,)),
    ],
)
def test_matmul_broadcasts_as_in_numpy(left, right):
    x, y = normal(left, np.float64), normal(right, np.float64, 1)
    np.testing.assert_allclose(backend("numpy").matmul(x, y), x @ y, atol=1e-12)


def test_matmul_and_linear_can_write_to_an_output_array():
    x, weight = normal((2, 5, 7), np.float64), normal((3, 7), np.float64, 1)
    bias, out = normal((3,), np.float64, 2), np.empty((2, 5, 3))
    b: Any = backend("numpy")
    assert b.matmul(x, weight.T, out=out) is out
    np.testing.assert_allclose(out, x @ weight.T, atol=1e-12)
    b.linear(x, weight, bias, out=out)
    np.testing.assert_allclose(out, x @ weight.T + bias, atol=1e-12)


def test_unaligned_arrays_can_be_multiplied_and_added():
    x, y, bias = (normal(shape, np.float32) for shape in ((5, 7), (6, 7), (6,)))
    found = NUMPY.linear(*map(unaligned, (x, y, bias)))
    np.testing.assert_allclose(found, x @ y.T + bias, rtol=1e-5)


def unaligned(x):
    """Copy an array to an unaligned address."""
    memory = bytearray(x.nbytes + 1)
    copy = np.frombuffer(memory, x.dtype, x.size, offset=1).reshape(x.shape)
    copy[...] = x
    assert not copy.flags.aligned
    return copy


def test_a_strided_bias_is_added():
    x, y = normal((5, 7), np.float32), normal((6, 7), np.float32, 1)
    bias = normal((12,), np.float32)[::2]
    np.testing.assert_allclose(NUMPY.linear(x, y, bias), x @ y.T + bias, rtol=1e-5)


@pytest.mark.parametrize("narrow", [np.float16, ml_dtypes.bfloat16])
def test_half_precision_with_float32_is_promoted(narrow):
    x, y = normal((5, 7), np.float32), normal((7, 3), np.float32, 1).astype(narrow)
    expected = x @ y.astype(np.float32)
    for found in (NUMPY.matmul(x, y), NUMPY.matmul(y.T, x.T).T):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-5)
