"""Large results get memory that was used before, once the last view of it has died."""

import numpy as np
import pytest

from seqloom.tensor import backend
from seqloom.tensor._families._numpy_arrays import BlockCache

B = backend("numpy", num_threads=1)
LARGE = (600, 700)


def test_memory_comes_back_when_the_last_view_has_died():
    blocks = BlockCache()
    array = blocks.fresh(LARGE, "float32")
    start, view = array.ctypes.data, array[3:].T
    del array
    assert blocks.idle == 0
    del view
    assert blocks.live == 0 < blocks.idle
    assert blocks.fresh(LARGE, "float32").ctypes.data == start


def test_an_array_that_is_held_is_never_lent_again():
    blocks = BlockCache()
    held = [blocks.fresh(LARGE, "float64") for _ in range(3)]
    for number, array in enumerate(held):
        array.fill(number)
    assert [array.mean() for array in held] == [0, 1, 2]


def test_half_as_much_again_is_kept_as_was_in_use_at_a_time_and_no_more():
    blocks = BlockCache()
    for rows in range(300, 900, 7):
        blocks.fresh((rows, 700), "float32")
        assert blocks.live + blocks.idle <= 1.5 * 900 * 700 * 4 * 9 / 8


def test_small_arrays_are_numpys_own():
    assert BlockCache().fresh((4, 4), "float32").base is None


def test_what_waits_can_be_let_go():
    blocks = BlockCache()
    blocks.fresh(LARGE, "float32")
    blocks.drain()
    assert blocks.idle == 0


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "subtract", "divide", "pow"]
)
def test_a_function_of_large_arrays_is_numpys(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, LARGE)
    for y in (rng.uniform(0.5, 2, LARGE), rng.uniform(0.5, 2, 700), 2.0, np.asarray(2.0)):
        np.testing.assert_array_equal(getattr(B, name)(x, y), getattr(np, name)(x, y))


def test_floats_are_promoted_and_shapes_broadcast_as_by_numpy():
    x = np.ones(LARGE, np.float32)
    for y in (np.ones(LARGE), np.ones((2, 1, 1), np.float32), np.ones(LARGE, np.bool_)):
        found, wanted = B.add(x, y), np.add(x, y)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
