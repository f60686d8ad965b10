"""An error in a running compiled step contains the operation and its line."""

import numpy as np
import pytest

import seqloom as sl
import seqloom.nn.functional as F
from seqloom.errors import MemoryLimitError, OutOfRangeError

NUMPY = sl.tensor.backend("numpy")


def test_an_index_out_of_range_names_the_operation_and_its_line():
    def take(x, places):
        return x[places] * 2

    line = take.__code__.co_firstlineno + 1
    with pytest.raises(
        OutOfRangeError, match=rf"test_errors_at_run.py:{line}: index\(float32\[2\].*7"
    ):
        sl.tensor.compile(take)(NUMPY.tensor([1.0, 2.0]), NUMPY.tensor([0, 7]))


def test_an_embedding_of_a_missing_row_is_an_error_that_names_it():
    weight, ids = NUMPY.tensor(np.ones((3, 2), "f4")), NUMPY.tensor([0, 7])
    compiled = sl.tensor.compile(lambda weight, ids: F.embedding(ids, weight) * 2)
    with pytest.raises(OutOfRangeError, match=r"embedding\(float32\[3, 2\]"):
        compiled(weight, ids)


def test_a_compiled_step_can_be_called_again_after_an_error():
    compiled = sl.tensor.compile(lambda x, places: x[places] * 2)
    x = NUMPY.tensor([1.0, 2.0])
    with pytest.raises(OutOfRangeError):
        compiled(x, NUMPY.tensor([0, 7]))
    assert compiled(x, NUMPY.tensor([0, 1])).tolist() == [2, 4]


def test_a_result_that_is_too_large_is_a_memory_error():
    grow = sl.tensor.compile(lambda x: sl.tensor.apply("broadcast_to", x, (2**44, 3)) * 2)
    with pytest.raises(MemoryLimitError):
        grow(NUMPY.tensor([1.0, 2.0, 3.0]))
