"""Whole numbers of 64 bits on jax without them: taken where they fit, refused elsewhere."""

import numpy as np
import pytest

from seqloom.errors import BackendError, DTypeError
from seqloom.nn import functional as F
from seqloom.tensor import backend

pytest.importorskip("jax")
B = backend("jax")
ROWS = np.arange(12, dtype=np.float32).reshape(3, 4)


def test_numpys_indices_and_labels_of_64_bits_are_taken():
    x, places = B.tensor(ROWS), np.array([2, 0])
    np.testing.assert_array_equal(x[places].numpy(), ROWS[places])
    np.testing.assert_array_equal(F.embedding(places, x).numpy(), ROWS[places])


def test_one_hot_has_the_librarys_own_whole_numbers():
    found = F.one_hot(B.tensor([0, 2]), 3)
    assert found.numpy().tolist() == [[1, 0, 0], [0, 0, 1]]


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(BackendError, match="no int64 unless"):
        B.tensor(np.array([2**40]))


def test_complex64_is_no_type_of_64_bits():
    assert B.tensor(np.array([1j], np.complex64)).dtype == np.complex64


def test_what_is_no_number_is_refused_as_such():
    with pytest.raises(DTypeError, match="numbers or booleans"):
        B.asarray(np.array([object()]))
