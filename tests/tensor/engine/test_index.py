"""Lists as indices: integers or booleans, in range, the same on every backend."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DTypeError, OutOfRangeError, ShapeError

VALUES = np.array([1, 2, 3], np.float32)


@pytest.fixture(params=["numpy", "torch", "jax"])
def x(request):
    """Three numbers on each backend."""
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param).tensor(VALUES)


@pytest.mark.parametrize(
    "key", [[0, 2], [-3, 2], [], [[0, 1], [2, 2]], [True, False, True], ([1],)]
)
def test_a_list_is_an_index_as_in_numpy(x, key):
    # NumPy alone takes an empty list as integers only where it stands by itself.
    np.testing.assert_array_equal(x[key].numpy(), VALUES[key])


@pytest.mark.parametrize("number", [2**32 + 1, 2**32, -(2**32), 3, -4])
def test_a_number_of_a_list_beyond_the_axis_is_refused(x, number):
    with pytest.raises(OutOfRangeError, match=rf"index {number} .*\(3,\)"):
        x[[number]]


def test_places_to_replace_do_not_wrap_around(x):
    with pytest.raises(OutOfRangeError, match="4294967296"):
        x.at[[2**32]].set(0.0)


def test_a_list_is_checked_against_its_own_axis(x):
    wide = x.reshape(1, 3)
    assert wide[..., [2]].tolist() == wide[None, 0, [2]].tolist() == [[3]]
    with pytest.raises(OutOfRangeError, match="index 2"):
        wide[[2]]


@pytest.mark.parametrize("key", [[1.9], ["1"], [None], [2**70]])
def test_a_list_of_other_things_is_no_index(x, key):
    with pytest.raises(DTypeError, match="integers or booleans"):
        x[key]


def test_a_ragged_list_is_no_index(x):
    with pytest.raises(ShapeError, match="of the same length"):
        x[[[0, 1], [2]]]
