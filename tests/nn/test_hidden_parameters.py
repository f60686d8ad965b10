"""Parameters and modules that training would miss are errors."""

from __future__ import annotations

import collections
import types
from typing import Any, NamedTuple, Optional

import numpy as np
import pytest

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError

RANDOM_KEY = sl.Key(0)


def param():
    return nn.Param((2,), nn.Fill(0.0))


def linear():
    return nn.Linear(1, 1)


def listed():
    return [param()]


def buffer():
    return nn.Buffer((2,), nn.Fill(0.0))


class Plain:
    def __init__(self, held):
        self.held = held


class Slotted:
    __slots__ = ("held", "unset")

    def __init__(self, held):
        self.held = held


class Row(NamedTuple):
    layer: nn.Linear
    width: int


class Holder(nn.Module):
    held: object

    def __init__(self, held=None):
        self.held = held


HIDDEN_PARAMETERS: dict[str, Any] = {
    "inside a Plain (held.held)": Plain,
    "inside a Slotted (held.held)": Slotted,
    "inside a Plain (held.held['a'][0])": lambda p: Plain({"a": [p]}),
    "inside a Plain (held.held[...][0])": lambda p: Plain({(1, 2), (p, 3)}),
    "inside a frozenset (held[...][1])": lambda p: frozenset({(1, p)}),
    "inside a SimpleNamespace (held.a)": lambda p: types.SimpleNamespace(a=p),
    "inside a UserDict (held.0.data['a'])": lambda p: [collections.UserDict(a=p)],
    "inside a Plain (held.b.held.held)": lambda p: {"b": Plain(Plain(p))},
    "inside a dict_items (held[...][1])": lambda p: {"b": p}.items(),
    "inside a Plain (held.held(...))": lambda p: Plain(lambda: p),
}


@pytest.mark.parametrize("message", HIDDEN_PARAMETERS)
def test_a_hidden_parameter_is_an_error_with_its_path(message):
    with pytest.raises(ArgumentError, match="neither trained nor saved") as caught:
        Holder(HIDDEN_PARAMETERS[message](param()))
    assert message in str(caught.value)


def test_a_hidden_module_is_an_error_with_the_path_of_its_parameter():
    with pytest.raises(ArgumentError, match=r"\(held\.held\.weight\).*make their class a"):
        Holder(Plain(nn.Linear(2, 2)))


def test_an_object_with_registered_parameters_may_be_a_plain_field():
    class Net(nn.Module):
        layer: nn.Linear
        helper: Plain

        def __init__(self):
            self.layer = nn.Linear(2, 2)
            self.helper = Plain([self.layer])

    assert Net().bind("numpy", RANDOM_KEY).helper.held[0].weight.path == "layer.weight"


def test_the_search_for_hidden_parameters_stops_at_cycles_and_large_objects():
    ring: Any = Plain(None)
    ring.held = [ring, Plain(ring)]
    assert Holder(ring).held is ring
    many = Plain([Plain(n) for n in range(100_000)])
    assert Holder(many).held is many


CONTAINER_CHANGES: dict[str, Any] = {
    "a list": (list, lambda held: held.append({param()})),
    "an object": (lambda: Plain(None), lambda held: setattr(held, "held", param())),
    "a set": (set, lambda held: held.add(param())),
}


@pytest.mark.parametrize("change", CONTAINER_CHANGES)
@pytest.mark.parametrize("found_by", ["bind", "to_record"])
def test_parameters_hidden_after_the_assignment_are_found_by_bind_and_records(
    change, found_by
):
    start, add = CONTAINER_CHANGES[change]
    net = Holder(start())
    if found_by == "to_record":
        net.bind("numpy", RANDOM_KEY)
    add(net.held)
    with pytest.raises(ArgumentError, match="neither trained nor saved"):
        net.to_record() if found_by == "to_record" else net.bind("numpy", RANDOM_KEY)


def test_a_parameter_added_to_an_unannotated_list_is_found():
    net: Any = Holder()
    net.extra = []
    net.extra.append([param()])
    for find in (net.parameters, lambda: net.bind("numpy", RANDOM_KEY), net.train):
        with pytest.raises(ArgumentError, match=r"extra\.0\.0.*add `extra: list`"):
            find()


class Declared(nn.Module):
    weight: nn.Param
    mean: nn.Buffer | None
    other: Optional[nn.Buffer]  # noqa: UP045  # as many write it
    name: str
    sizes: int | float | None
    either: nn.Param | nn.Buffer
    quoted: "nn.Param"  # noqa: UP037
    layers: list[str]

    def __init__(self):
        pass


@pytest.mark.parametrize("field", ["mean", "other", "name", "sizes"])
def test_a_parameter_in_a_field_with_another_annotation_is_rejected(field):
    with pytest.raises(
        ArgumentError, match=f"{field} is annotated as .* got a Param, which"
    ):
        setattr(Declared(), field, param())


@pytest.mark.parametrize("field", ["weight", "quoted", "name"])
def test_a_buffer_in_a_field_with_another_annotation_is_rejected(field):
    with pytest.raises(ArgumentError, match="got a Buffer, which is saved but not trained"):
        setattr(Declared(), field, buffer())


def test_a_module_in_a_string_field_is_rejected():
    net: Any = Declared()
    with pytest.raises(ArgumentError, match="annotated as str but got a Linear"):
        net.name = nn.Linear(1, 1)
    net.either, net.weight, net.mean, net.other = buffer(), param(), None, buffer()
    assert [path for path, _ in net.named()] == ["either", "weight", "other"]


@pytest.mark.parametrize("make", [param, linear, listed])
def test_parameters_as_class_attributes_are_rejected(make):
    with pytest.raises(
        ArgumentError, match=r"Net\.shared contains parameters as a class attribute"
    ):
        type("Net", (nn.Module,), {"shared": make()})


def test_an_annotated_tensor_is_a_constant_that_moves_and_is_not_saved():
    class Net(nn.Module):
        layer: nn.Linear
        mean: sl.tensor.Tensor
        table: dict[str, list[sl.tensor.Tensor]]

        def __init__(self):
            plain = sl.tensor.backend("numpy")
            self.layer = nn.Linear(2, 2)
            self.mean = plain.tensor([1.0, 2.0])
            self.table = {"a": [plain.tensor([1, 2])]}

    net = nn.Sequential(Net()).bind("torch", RANDOM_KEY)
    inner = net[0]
    assert inner.mean.backend.name == inner.table["a"][0].backend.name == "torch"
    assert list(net.to_record()) == ["layers.0.layer.weight", "layers.0.layer.bias"]
    net.to("numpy", "float64")
    assert (str(inner.mean.dtype), inner.mean.tolist()) == ("float64", [1.0, 2.0])
    assert inner.table["a"][0].dtype.kind == "i"


def test_a_tensor_without_annotation_is_an_error():
    with pytest.raises(ArgumentError, match=r"`mean: Tensor`.*constant.*Buffer.*Param"):
        Holder().mean = sl.tensor.backend("numpy").tensor([1.0])


def test_module_classes_and_named_tuples_may_be_fields():
    assert Holder(nn.Linear).bind("numpy", RANDOM_KEY).held is nn.Linear
    net = Holder(Row(nn.Linear(2, 2), 2))
    assert [path for path, _ in net.parameters()] == ["held.0.weight", "held.0.bias"]
    plain: Any = Holder(np.array([1]))
    assert np.array_equal(plain.held, [1])
