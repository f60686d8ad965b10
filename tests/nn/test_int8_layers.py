"""Tests of int8 linear layers, alone and as replacements in a network."""

from typing import Any

import numpy as np
import pytest

import int8_oracle as oracle
import seqloom as sl
from seqloom.errors import ArgumentError, DTypeError, RecordError, ShapeError
from seqloom.nn import Int8Linear, Linear, quantize_int8

INPUT_ARRAY = np.random.default_rng(0).standard_normal((50, 40)).astype("f4")
BACKEND_NAMES = ["numpy", "torch", "jax"]


def net(name="numpy", seed=0):
    layers: Any = [Linear(40, 64), sl.nn.GELU(), Linear(64, 10)]
    return sl.nn.Sequential(*layers).bind(name, sl.Key(seed)).eval()


def relative(found, exact):
    return np.linalg.norm(found - exact) / np.linalg.norm(exact)


def test_int8_weights_are_rounded_to_the_nearest_of_255_levels_per_row():
    layer = Linear(40, 64).bind("numpy", sl.Key(0))
    exact = layer.weight.numpy()
    rounded = Int8Linear.of(layer)
    steps = rounded.scale.numpy()[:, None]
    assert abs(rounded.weight.numpy()).max(axis=1).tolist() == [127] * 64
    assert (abs(rounded.weight.numpy() * steps - exact) <= steps * 0.5001).all()


def test_an_int8_layer_sums_integers_exactly():
    layer = Int8Linear.of(Linear(40, 64).bind("numpy", sl.Key(0)))
    arrays = [part.numpy() for _, part in layer.named(sl.nn.Buffer)]
    found = layer(layer.backend.tensor(INPUT_ARRAY)).numpy()
    np.testing.assert_array_equal(found, oracle.linear(INPUT_ARRAY, *arrays))


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_an_int8_layer_is_close_to_the_float_layer(name):
    layer = Linear(40, 64).bind(name, sl.Key(0))
    x = layer.backend.tensor(INPUT_ARRAY)
    assert relative(Int8Linear.of(layer)(x).numpy(), layer(x).numpy()) < 0.01


def test_an_int8_row_of_zero_weights_gives_the_bias():
    layer = Linear(3, 2).bind("numpy", sl.Key(0))
    layer.weight.assign([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])
    found = Int8Linear.of(layer)(layer.backend.tensor([[5.0, 6.0, 7.0]])).numpy()
    assert found[0, 0] == layer.bias.numpy()[0]


def make_uneven(name="numpy"):
    """Return a network, and sample inputs with some channels far larger than others."""
    module, x = net(name), INPUT_ARRAY.copy()
    x[:, ::9] *= 80
    weight = module.layers[0].weight.numpy()
    weight[:, ::9] /= 80
    module.layers[0].weight.assign(weight)
    return module, x


@pytest.mark.parametrize("name", BACKEND_NAMES)
def test_calibration_with_sample_inputs_balances_large_channels(name):
    module, x = make_uneven(name)
    x = module.backend.tensor(x)
    exact = module(x).numpy()
    blind, _ = make_uneven(name)
    quantize_int8(blind)
    quantize_int8(module, x)
    assert relative(module(x).numpy(), exact) < 0.015
    if name != "jax":  # JAX does not round the inputs
        assert relative(blind(x).numpy(), exact) > 0.03


def test_calibration_does_not_change_the_module_if_it_fails():
    module = net()
    before = module.to_record()
    with pytest.raises(ShapeError):
        quantize_int8(module, module.backend.tensor(INPUT_ARRAY[:, :3]))
    assert all(type(layer) is not Int8Linear for layer in module.layers)
    assert [*module.to_record()] == [*before]


def test_quantize_int8_keeps_custom_and_excluded_layers():
    class Own(Linear):
        """A layer defined by a user."""

        def __init__(self):
            Linear.__init__(self, 4, 4)

    class Net(sl.nn.Module):
        first: Linear
        parts: dict[str, Linear]
        last: Own

        def __init__(self):
            self.first, self.last = Linear(4, 4), Own()
            self.parts = {"a": Linear(4, 4), "b.c": Linear(4, 4)}

    module = Net().bind("numpy", sl.Key(0))
    module.parts.pop("b.c")
    quantize_int8(module, targets=("parts.*", "last"))
    assert type(module.first) is Linear
    assert type(module.parts["a"]) is Int8Linear
    assert type(module.last) is Own


def test_a_quantised_record_loads_into_an_equally_quantised_module(tmp_path):
    module, other = net(), net(seed=5)
    quantize_int8(module, module.backend.tensor(INPUT_ARRAY))
    module.to_record().save(tmp_path / "net.safetensors")
    quantize_int8(other)
    other.load_record(sl.record.load(tmp_path / "net.safetensors"))
    x = module.backend.tensor(INPUT_ARRAY)
    np.testing.assert_array_equal(other(x).numpy(), module(x).numpy())
    assert other.layers[0].weight.value.dtype == np.int8


def test_an_int8_record_needs_a_quarter_of_the_bytes_of_float32():
    def count(module):
        return sum(np.asarray(array).nbytes for array in module.to_record().values())

    module: Any = sl.nn.Sequential(Linear(400, 400)).bind("numpy", sl.Key(0))
    before = count(module)
    quantize_int8(module)
    assert count(module) < 0.26 * before


def test_an_int8_module_has_no_trainable_parameters():
    module = net()
    quantize_int8(module)
    assert module.parameters() == []
    assert module.training is False


def test_attention_layers_accept_int8_layers():
    module = sl.nn.TransformerEncoderLayer(32, 4, 64)
    module = module.bind("numpy", sl.Key(0)).eval()
    x = module.backend.tensor(np.random.default_rng(0).standard_normal((2, 7, 32), "f4"))
    exact = module(x).numpy()
    quantize_int8(module, x)
    assert 0 < relative(module(x).numpy(), exact) < 0.02


@pytest.mark.parametrize(
    ("attempt", "error", "words"),
    [
        (lambda: quantize_int8(net(), targets="head"), ArgumentError, "targets='head'"),
        (
            lambda: quantize_int8(Linear(2, 2).bind("numpy", 0)),
            ArgumentError,
            "no linear layer of Linear",
        ),
        (lambda: quantize_int8(sl.nn.Sequential(Linear(2, 2))), RecordError, "bind"),
        (lambda: Int8Linear(1 << 17, 2), ArgumentError, "at most 65536"),
        (lambda: Int8Linear.of(broken()), ArgumentError, "NaN or an infinity"),
        (
            lambda: Int8Linear.of(Linear(2, 2).bind("numpy", 0), [1.0]),
            ArgumentError,
            "largest must be 2 finite numbers",
        ),
        (
            lambda: small()(small().backend.zeros((3, 5))),
            ShapeError,
            r"expected x of shape \(\.\.\., 2\), got \(3, 5\)",
        ),
        (
            lambda: small()(small().backend.asarray([[1, 2]])),
            DTypeError,
            "expected floats",
        ),
    ],
    ids=["targets", "alone", "unbound", "deep", "nan", "largest", "shape", "whole"],
)
def test_invalid_int8_arguments_raise_a_clear_error(attempt, error, words):
    with pytest.raises(error, match=words):
        attempt()


def small():
    return Int8Linear.of(Linear(2, 2).bind("numpy", sl.Key(0)))


def broken():
    layer = Linear(2, 2).bind("numpy", sl.Key(0))
    layer.weight.assign([[np.nan, 0.0], [0.0, 0.0]])
    return layer
