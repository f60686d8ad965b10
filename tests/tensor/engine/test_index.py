"""Index lists must contain booleans or integers in range, on every backend."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DTypeError, OutOfRangeError, ShapeError

INPUT_ARRAY = np.array([1, 2, 3], np.float32)


@pytest.fixture(params=["numpy", "torch", "jax"])
def x(request):
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param).tensor(INPUT_ARRAY)


@pytest.mark.parametrize(
    "key", [[0, 2], [-3, 2], [], [[0, 1], [2, 2]], [True, False, True], ([1],)]
)
def test_a_list_is_an_index_as_in_numpy(x, key):
    # NumPy accepts an empty list only if it is the whole index.
    np.testing.assert_array_equal(x[key].numpy(), INPUT_ARRAY[key])


@pytest.mark.parametrize("number", [2**32 + 1, 2**32, -(2**32), 3, -4])
def test_an_index_in_a_list_beyond_the_axis_is_an_error(x, number):
    with pytest.raises(OutOfRangeError, match=rf"index {number} .*\(3,\)"):
        x[[number]]


def test_an_update_at_an_index_beyond_32_bits_is_an_error(x):
    with pytest.raises(OutOfRangeError, match="4294967296"):
        x.at[[2**32]].set(0.0)


def test_each_index_list_is_checked_against_its_axis(x):
    wide = x.reshape(1, 3)
    assert wide[..., [2]].tolist() == wide[None, 0, [2]].tolist() == [[3]]
    with pytest.raises(OutOfRangeError, match="index 2"):
        wide[[2]]


@pytest.mark.parametrize("key", [[1.9], ["1"], [None], [2**70]])
def test_a_list_of_non_integers_as_index_is_an_error(x, key):
    with pytest.raises(DTypeError, match="integers or booleans"):
        x[key]


def test_a_ragged_list_as_index_is_an_error(x):
    with pytest.raises(ShapeError, match="of the same length"):
        x[[[0, 1], [2]]]
