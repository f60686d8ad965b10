"""Without 64-bit support, JAX accepts 64-bit integers only if 32 bits suffice."""

import numpy as np
import pytest

from seqloom.errors import BackendError, DTypeError
from seqloom.nn import functional as F
from seqloom.tensor import backend

pytest.importorskip("jax")
JAX_BACKEND = backend("jax")
THREE_ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_int64_indices_and_labels_are_accepted():
    x, places = JAX_BACKEND.tensor(THREE_ROWS), np.array([2, 0])
    np.testing.assert_array_equal(x[places].numpy(), THREE_ROWS[places])
    np.testing.assert_array_equal(F.embedding(places, x).numpy(), THREE_ROWS[places])


def test_one_hot_has_the_default_integer_type():
    found = F.one_hot(JAX_BACKEND.tensor([0, 2]), 3)
    assert found.numpy().tolist() == [[1, 0, 0], [0, 0, 1]]


def test_numbers_beyond_32_bits_are_an_error_on_jax():
    with pytest.raises(BackendError, match="no int64 unless"):
        JAX_BACKEND.tensor(np.array([2**40]))


def test_complex64_is_allowed_without_64_bits():
    assert JAX_BACKEND.tensor(np.array([1j], np.complex64)).dtype == np.complex64


def test_data_that_are_not_numbers_are_an_error():
    with pytest.raises(DTypeError, match="numbers or booleans"):
        JAX_BACKEND.asarray(np.array([object()]))
