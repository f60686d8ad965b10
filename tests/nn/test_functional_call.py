"""Tests of functional_call, which calls a module with other values of its parameters."""

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, ShapeError


def new_layer():
    return nn.Linear(2, 1).bind("numpy", sl.Key(0))


def test_functional_call_uses_the_values_and_does_not_change_the_module():
    layer = new_layer()
    before, x = layer.weight.numpy(), layer.backend.tensor([[1.0, 2.0]])
    found = nn.functional_call(layer, {"weight": x, "bias": x[0, :1]}, x)
    assert found.item() == 1 + 4 + 1
    np.testing.assert_array_equal(layer.weight.numpy(), before)


def test_functional_call_keeps_parameters_without_a_value():
    layer = new_layer()
    x = layer.backend.tensor([[0.0, 0.0]])
    found = nn.functional_call(layer, {"weight": x}, x)
    assert found.item() == layer.bias.numpy().item()


def test_gradients_flow_through_the_values_of_functional_call():
    layer = new_layer()
    x = layer.backend.tensor([[3.0, 4.0]])

    def loss(weight):
        return nn.functional_call(layer, {"weight": weight}, x).sum()

    assert sl.tensor.grad(loss)(x).tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize(
    ("values", "kind", "message"),
    [
        ({"weigth": [[1.0, 2.0]]}, ArgumentError, "no such parameter"),
        ({"weight": np.zeros((1, 2))}, ArgumentError, "must be a tensor, got ndarray"),
        ({"weight": None}, ShapeError, r"has shape \(2,\), but .* shape \(1, 2\)"),
    ],
)
def test_an_invalid_value_in_functional_call_is_an_error(values, kind, message):
    layer = new_layer()
    x = layer.backend.tensor([1.0, 2.0])
    values = {path: x if value is None else value for path, value in values.items()}
    with pytest.raises(kind, match=message):
        nn.functional_call(layer, values, x)
