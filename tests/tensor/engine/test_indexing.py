"""Indexing of tensors, and updates with ``x.at[key]``."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp

import seqloom as sl
from seqloom.errors import OutOfRangeError

NUMPY = sl.tensor.backend("numpy")
AUTODIFF = sl.tensor.Autodiff(NUMPY)
BACKEND_NAMES = ["numpy", "torch", "jax"]
INPUT_ARRAY = np.arange(24, dtype="f4").reshape(2, 3, 4)

INDEX_KEYS = {
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
    "a mask": INPUT_ARRAY > 7,
    "a mask of rows": np.array([False, True]),
    "nothing": (),
    "an empty list": [],
}


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("key", INDEX_KEYS)
def test_tensor_indexing_equals_numpy(name, key):
    pytest.importorskip(name)
    found = sl.tensor.backend(name).tensor(INPUT_ARRAY)[
        _supported_key(name, INDEX_KEYS[key])
    ]
    np.testing.assert_array_equal(found.numpy(), INPUT_ARRAY[INDEX_KEYS[key]])


def _supported_key(name, key):
    """Convert an index key to types that JAX also supports."""
    if isinstance(key, tuple):
        return tuple(_supported_key(name, each) for each in key)
    whole = isinstance(key, np.ndarray) and key.dtype == np.int64
    return key.astype(np.int32) if whole else key


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_tensors_can_be_index_keys(name):
    backend = pytest.importorskip(name) and sl.tensor.backend(name)
    x = backend.tensor(INPUT_ARRAY)
    rows, one = backend.tensor(np.array([1, 0], np.int32)), backend.tensor(np.int32(2))
    np.testing.assert_array_equal(x[rows].numpy(), INPUT_ARRAY[[1, 0]])
    np.testing.assert_array_equal(x[:, :one].numpy(), INPUT_ARRAY[:, :2])
    np.testing.assert_array_equal(x[x > 3].numpy(), INPUT_ARRAY[INPUT_ARRAY > 3])


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("key", [2, -3, (0, 3), (..., 4), (0, 0, 0, 0)])
def test_an_index_beyond_the_size_is_an_error(name, key):
    pytest.importorskip(name)
    with pytest.raises(OutOfRangeError, match=r"\(2, 3, 4\)"):
        sl.tensor.backend(name).tensor(INPUT_ARRAY)[key]


@given(key=hnp.basic_indices((2, 3, 4), allow_newaxis=True), data=st.data())
def test_a_random_basic_index_selects_the_same_elements_as_in_numpy(key, data):
    del data
    np.testing.assert_array_equal(NUMPY.tensor(INPUT_ARRAY)[key].numpy(), INPUT_ARRAY[key])


UPDATE_KEYS: dict[str, Any] = {
    key: INDEX_KEYS[key] for key in INDEX_KEYS if key not in ("nothing", "an empty list")
}


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("key", UPDATE_KEYS)
def test_at_set_returns_a_new_tensor(name, key):
    pytest.importorskip(name)
    x, expected = sl.tensor.backend(name).tensor(INPUT_ARRAY), INPUT_ARRAY.copy()
    expected[UPDATE_KEYS[key]] = -1
    np.testing.assert_array_equal(
        x.at[_supported_key(name, UPDATE_KEYS[key])].set(-1.0).numpy(), expected
    )
    np.testing.assert_array_equal(x.numpy(), INPUT_ARRAY)


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("key", UPDATE_KEYS)
def test_at_add_adds_each_value_of_a_repeated_index(name, key):
    pytest.importorskip(name)
    x, expected = sl.tensor.backend(name).tensor(INPUT_ARRAY), INPUT_ARRAY.copy()
    np.add.at(expected, UPDATE_KEYS[key], 0.5)
    np.testing.assert_array_equal(
        x.at[_supported_key(name, UPDATE_KEYS[key])].add(0.5).numpy(), expected
    )


def test_at_set_broadcasts_values_and_converts_them_to_the_tensors_dtype():
    x = NUMPY.tensor(np.zeros((2, 3), "f4"))
    found = x.at[:, 1:].set(np.array([[1], [2]]))
    assert found.dtype == np.float32
    assert found.tolist() == [[0, 1, 1], [0, 2, 2]]


def test_gradients_of_at_set_and_at_add_reach_values_and_tensor():
    x = AUTODIFF.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = AUTODIFF.tensor([10.0], requires_grad=True)
    weights = NUMPY.tensor([1.0, 10.0, 100.0])
    grads = (x.at[1:2].set(y) * weights).sum().backward()
    assert grads.wrt(x).tolist() == [1, 0, 100]
    assert grads.wrt(y).tolist() == [10]


def test_iterating_over_a_tensor_returns_its_rows():
    assert [each.tolist() for each in NUMPY.tensor([[1.0], [2.0]])] == [[1], [2]]
