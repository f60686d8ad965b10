"""NumPy functions on tensors return arrays of the values, or raise an error."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl

INPUT_ARRAY = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, 0.0]], "float32")
NUMPY_FUNCTIONS = {
    "sum": lambda x: np.sum(x, axis=0),
    "mean": np.mean,
    "std": lambda x: np.std(x, axis=1),
    "max": np.max,
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack((x, x)),
    "where": lambda x: np.where(x > 0, x, 0),
    "median": np.median,
    "sort": np.sort,
    "percentile": lambda x: np.percentile(x, 30),
    "count_nonzero": np.count_nonzero,
    "zeros_like": np.zeros_like,
}
libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])


def tensor(library):
    pytest.importorskip(library)
    return sl.tensor.backend(library).tensor(INPUT_ARRAY)


@libraries
@pytest.mark.parametrize("name", NUMPY_FUNCTIONS)
def test_numpy_functions_of_tensors_equal_those_of_arrays(library, name):
    found, wanted = (
        NUMPY_FUNCTIONS[name](tensor(library)),
        NUMPY_FUNCTIONS[name](INPUT_ARRAY),
    )
    assert type(found) is type(wanted)
    np.testing.assert_allclose(found, wanted)


@libraries
def test_numpy_functions_cannot_write_to_a_tensor(library):
    x: Any = tensor(library)
    for write in (
        lambda: np.copyto(x, 0),
        lambda: np.put(x, [0], 9.0),
        lambda: np.sum(INPUT_ARRAY, axis=0, out=x[0]),
    ):
        with pytest.raises((ValueError, TypeError)):
            write()
    np.testing.assert_array_equal(x.numpy(), INPUT_ARRAY)
    view = np.reshape(x, (3, 2))
    assert not view.flags.writeable


@libraries
@pytest.mark.parametrize("function", [np.sum, np.mean, lambda x: np.concatenate([x, x])])
def test_numpy_functions_of_tracked_tensors_are_an_error(library, function):
    pytest.importorskip(library)
    level = sl.tensor.Autodiff(sl.tensor.backend(library))
    x = level.tensor(INPUT_ARRAY, requires_grad=True)
    with pytest.raises(sl.errors.GradientError, match="lose the gradient"):
        function(x)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
