"""How backends are found by name, and the attributes of every backend."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from backend_oracle import everywhere, found
from seqloom.errors import BackendError, MissingExtraError
from seqloom.tensor import backend


@pytest.mark.parametrize("name", ["numpy", "torch", "jax", "torch:cpu"])
def test_a_backend_name_always_returns_the_same_object(name):
    assert backend(name) is backend(name)
    assert backend(name).name.partition(":")[0] == name.partition(":")[0]


def test_the_name_of_the_default_device_returns_the_same_backend():
    assert backend("torch:cpu", num_threads=1) is backend("torch", num_threads=1)


def test_an_unknown_backend_error_lists_installed_backends():
    with pytest.raises(BackendError, match="installed are jax, numpy, torch"):
        backend("nmupy")


@pytest.mark.parametrize(
    "name", ["numpy:gpu", "torch:nothing", "jax:nothing", "jax:cpu:99"]
)
def test_an_unknown_device_is_an_error_that_names_it(name):
    with pytest.raises(BackendError, match=repr(name.partition(":")[2])):
        backend(name)


MISSING_LIBRARY_SCRIPT = """
import sys
sys.modules["torch"] = None
from seqloom.tensor import backend
try:
    backend("torch")
except ImportError as error:
    print(type(error).__name__, error)
"""


def test_a_missing_library_is_an_error_that_names_the_package():
    command = [sys.executable, "-c", MISSING_LIBRARY_SCRIPT]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert out.startswith(MissingExtraError.__name__)
    assert "pip install torch" in out


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_an_unpickled_backend_is_the_same_object(name):
    assert pickle.loads(pickle.dumps(backend(name))) is backend(name)  # noqa: S301


@everywhere
def test_every_backend_has_all_required_functions(name):
    b = found(name)
    assert [each for each in b.required if not callable(getattr(b, each, None))] == []


@everywhere
def test_backends_report_type_and_size_of_arrays(name):
    b = found(name)
    x = b.ones((2, 3))
    assert b.dtype(x) == np.float32
    assert b.nbytes(x) == 24
    assert b.to_full_precision(x) is x
    b.sync()


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_half_precision_can_be_converted_to_full_precision(name):
    b = found(name)
    x = b.asarray([1.0, 2.5], dtype="bfloat16")
    assert b.dtype(x).name == "bfloat16"
    assert b.nbytes(x) == 4
    for made in (b.add(x, 1.5), b.multiply(x, x), b.relu(x), b.softmax(x), b.sum(x)):
        assert b.dtype(made).name == "bfloat16"
    full = b.to_full_precision(x)
    assert b.dtype(full) == np.float32
    assert np.asarray(b.to_numpy(full)).tolist() == [1.0, 2.5]


@pytest.mark.parametrize("source", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("target", ["numpy", "torch", "jax"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "bool"])
def test_an_array_moves_between_backends(source, target, dtype):
    one, other = found(source), found(target)
    x = one.asarray(np.array([[0, 1], [1, 1]]).astype(np.dtype(dtype)))
    moved = other.adopt(x, one)
    assert other.dtype(moved) == np.dtype(dtype)
    assert np.asarray(other.to_numpy(moved)).astype(int).tolist() == [[0, 1], [1, 1]]


def test_jax_without_64_bits_names_the_setting():
    b = backend("jax")
    for make in (
        lambda: b.zeros((2,), dtype="float64"),
        lambda: b.asarray(np.zeros(2)),
        lambda: b.astype(b.ones((2,)), "int64"),
    ):
        with pytest.raises(BackendError, match="jax_enable_x64"):
            make()


def test_the_torch_backend_records_no_autograd_graph():
    torch = pytest.importorskip("torch")
    b = backend("torch")
    x = b.asarray(torch.ones(2, requires_grad=True))
    assert not b.exp(x).requires_grad
