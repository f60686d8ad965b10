"""A large result reuses the memory of an old result whose last view was freed."""

import numpy as np
import pytest

from seqloom.tensor import backend
from seqloom.tensor._families._numpy_arrays import BlockCache

NUMPY = backend("numpy", num_threads=1)
LARGE_SHAPE = (600, 700)


def test_memory_is_reused_after_the_last_view_is_deleted():
    blocks = BlockCache()
    array = blocks.allocate(LARGE_SHAPE, "float32")
    start, view = array.ctypes.data, array[3:].T
    del array
    assert blocks.idle_bytes == 0
    del view
    assert blocks.used_bytes == 0 < blocks.idle_bytes
    assert blocks.allocate(LARGE_SHAPE, "float32").ctypes.data == start


def test_the_memory_of_a_live_array_is_never_reused():
    blocks = BlockCache()
    held = [blocks.allocate(LARGE_SHAPE, "float64") for _ in range(3)]
    for number, array in enumerate(held):
        array.fill(number)
    assert [array.mean() for array in held] == [0, 1, 2]


def test_the_cache_of_array_memory_is_limited_to_1_5_times_the_peak():
    blocks = BlockCache()
    for rows in range(300, 900, 7):
        blocks.allocate((rows, 700), "float32")
        assert blocks.used_bytes + blocks.idle_bytes <= 1.5 * 900 * 700 * 4 * 9 / 8


def test_small_arrays_are_allocated_by_numpy():
    assert BlockCache().allocate((4, 4), "float32").base is None


def test_the_cache_of_array_memory_can_be_emptied():
    blocks = BlockCache()
    blocks.allocate(LARGE_SHAPE, "float32")
    blocks.free_blocks()
    assert blocks.idle_bytes == 0


@pytest.mark.parametrize(
    "name", ["add", "multiply", "maximum", "subtract", "divide", "pow"]
)
def test_functions_of_large_arrays_equal_numpy(name):
    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 2, LARGE_SHAPE)
    for y in (
        rng.uniform(0.5, 2, LARGE_SHAPE),
        rng.uniform(0.5, 2, 700),
        2.0,
        np.asarray(2.0),
    ):
        np.testing.assert_array_equal(getattr(NUMPY, name)(x, y), getattr(np, name)(x, y))


def test_large_arrays_are_promoted_and_broadcast_as_in_numpy():
    x = np.ones(LARGE_SHAPE, np.float32)
    for y in (
        np.ones(LARGE_SHAPE),
        np.ones((2, 1, 1), np.float32),
        np.ones(LARGE_SHAPE, np.bool_),
    ):
        found, wanted = NUMPY.add(x, y), np.add(x, y)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
