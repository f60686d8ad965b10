"""Whole numbers and element types that torch does not have are refused, not wrapped."""

import numpy as np
import pytest

from seqloom.errors import DTypeError, NumberRangeError
from seqloom.tensor import backend

pytest.importorskip("torch")
B = backend("torch")


@pytest.mark.parametrize("number", [2**40, -(2**31) - 1])
def test_a_number_beyond_the_type_it_meets_is_refused(number):
    x = B.tensor(np.array([1], np.int32))
    with pytest.raises(NumberRangeError, match="out of range for int32"):
        x + number
    with pytest.raises(NumberRangeError, match="out of range for int32"):
        number - x


def test_a_number_at_the_end_of_the_type_is_taken():
    x = B.tensor(np.array([1], np.int32))
    assert (x + -(2**31)).numpy().tolist() == [1 - 2**31]


def test_an_element_type_that_torch_lacks_is_named():
    with pytest.raises(DTypeError, match="'letters'"):
        B.zeros((1,), dtype="letters")
