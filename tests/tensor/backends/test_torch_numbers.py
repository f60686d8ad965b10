"""Integers and dtypes that PyTorch does not support are errors."""

import numpy as np
import pytest

from seqloom.errors import DTypeError, NumberRangeError
from seqloom.tensor import backend

pytest.importorskip("torch")
TORCH = backend("torch")


@pytest.mark.parametrize("number", [2**40, -(2**31) - 1])
def test_a_python_integer_outside_the_torch_type_is_an_error(number):
    x = TORCH.tensor(np.array([1], np.int32))
    with pytest.raises(NumberRangeError, match="out of range for int32"):
        x + number
    with pytest.raises(NumberRangeError, match="out of range for int32"):
        number - x


def test_the_largest_number_of_a_type_is_accepted():
    x = TORCH.tensor(np.array([1], np.int32))
    assert (x + -(2**31)).numpy().tolist() == [1 - 2**31]


def test_an_unsupported_torch_type_is_an_error_that_names_it():
    with pytest.raises(DTypeError, match="'letters'"):
        TORCH.zeros((1,), dtype="letters")
