"""The memory of a batch is reused after all views of the memory are deleted."""

import numpy as np
import pytest
import torch

from seqloom._rust import _native
from seqloom.errors import MemoryLimitError


def _address(array):
    return array.__array_interface__["data"][0]


def test_memory_is_reused_after_the_last_view_is_deleted():
    memory = _native.BatchMemory()
    first = memory.take(1000)
    where = _address(first)
    view = first.view(np.float32)[:200].reshape(2, 100)[1:]
    del first
    assert len(memory) == 0
    del view
    assert _address(memory.take(1000)) == where


def test_a_tensor_keeps_shared_memory_alive():
    memory = _native.BatchMemory()
    tensor = torch.from_numpy(memory.take(64))
    tensor.fill_(7)
    other = memory.take(64)
    other[:] = 0
    assert tensor.tolist() == [7] * 64


def test_batches_in_use_never_share_memory():
    memory = _native.BatchMemory()
    kept = [memory.take(100) for _ in range(50)]
    for number, array in enumerate(kept):
        array[:] = number
    assert [int(array.max()) for array in kept] == list(range(50))


def test_an_array_is_aligned_to_cache_lines_and_writable():
    memory = _native.BatchMemory()
    arrays = [memory.take(size) for size in (0, 1, 63, 64, 65)]
    assert [array.size for array in arrays] == [0, 1, 63, 64, 65]
    assert all(_address(array) % 64 == 0 and array.flags.writeable for array in arrays)


def test_a_batch_larger_than_memory_is_an_error():
    with pytest.raises(MemoryLimitError, match="does not fit into memory"):
        _native.BatchMemory().take(1 << 62)
