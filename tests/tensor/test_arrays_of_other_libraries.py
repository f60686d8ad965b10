"""Mixing a tensor with an array of another library raises a helpful error."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError

torch = pytest.importorskip("torch")

MIXED_OPERATIONS = {
    "times": lambda x, array: x * array,
    "a matrix product": lambda x, array: x @ array,
    "a layer": lambda x, array: sl.nn.Linear(2, 2).bind(x.backend, sl.Key(0))(array),
    "a function": lambda x, array: sl.tensor.where(x > 0, x, array),
}


@pytest.mark.parametrize("way", MIXED_OPERATIONS)
def test_a_torch_array_with_numpy_tensors_is_an_error_that_names_it(way):
    x = sl.tensor.backend("numpy").tensor(np.ones((2, 2), np.float32))
    with pytest.raises(BackendError, match=r"a torch array \(Tensor\).*backend\.tensor"):
        MIXED_OPERATIONS[way](x, torch.ones(2, 2))
