"""Tensors accept numbers in any byte order, and store them in native byte order."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DTypeError, ShapeError

BACKEND_NAMES = ["numpy", "torch", "jax"]


@pytest.fixture(params=BACKEND_NAMES)
def backend(request):
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)


def test_data_in_non_native_byte_order_are_converted(backend):
    swapped = np.array([[1.5, -2.0], [0.25, 4.0]], ">f4")
    x = backend.tensor(swapped)
    assert x.dtype.isnative
    np.testing.assert_array_equal((x @ x).numpy(), swapped @ swapped)


def test_a_dtype_in_non_native_byte_order_becomes_native():
    assert sl.tensor.backend("numpy").tensor([1.0], dtype=">f4").dtype.isnative


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "complex64", "bool", "uint8"])
def test_every_number_type_is_accepted_unchanged(kind):
    plain = sl.tensor.backend("numpy")
    assert plain.tensor(plain.ones((2,), dtype=kind)).dtype == np.dtype(kind)


@pytest.mark.parametrize(
    "data",
    [
        np.array([object()]),
        np.array(["a"]),
        np.array([b"a"]),
        np.array([(1, 2.0)], "i4,f4"),
        np.array(["2020-01-01"], "M8[D]"),
        "text",
        None,
        [1.0, None],
        2**70,
    ],
    ids=[
        "objects",
        "texts",
        "bytes",
        "a table",
        "dates",
        "text",
        "None",
        "a list",
        "2**70",
    ],
)
def test_data_that_are_not_numeric_are_an_error(backend, data):
    with pytest.raises(DTypeError, match="numbers or booleans"):
        backend.tensor(data)


def test_non_numeric_data_are_an_error_on_an_autodiff_level():
    with pytest.raises(DTypeError, match="numbers or booleans"):
        sl.tensor.Autodiff(sl.tensor.backend("numpy")).tensor("text")


def test_ragged_lists_are_an_error(backend):
    with pytest.raises(ShapeError, match="tensor"):
        backend.tensor([[1.0], [2.0, 3.0]])


def test_an_unknown_dtype_is_an_error():
    with pytest.raises(DTypeError, match="nonsense"):
        sl.tensor.backend("numpy").tensor([1.0], dtype="nonsense")
