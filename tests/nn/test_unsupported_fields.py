"""Fields of a user's module are supported, or rejected if parameters would be lost."""

from collections import deque
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, DTypeError, RecordError

RANDOM_KEY = sl.Key(0)


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


UNSUPPORTED_CONTAINERS = {
    "set": lambda: set(layers()),
    "deque": lambda: deque(layers()),
    "dict_values": lambda: dict(enumerate(layers())).values(),
    "ndarray": lambda: np.array(layers(), dtype=object),
    "Pair": lambda: Pair(*layers()),
}


@pytest.mark.parametrize("kind", UNSUPPORTED_CONTAINERS)
def test_parameters_in_unsupported_containers_are_rejected(kind):
    for held in (UNSUPPORTED_CONTAINERS[kind](), [UNSUPPORTED_CONTAINERS[kind]()]):
        with pytest.raises(
            ArgumentError, match=f"inside a {kind}.*a list, a tuple or a dict"
        ):
            Holder(held)


def test_containers_of_plain_data_may_be_fields():
    for held in ({1, 2}, deque([1]), np.array(["a"], object), {1: 2}.values()):
        assert Holder(held).held is held


CONTAINERS_WITH_EQUAL_PATHS = {
    "held.1.weight": lambda: {1: nn.Linear(2, 2), "1": nn.Linear(2, 2)},
    "held.a.weight": lambda: {
        "a.weight": nn.Param((2,), nn.Fill(0.0)),
        "a": nn.Linear(2, 2),
    },
}


@pytest.mark.parametrize("path", CONTAINERS_WITH_EQUAL_PATHS)
def test_two_arrays_with_one_path_are_rejected(path):
    with pytest.raises(ArgumentError, match=f"two arrays or modules with path '{path}'"):
        Holder(CONTAINERS_WITH_EQUAL_PATHS[path]()).bind("numpy", RANDOM_KEY)


def test_a_shared_module_has_one_path():
    shared = nn.Linear(2, 2)
    net = Holder({"a": shared, "b": shared}).bind("numpy", RANDOM_KEY)
    assert list(net.to_record()) == ["held.a.weight", "held.a.bias"]


@pytest.mark.sample(3)
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_compiled_step_notices_a_changed_array_in_a_field(name):
    class Weighted(nn.Module):
        layer: nn.Linear
        weights: np.ndarray

        def __init__(self):
            self.layer, self.weights = nn.Linear(3, 2), np.ones(2, np.float32)

        def forward(self, x):
            return (self.layer(x) * self.weights).sum()

    net = Weighted().bind(name, RANDOM_KEY)
    x = net.backend.tensor(np.ones((4, 3), np.float32))
    step = sl.tensor.compile(lambda net, x: net(x))
    step(net, x)
    net.weights[:] = [3, 0]
    np.testing.assert_allclose(step(net, x).numpy(), net(x).numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["int64", "bool", np.uint8])
def test_parameters_are_never_converted_to_integers(dtype):
    net = nn.Linear(2, 2).bind("numpy", RANDOM_KEY)
    with pytest.raises(DTypeError, match="dtype must be a float type"):
        net.to("numpy", dtype)


@pytest.mark.parametrize("made", [sl.optim.AdamW, sl.optim.SGD])
def test_a_path_pattern_that_is_not_a_string_is_rejected(made):
    with pytest.raises(ArgumentError, match=r"pattern must be a tuple of paths.*got 5"):
        made().group(5, weight_decay=0.0)


class Encoder(nn.Module):
    layer: nn.Linear

    def __init__(self):
        self.layer = nn.Linear(3, 2)

    def encode(self, x):
        return self.layer(x)


def closing_over(model):
    return lambda x: model.encode(x) + 1


FUNCTIONS_THAT_HIDE_MODULES = {
    "a bound method": lambda: Encoder().encode,
    "a partial": lambda: partial(Encoder()),
    "a partial that": lambda: partial(Encoder().encode),
    "a function": lambda: closing_over(Encoder()),
    "a function that": lambda: lambda x, model=Encoder(): model.encode(x),  # noqa: B008
}


@pytest.mark.parametrize("kind", FUNCTIONS_THAT_HIDE_MODULES)
def test_functions_that_hide_a_module_are_rejected(kind):
    for build in (nn.Sequential, Holder, lambda held: Holder({"a": [held]})):
        with pytest.raises(ArgumentError, match=f"holds {kind}.*Assign the module itself"):
            build(FUNCTIONS_THAT_HIDE_MODULES[kind]())


def test_functions_that_use_registered_parameters_may_be_fields():
    class Net(nn.Module):
        encoder: Encoder
        calls: list[object]

        def __init__(self):
            self.encoder = Encoder()
            inner = self.encoder
            self.calls = [
                self.run,
                inner.encode,
                lambda x: inner.encode(x) + 1,
                partial(inner),
            ]

        def run(self, x):
            return self.encoder.encode(x)

    assert len(Net().calls) == 4
    assert (
        len(nn.Sequential(nn.functional.relu, nn.Dropout(0.5).eval, partial(max, 1))) == 3
    )


