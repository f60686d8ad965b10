"""Parameters and buffers may be integers or booleans, or have a minimum precision."""

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom import nn
from seqloom.errors import DTypeError

BACKEND_NAMES = ["numpy", "torch", "jax"]


class Norm(nn.Module):
    weight: nn.Param
    var: nn.Buffer
    seen: nn.Buffer
    mask: nn.Buffer

    def __init__(self):
        self.weight = nn.Param((2,), nn.Fill(1.5))
        self.var = nn.Buffer((2,), nn.Fill(1.0), least_dtype="float32")
        self.seen = nn.Buffer((), nn.Fill(0), dtype="int64")
        self.mask = nn.Buffer((2,), nn.Fill(1), dtype="bool")

    def forward(self, x):
        self.seen.assign(self.seen.value + 1)
        self.mask.assign(x > 0)
        return (x * self.weight.value).sum()


def norm(name="numpy"):
    return Norm().bind(name, sl.Key(0))


def types(net):
    return [str(part.value.dtype) for _, part in net.named(nn.Param | nn.Buffer)]


def whole(name):
    return "int32" if name == "jax" else "int64"  # JAX uses 32-bit integers by default


@pytest.mark.parametrize("name", BACKEND_NAMES)
@pytest.mark.parametrize("first", [True, False], ids=["made before", "made after"])
def test_the_method_to_converts_only_floats_and_respects_least_dtype(name, first):
    net = norm(name)
    expected = ["float32", "float32", whole(name), "bool"]
    assert not first or types(net) == expected
    for dtype in ("float16", "bfloat16"):
        assert types(net.to(name, dtype)) == [dtype, *expected[1:]]
    assert types(net.to(name, "float32")) == expected


def test_to_float64_also_converts_arrays_with_a_least_dtype():
    assert types(norm().to("numpy", "float64")) == ["float64", "float64", "int64", "bool"]


def test_batch_counts_keep_their_dtype_like_in_pytorch():
    theirs = torch.nn.BatchNorm1d(2).half()
    assert theirs.num_batches_tracked.dtype == torch.int64
    assert types(norm("torch").to("torch", "float16"))[2] == "int64"


@pytest.mark.parametrize(
    ("name", "compiled"),
    [
        ("numpy", False),
        ("numpy", True),
        ("torch", False),
        pytest.param("torch", True, marks=pytest.mark.soak),  # PyTorch compiles for 10 s
        ("jax", False),
        ("jax", True),
    ],
)
def test_integer_and_boolean_buffers_are_updated_in_a_step(name, compiled):
    net = norm(name)

    def run(net, x):
        return nn.value_and_grad(lambda net, x: net(x))(net, x)[0]

    step = sl.tensor.compile(run) if compiled else run
    for _ in range(3):
        step(net, net.backend.tensor(np.array([-1.0, 2.0], np.float32)))
    assert (net.seen.value.item(), net.mask.numpy().tolist()) == (3, [False, True])
    assert types(net)[2:] == [whole(name), "bool"]


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_integer_and_boolean_buffers_survive_records_copies_and_moves(name):
    net = norm(name)
    net.seen.assign(7)
    net.mask.assign([True, False])
    other = norm(name).load_record(net.to_record())
    for same in (other, copy.deepcopy(net), pickle.loads(pickle.dumps(net))):  # noqa: S301  # our own bytes
        assert (same.seen.value.item(), same.mask.numpy().tolist()) == (7, [True, False])
        assert types(same)[2:] == types(net)[2:]
    assert types(net.to("numpy"))[2:] == ["int64", "bool"]


def test_filling_a_parameter_is_exact_in_its_dtype():
    wide = nn.Param((1,), nn.Fill(0.1), dtype="float64")
    count = nn.Buffer((1,), nn.Fill(2**53 + 1), dtype="int64")
    for part in (wide, count):
        part.bind("", sl.tensor.backend("numpy"), sl.Key(0))
    assert (wide.numpy()[0], count.numpy()[0]) == (0.1, 2**53 + 1)


@pytest.mark.parametrize("value", [0.5, -1, 300])
def test_filling_a_parameter_rejects_numbers_that_its_dtype_cannot_represent(value):
    part = nn.Buffer((1,), nn.Fill(value), dtype="uint8")
    part.bind("", sl.tensor.backend("numpy"), sl.Key(0))
    with pytest.raises(DTypeError, match=r"Fill.*uint8 cannot hold"):
        part.numpy()


def test_a_custom_initialiser_may_take_the_dtype_as_argument():
    def plain(backend, key, shape):
        return backend.ones(shape)

    def typed(backend, key, shape, *, dtype):
        return backend.full(shape, 3, dtype=dtype)

    cases: list[Any] = [(plain, 1), (typed, 3)]
    for initial, expected in cases:
        part = nn.Buffer((1,), initial, dtype="int32")
        part.bind("", sl.tensor.backend("numpy"), sl.Key(0))
        assert (part.numpy().tolist(), part.numpy().dtype) == ([expected], "int32")


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_an_integer_buffer_rejects_fractions(name):
    net = norm(name)
    with pytest.raises(DTypeError, match=r"seen.*holds float32, expected int64.*astype"):
        net.seen.assign(net.seen.value * 0.5)
    with pytest.raises(DTypeError, match=r"seen.*holds 0\.5"):
        net.seen.assign(0.5)
    assert net.seen.value.item() == 0


INVALID_PARAMETERS: dict[str, Any] = {
    "dtype of a Param must be a float type.*use a Buffer": {"dtype": "int64"},
    "dtype must be the name of an element type.*'float7'": {"dtype": "float7"},
    "dtype must be the name of an element type.*'str'": {"dtype": "str"},
    "least_dtype must be a float type.*'int8'": {"least_dtype": "int8"},
    "least_dtype='float64' needs a float type that is at least": {"least_dtype": "float64"},
    "got dtype='complex64'": {"dtype": "complex64", "least_dtype": "float32"},
}


@pytest.mark.parametrize("message", INVALID_PARAMETERS)
def test_dtypes_that_parameters_cannot_have_are_rejected(message):
    with pytest.raises(DTypeError, match=message):
        nn.Param((1,), nn.Fill(0), **INVALID_PARAMETERS[message])


def test_a_dtype_may_be_a_numpy_dtype():
    assert nn.Buffer((1,), nn.Fill(0), dtype=np.int16).dtype == "int16"  # pyright: ignore[reportArgumentType]


def test_complex_parameters_keep_their_dtype():
    imaginary: Any = 1j
    part = nn.Param((1,), nn.Fill(imaginary), dtype="complex64")
    part.bind("", sl.tensor.backend("numpy"), sl.Key(0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        part.move(sl.tensor.backend("numpy"), "float16")
    assert part.numpy().tolist() == [1j]
    assert (part.least_dtype, part.dtype) == (None, "complex64")
