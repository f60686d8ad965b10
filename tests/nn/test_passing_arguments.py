"""Containers pass tuples, keywords and keys to layers of any signature."""

from functools import partial
from typing import Any, cast

import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, OutOfRangeError, ShapeError

NUMPY = sl.tensor.backend("numpy")
INPUT_TENSOR = NUMPY.tensor([[1.0, 2.0]])
RANDOM_KEY = sl.Key(3)


class Split(nn.Module):
    def forward(self, x):
        return x, x * 10


class Join(nn.Module):
    def forward(self, x, y, scale=1.0):
        return x * scale + y


class Masked(nn.Module):
    def __call__(self, x, *, mask):
        return x * mask


class First(nn.Module):
    def forward(self, pair):
        return pair[0]


def number(key):
    return NUMPY.uniform(key, (1,)).item()


class Keyed(nn.Module):
    def forward(self, x, key=None):
        return x if key is None else x + number(key)


def values(result):
    return result.numpy().tolist()


def test_a_tuple_is_unpacked_for_a_layer_with_several_arguments():
    assert values(nn.Sequential(Split(), Join())(INPUT_TENSOR)) == [[11.0, 22.0]]
    assert values(nn.Sequential(Split(), lambda *all_of: all_of[1])(INPUT_TENSOR)) == [
        [10.0, 20.0]
    ]


def test_a_layer_with_one_argument_gets_the_tuple():
    assert values(nn.Sequential(Split(), First())(INPUT_TENSOR)) == [[1.0, 2.0]]


def test_the_first_layer_gets_all_positional_arguments():
    assert values(
        nn.Sequential(Join(), nn.functional.relu)(INPUT_TENSOR, INPUT_TENSOR)
    ) == [[2.0, 4.0]]
    assert values(
        nn.Sequential(nn.Sequential(Join()))(INPUT_TENSOR, y=INPUT_TENSOR, scale=2.0)
    ) == [[3.0, 6.0]]


def test_keywords_are_passed_to_nested_layers_that_accept_them():
    net = nn.Sequential(Split(), Join(), nn.Sequential(nn.Residual(Masked())))
    mask = NUMPY.tensor([[1.0, 0.0]])
    assert values(net(INPUT_TENSOR, mask=mask, scale=3.0)) == [[26.0, 26.0]]


def test_values_after_a_keyword_argument_keep_their_order():
    def middle(x, scale, y):
        return x * scale - y

    net = nn.Sequential(Split(), middle)
    assert values(net(INPUT_TENSOR, scale=20.0)) == [[10.0, 20.0]]


def test_callables_of_all_kinds_receive_keyword_arguments():
    class Plain:
        def times(self, x, by=1.0):
            return x * by

        def __call__(self, x, by=1.0):
            return x + by

    plain = Plain()
    net = nn.Sequential(plain.times, partial(plain.times), plain)
    assert values(net(INPUT_TENSOR, by=2.0)) == [[6.0, 10.0]]


def test_each_layer_and_nested_layer_gets_a_different_key():
    net = nn.Sequential(Keyed(), nn.Residual(Keyed()), nn.Sequential(Keyed()))
    words = [number(RANDOM_KEY.fold(0)), number(RANDOM_KEY.fold(1))]
    words.append(number(RANDOM_KEY.fold(2).fold(0)))
    x = INPUT_TENSOR + words[0]
    x = x + (x + words[1]) + words[2]
    np.testing.assert_allclose(net(INPUT_TENSOR, key=RANDOM_KEY).numpy(), x.numpy())
    assert values(
        nn.Sequential(nn.functional.relu)(INPUT_TENSOR, key=RANDOM_KEY)
    ) == values(INPUT_TENSOR)


INVALID_LAYERS: Any = {
    r"layer 1 of Sequential \(Join\(x, y, scale=1.0\)\) also needs y; pass y=": (
        nn.Sequential(nn.functional.relu, Join()),
        {},
    ),
    r"layer 0 of Sequential \(Masked\(x, \*, mask\)\) also needs mask": (
        nn.Sequential(Masked()),
        {},
    ),
    r"layer two of Sequential \(Join.*takes 3 positional arguments here, got 4": (
        nn.Sequential({"one": lambda x: (x, x, x, x), "two": Join()}),
        {},
    ),
    r"no layer of Sequential takes msk=; its layers: Masked\(x, \*, mask\)": (
        nn.Sequential(Masked()),
        {"msk": 1.0},
    ),
    r"inner of Residual \(Masked\(x, \*, mask\)\) takes no scale=": (
        nn.Residual(Masked()),
        {"scale": 1.0},
    ),
    r"inner of Residual \(Join\(x, y, scale=1.0\)\) also needs y": (
        nn.Residual(Join()),
        {},
    ),
}