ONE_PASS_ITERATORS = {
    "generator": lambda: (nn.Linear(2, 2) for _ in range(2)),
    "map": lambda: map(nn.Linear, [2, 2], [2, 2]),
    "zip": lambda: zip(layers(), layers(), strict=True),
}


@pytest.mark.parametrize("kind", ONE_PASS_ITERATORS)
def test_iterators_over_parameters_are_rejected(kind):
    for held in (ONE_PASS_ITERATORS[kind](), [ONE_PASS_ITERATORS[kind]()]):
        with pytest.raises(ArgumentError, match=rf"holds a {kind}.*list\(\.\.\.\)"):
            Holder(held)


@pytest.mark.parametrize("change", ["freeze", "unfreeze"])
def test_freezing_an_unknown_path_is_an_error_with_suggestions(change):
    net = Encoder()
    for wrong, near in {
        "layer.wieght": "layer.weight",
        "layer": r"layer\.\*",
        "head.*": "layer",
    }.items():
        with pytest.raises(ArgumentError, match=f"no parameter.*{wrong}.*{near}"):
            getattr(net, change)(wrong)
    getattr(nn.Dropout(0.5), change)()


def test_bind_accepts_an_integer_as_key():
    one, other = nn.Linear(3, 2).bind("numpy", 0), nn.Linear(3, 2).bind("numpy", sl.Key(0))
    np.testing.assert_array_equal(one.weight.numpy(), other.weight.numpy())
    with pytest.raises(ArgumentError, match="key must be an integer"):
        nn.Linear(3, 2).bind("numpy", "0")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("load", ["load_record", "load_state_dict"])
def test_records_may_contain_lists_and_pytorch_parameters(load):
    theirs = torch.nn.Linear(3, 2)
    lists = {name: each.tolist() for name, each in theirs.state_dict().items()}
    for given in (dict(theirs.named_parameters()), lists):
        layer = getattr(nn.Linear(3, 2).bind("numpy", RANDOM_KEY), load)(given)
        np.testing.assert_array_equal(layer.weight.numpy(), theirs.weight.detach().numpy())


@pytest.mark.parametrize("load", ["load_record", "load_state_dict"])
def test_an_object_that_is_not_a_record_is_rejected(load):
    layer = nn.Linear(3, 2).bind("numpy", RANDOM_KEY)
    for path in ("x.safetensors", Path("x.safetensors")):
        with pytest.raises(
            ArgumentError, match=r"path of a file.*sl\.record\.load\(path\)"
        ):
            getattr(layer, load)(path)
    with pytest.raises(ArgumentError, match="mapping of arrays by path"):
        getattr(layer, load)([1.0])
    with pytest.raises(RecordError, match="weight are not an array"):
        getattr(layer, load)({"weight": [[1.0], [1.0, 2.0]], "bias": [1.0, 2.0]})


REPLACEMENT_VALUES = {
    "ndarray": lambda: np.zeros((3, 2), np.float32),
    "Tensor": lambda: sl.tensor.backend("numpy").tensor(np.zeros((3, 2), np.float32)),
    "torch": lambda: torch.zeros(3, 2),
    "list": lambda: [[0.0, 0.0]] * 3,
    "float": lambda: 1.0,
}


@pytest.mark.parametrize("kind", REPLACEMENT_VALUES)
@pytest.mark.parametrize("bound", [False, True])
def test_replacing_a_parameter_by_values_is_rejected_and_changes_nothing(kind, bound):
    layer = nn.Linear(2, 3)
    layer = layer.bind("numpy", RANDOM_KEY) if bound else layer
    before = layer.weight
    with pytest.raises(
        ArgumentError,
        match=r"Linear\.weight is a Param; .* neither trained nor saved.*weight\.assign\(",
    ):
        setattr(layer, "weight", REPLACEMENT_VALUES[kind]())  # noqa: B010 - its type does not fit
    assert layer.weight is before
    assert [path for path, _ in layer.parameters()] == ["weight", "bias"]


def test_the_suggested_assign_call_sets_the_values():
    layer = nn.Linear(2, 3).bind("numpy", RANDOM_KEY)
    layer.weight.assign(np.ones((3, 2)))
    np.testing.assert_array_equal(layer.to_record()["weight"], np.ones((3, 2)))


def test_replacing_a_buffer_by_values_is_rejected():
    layer = nn.BatchNorm1d(3).bind("numpy", RANDOM_KEY)
    with pytest.raises(ArgumentError, match=r"running_mean is a Buffer; .* not saved"):
        setattr(layer, "running_mean", np.zeros(3))  # noqa: B010 - its type does not fit


def test_a_parameter_may_be_replaced_by_another_a_module_or_none():
    layer, other = nn.Linear(2, 3), nn.Linear(2, 3)
    layer.weight, layer.bias = other.weight, None
    assert [path for path, _ in layer.parameters()] == ["weight"]

    class Scale(nn.Module):
        factor: nn.Param | sl.tensor.Tensor | nn.Linear

    scale = Scale(nn.Param((1,), nn.Fill(1.0)))
    scale.factor = nn.Linear(1, 1)
    scale = Scale(nn.Param((1,), nn.Fill(1.0)))
    scale.factor = sl.tensor.backend("numpy").tensor([2.0])  # annotated as a constant
    assert not list(scale.parameters())
