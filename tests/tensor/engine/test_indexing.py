"""Indexing of tensors, and updates with ``x.at[key]``."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import seqloom as sl
from seqloom.errors import OutOfRangeError

B = sl.tensor.backend("numpy")
A = sl.tensor.Autodiff(B)
BACKENDS = ["numpy", "torch", "jax"]
VALUES = np.arange(24, dtype="f4").reshape(2, 3, 4)

KEYS = {
    "a number": 1,
    "a negative number": -1,
    "numbers": (1, 2, 3),
    "a slice": slice(1, None),
    "slices with steps": (slice(None), slice(None, None, 2), slice(0, 3, 2)),
    "an ellipsis": (..., 0),
    "a new axis": (None, 0, ..., None),
    "a list": [0, 1, 0],
    "an array": np.array([1, 0]),
    "two arrays": (np.array([0, 1]), np.array([2, 0])),
    "an array after a slice": (slice(None), np.array([2, 2, 0])),
    "an array and a number": (np.array([0, 1]), 1),
    "a mask": VALUES > 7,
    "a mask of rows": np.array([False, True]),
    "nothing": (),
    "an empty list": [],
}


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("key", KEYS)
def test_tensor_indexing_equals_numpy(name, key):
    pytest.importorskip(name)
    found = sl.tensor.backend(name).tensor(VALUES)[_supported_key(name, KEYS[key])]
    np.testing.assert_array_equal(found.numpy(), VALUES[KEYS[key]])


def _supported_key(name, key):
    """Convert an index key to types that JAX also supports."""
    if isinstance(key, tuple):
        return tuple(_supported_key(name, each) for each in key)
    whole = isinstance(key, np.ndarray) and key.dtype == np.int64
    return key.astype(np.int32) if whole else key


@pytest.mark.parametrize("name", BACKENDS)
def test_tensors_can_be_index_keys(name):
    backend = pytest.importorskip(name) and sl.tensor.backend(name)
    x = backend.tensor(VALUES)
    rows, one = backend.tensor(np.array([1, 0], np.int32)), backend.tensor(np.int32(2))
    np.testing.assert_array_equal(x[rows].numpy(), VALUES[[1, 0]])
    np.testing.assert_array_equal(x[:, :one].numpy(), VALUES[:, :2])
    np.testing.assert_array_equal(x[x > 3].numpy(), VALUES[VALUES > 3])


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("key", [2, -3, (0, 3), (..., 4), (0, 0, 0, 0)])
def test_an_index_beyond_the_size_is_an_error(name, key):
    pytest.importorskip(name)
    with pytest.raises(OutOfRangeError, match=r"\(2, 3, 4\)"):
        sl.tensor.backend(name).tensor(VALUES)[key]


@given(key=hnp.basic_indices((2, 3, 4), allow_newaxis=True), data=st.data())
def test_any_basic_index_equals_numpy(key, data):
    del data
    np.testing.assert_array_equal(B.tensor(VALUES)[key].numpy(), VALUES[key])


UPDATES: dict[str, Any] = {
    key: KEYS[key] for key in KEYS if key not in ("nothing", "an empty list")
}


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("key", UPDATES)
def test_at_set_leaves_the_old_tensor_unchanged(name, key):
    pytest.importorskip(name)
    x, expected = sl.tensor.backend(name).tensor(VALUES), VALUES.copy()
    expected[UPDATES[key]] = -1
    np.testing.assert_array_equal(
        x.at[_supported_key(name, UPDATES[key])].set(-1.0).numpy(), expected
    )
    np.testing.assert_array_equal(x.numpy(), VALUES)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("key", UPDATES)
def test_at_add_adds_each_value_of_a_repeated_index(name, key):
    pytest.importorskip(name)
    x, expected = sl.tensor.backend(name).tensor(VALUES), VALUES.copy()
    np.add.at(expected, UPDATES[key], 0.5)
    np.testing.assert_array_equal(
        x.at[_supported_key(name, UPDATES[key])].add(0.5).numpy(), expected
    )


def test_values_are_broadcast_and_converted_to_the_tensors_dtype():
    x = B.tensor(np.zeros((2, 3), "f4"))
    found = x.at[:, 1:].set(np.array([[1], [2]]))
    assert found.dtype == np.float32
    assert found.tolist() == [[0, 1, 1], [0, 2, 2]]


def test_at_updates_pass_gradients_to_values_and_tensor():
    x = A.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = A.tensor([10.0], requires_grad=True)
    weights = B.tensor([1.0, 10.0, 100.0])
    grads = (x.at[1:2].set(y) * weights).sum().backward()
    assert grads.wrt(x).tolist() == [1, 0, 100]
    assert grads.wrt(y).tolist() == [10]


def test_iteration_is_along_the_first_axis():
    assert [each.tolist() for each in B.tensor([[1.0], [2.0]])] == [[1], [2]]