@pytest.mark.parametrize("message", INVALID_LAYERS)
def test_a_layer_with_wrong_arguments_is_named_with_its_signature(message):
    net, options = INVALID_LAYERS[message]
    with pytest.raises(ArgumentError, match=message):
        net(INPUT_TENSOR, **options)


def test_an_error_inside_a_layer_names_the_layer():
    net = nn.Sequential(
        {"stem": nn.functional.relu, "body": nn.Sequential(nn.Linear(3, 3))}
    )
    with pytest.raises(ShapeError) as caught:
        net.bind("numpy", RANDOM_KEY)(INPUT_TENSOR)
    assert caught.value.__notes__ == [
        "in layer 0 of Sequential (Linear(x))",
        "in layer body of Sequential (Sequential(x))",
    ]


def test_a_subclass_of_sequential_may_have_another_signature():
    class Two(nn.Sequential):
        def __call__(self, x, y):
            return super().__call__(x) + y

    two: Any = Two
    assert values(nn.Sequential(Split(), two(nn.functional.relu))(INPUT_TENSOR)) == [
        [11.0, 22.0]
    ]


def test_a_class_without_new_fields_inherits_the_constructor():
    class Wide(nn.Linear):
        def forward(self, x):
            return self(x) * 2

    class Wider(Wide):
        scale: float

        def __init__(self, n):
            super().__init__(n, n)
            self.scale = 2.0

    wide: Any = Wide
    assert [wide(2, 3).weight.shape, Wider(4).weight.shape] == [(3, 2), (4, 4)]


def test_named_layers_keep_their_names_in_paths_and_slices():
    net = nn.Sequential({"a": nn.Linear(2, 3), "act": nn.functional.relu})
    theirs = torch.nn.Sequential()
    theirs.add_module("a", torch.nn.Linear(2, 3))
    expected = [f"layers.{path}" for path, _ in theirs.named_parameters()]
    assert [path for path, _ in net.parameters()] == expected
    assert net["a"] is net[0] is net[-2] is net[:1]["a"]
    assert (len(net), list(net)) == (2, [net["a"], nn.functional.relu])
    for name, message in (("b", "its names: 'a', 'act'"), (2, "has 2 layers")):
        with pytest.raises(OutOfRangeError, match=message):
            net[name]
    with pytest.raises(OutOfRangeError, match="none, because the layers are a list"):
        nn.Sequential(nn.functional.relu)["a"]


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_residual_block_matches_the_sum_in_pytorch(name):
    block = nn.Residual(nn.Sequential(nn.Linear(2, 4), nn.functional.relu, nn.Linear(4, 2)))
    block.bind(name, RANDOM_KEY)
    x = np.random.default_rng(0).normal(size=(3, 2)).astype("f4")
    _, grads = nn.value_and_grad(lambda net, x: (net(x) ** 2).sum())(
        block, block.backend.tensor(x)
    )
    weights = [torch.tensor(p.numpy(), requires_grad=True) for _, p in block.parameters()]
    first, bias, last, end = weights
    theirs = torch.tensor(x)
    theirs = theirs + torch.relu(theirs @ first.T + bias) @ last.T + end
    (theirs**2).sum().backward()
    for (_, param), weight in zip(block.parameters(), weights, strict=True):
        wanted = np.asarray(weight.grad)
        np.testing.assert_allclose(grads.wrt(param).numpy(), wanted, rtol=1e-4)


def test_a_residual_adds_to_the_first_item_of_a_tuple():
    total, other = nn.Residual(Split())(INPUT_TENSOR)
    assert (values(total), values(other)) == ([[2.0, 4.0]], [[10.0, 20.0]])


def test_a_residual_rejects_a_sum_that_would_broadcast():
    with pytest.raises(ShapeError, match=r"\(1, 1\) for an input of \(1, 2\)"):
        nn.Residual(lambda x: x[:, :1])(INPUT_TENSOR)
    with pytest.raises(ArgumentError, match="must be a module or a function, got a list"):
        nn.Residual(cast("Any", [nn.Linear(2, 2)]))


def test_containers_can_be_compiled():
    net = nn.Sequential(Split(), Join(), nn.Residual(Masked()))
    step = sl.tensor.compile(lambda net, x, mask: net(x, mask=mask))
    mask = NUMPY.tensor([[1.0, 0.0]])
    assert values(step(net, INPUT_TENSOR, mask)) == values(net(INPUT_TENSOR, mask=mask))
