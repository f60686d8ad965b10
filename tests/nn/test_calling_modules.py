"""Modules are called by __call__ or forward; a module without either raises an error."""

from typing import Any, cast

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError

NUMPY = sl.tensor.backend("numpy")
INPUT_TENSOR = NUMPY.tensor([[1.0, 2.0]])


class Forward(sl.nn.Module):
    linear: sl.nn.Linear

    def forward(self, x):
        return self.linear(x) * 2


class Keyed(sl.nn.Module):
    def forward(self, x, *, key=None):
        return x if key is None else x * 0


class Pair(sl.nn.Module):
    def __call__(self, x, mask):
        return x * mask


class Neither(sl.nn.Module):
    def logits(self, x):
        return x


def forward():
    return Forward(sl.nn.Linear(2, 2)).bind(NUMPY, sl.Key(0))


def test_a_module_that_defines_forward_can_be_called():
    net = forward()
    np.testing.assert_array_equal(
        net(INPUT_TENSOR).numpy(), net.forward(INPUT_TENSOR).numpy()
    )


def test_a_module_with_forward_is_a_layer_and_gets_a_key():
    net = sl.nn.Sequential(forward(), Keyed())
    np.testing.assert_array_equal(
        net(INPUT_TENSOR).numpy(), net.layers[0](INPUT_TENSOR).numpy()
    )
    assert net(INPUT_TENSOR, key=sl.Key(1)).numpy().tolist() == [[0, 0]]


def test_a_subclass_may_override_forward():
    class Deeper(Forward):
        def forward(self, x):
            return super().forward(x) + 1

    net = Deeper(sl.nn.Linear(2, 2)).bind(NUMPY, sl.Key(0))
    np.testing.assert_array_equal(
        net(INPUT_TENSOR).numpy(), forward()(INPUT_TENSOR).numpy() + 1
    )


def test_a_module_with_forward_is_trained_and_compiled():
    step = sl.tensor.compile(lambda net, x: net(x).sum())
    net = forward()
    np.testing.assert_allclose(
        step(net, INPUT_TENSOR).item(), net(INPUT_TENSOR).sum().item(), rtol=1e-6
    )


def test_a_module_without_call_and_forward_raises_with_a_hint():
    with pytest.raises(
        ArgumentError,
        match="Neither cannot be called, because it defines neither __call__ nor",
    ):
        Neither()(INPUT_TENSOR)


@pytest.mark.parametrize("layer", [Pair(), lambda x, mask: x * mask])
def test_a_layer_that_needs_two_arguments_is_named(layer):
    with pytest.raises(ArgumentError, match=r"layer 1 of Sequential .*needs mask"):
        sl.nn.Sequential(Keyed(), layer)(INPUT_TENSOR)


def test_functions_and_methods_of_all_kinds_are_layers():
    class Scale:
        def by_two(self, x):
            return x * 2

    net = sl.nn.Sequential(Scale().by_two, sl.tensor.exp, lambda x, n=2: x * n)
    np.testing.assert_allclose(
        net(INPUT_TENSOR).numpy(), np.exp(INPUT_TENSOR.numpy() * 2) * 2, rtol=1e-6
    )


def test_an_object_that_is_not_callable_is_not_a_layer():
    with pytest.raises(
        ArgumentError,
        match="layer 1 of Sequential must be a module or a function, got a str",
    ):
        sl.nn.Sequential(Keyed(), cast("Any", "relu"))
