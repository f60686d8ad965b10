"""What a user's module may hold, and what would be lost in silence."""

from collections import deque
from dataclasses import dataclass

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, DTypeError

KEY = sl.Key(0)


@dataclass
class Pair:
    one: nn.Linear
    other: nn.Linear


class Holder(nn.Module):
    held: object

    def __init__(self, held):
        self.held = held


def layers():
    return [nn.Linear(2, 2), nn.Linear(2, 2)]


HIDING = {
    "set": lambda: set(layers()),
    "deque": lambda: deque(layers()),
    "dict_values": lambda: dict(enumerate(layers())).values(),
    "ndarray": lambda: np.array(layers(), dtype=object),
    "Pair": lambda: Pair(*layers()),
}


@pytest.mark.parametrize("kind", HIDING)
def test_parameters_in_a_container_without_paths_are_refused(kind):
    for held in (HIDING[kind](), [HIDING[kind]()]):
        with pytest.raises(
            ArgumentError, match=f"within a {kind}.*a list, a tuple or a dict"
        ):
            Holder(held)


def test_containers_of_plain_data_are_fields_as_any_other():
    for held in ({1, 2}, deque([1]), np.array(["a"], object), {1: 2}.values()):
        assert Holder(held).held is held


EQUAL = {
    "held.1.weight": lambda: {1: nn.Linear(2, 2), "1": nn.Linear(2, 2)},
    "held.a.weight": lambda: {
        "a.weight": nn.Param((2,), nn.Fill(0.0)),
        "a": nn.Linear(2, 2),
    },
}


@pytest.mark.parametrize("path", EQUAL)
def test_two_parts_under_one_path_are_refused(path):
    with pytest.raises(ArgumentError, match=f"two parts under the path '{path}'"):
        Holder(EQUAL[path]()).bind("numpy", KEY)


def test_a_shared_part_has_one_path():
    shared = nn.Linear(2, 2)
    net = Holder({"a": shared, "b": shared}).bind("numpy", KEY)
    assert list(net.to_record()) == ["held.a.weight", "held.a.bias"]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_compiled_step_sees_an_array_of_a_field_that_was_written(name):
    class Weighted(nn.Module):
        layer: nn.Linear
        weights: np.ndarray

        def __init__(self):
            self.layer, self.weights = nn.Linear(3, 2), np.ones(2, np.float32)

        def forward(self, x):
            return (self.layer(x) * self.weights).sum()

    net = Weighted().bind(name, KEY)
    x = net.backend.tensor(np.ones((4, 3), np.float32))
    step = sl.tensor.compile(lambda net, x: net(x))
    step(net, x)
    net.weights[:] = [3, 0]
    np.testing.assert_allclose(step(net, x).numpy(), net(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "bool", np.uint8])
def test_parameters_do_not_become_whole_numbers(dtype):
    net = nn.Linear(2, 2).bind("numpy", KEY)
    with pytest.raises(DTypeError, match="parameters are floats"):
        net.to("numpy", dtype)


@pytest.mark.parametrize("made", [sl.optim.AdamW, sl.optim.SGD])
def test_one_text_as_paths_without_decay_is_refused(made):
    with pytest.raises(ArgumentError, match=r"no_decay takes a tuple of paths.*got 'bias'"):
        made(no_decay="bias")
