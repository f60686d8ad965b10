"""Tests of summaries: shapes, parameters, memory and multiply-adds of each layer."""

from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

import seqloom as sl
from seqloom import nn
from seqloom.errors import ArgumentError, RecordError
from seqloom.nn import functional as F

RANDOM_KEY = sl.Key(0)


def count_flops(call, *args):
    with FlopCounterMode(display=False) as counter:
        call(*args)
    return counter.get_total_flops()


def zeros(*shape):
    return np.zeros(shape, "float32")


LAYERS_AND_PYTORCH_LAYERS = {
    "linear": (nn.Linear(5, 7), torch.nn.Linear(5, 7), (3, 4, 5)),
    "conv1d": (
        nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
        torch.nn.Conv1d(4, 6, 3, stride=2, padding=1, groups=2),
        (2, 4, 11),
    ),
    "conv2d": (nn.Conv2d(3, 5, 3), torch.nn.Conv2d(3, 5, 3), (2, 3, 8, 9)),
    "transposed": (
        nn.ConvTranspose1d(4, 6, 3, stride=2),
        torch.nn.ConvTranspose1d(4, 6, 3, stride=2),
        (2, 4, 11),
    ),
}


@pytest.mark.parametrize("kind", LAYERS_AND_PYTORCH_LAYERS)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_multiply_adds_are_half_of_pytorch_flops(kind, name):
    ours, theirs, shape = LAYERS_AND_PYTORCH_LAYERS[kind]
    summary = ours.bind(name, RANDOM_KEY).summary(zeros(*shape))
    flops = count_flops(theirs, torch.zeros(shape))
    assert 2 * summary.layers[0].multiply_adds == flops
    assert summary.layers[0].output_shape == tuple(theirs(torch.zeros(shape)).shape)


class Functions(nn.Module):
    weight: nn.Param

    def __init__(self):
        self.weight = nn.Param((2, 3, 5, 4), nn.Fill(1.0))

    def products(self, x):
        return x @ self.weight.value

    def attend(self, q):
        return F.scaled_dot_product_attention(q, q, q)


def test_multiply_adds_of_functions_match_pytorch():
    net = Functions().bind("numpy", RANDOM_KEY)
    x = torch.zeros(2, 3, 6, 5)
    flops = count_flops(lambda x: x @ torch.zeros(2, 3, 5, 4), x)
    assert 2 * net.summary(x.numpy(), method="products").layers[0].multiply_adds == flops
    flops = count_flops(torch.nn.functional.scaled_dot_product_attention, x, x, x)
    assert 2 * net.summary(x.numpy(), method="attend").layers[0].multiply_adds == flops


class Net(nn.Module):
    stem: nn.Linear
    blocks: list[nn.Module]
    spare: nn.Linear
    norm: nn.BatchNorm1d

    def __init__(self):
        self.stem = nn.Linear(4, 8)
        inner = nn.Sequential(nn.Linear(8, 8), F.relu, nn.Dropout(0.5))
        self.blocks = [nn.Residual(inner), nn.Residual(inner)]
        self.spare = nn.Linear(100, 100)
        self.norm = nn.BatchNorm1d(8)

    def features(self, x, *, scale=1.0):
        return [self.stem(x) * scale, self.stem(x)]

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_each_layer_is_listed_with_its_shapes_and_parameter_count(name):
    net = Net().bind(name, RANDOM_KEY)
    figures = net.summary(net.backend.zeros((3, 4))).to_dict()
    assert figures["stem"] == {
        "name": "Linear",
        "output_shape": (3, 8),
        "parameters": 40,
        "trainable": 40,
        "bytes": 160,
        "multiply_adds": 3 * 4 * 8,
    }
    # Both blocks call one inner module, which is listed once.
    assert figures["blocks.0"]["multiply_adds"] == 3 * 8 * 8
    assert figures["blocks.0.inner"]["multiply_adds"] == 2 * 3 * 8 * 8
    assert "blocks.1.inner" not in figures
    assert figures["spare"]["output_shape"] is None
    assert figures["spare"]["multiply_adds"] == 0
    assert figures[""]["multiply_adds"] == 3 * 4 * 8 + 2 * 3 * 8 * 8
    assert figures[""]["parameters"] == net.number_of_parameters


def test_a_summary_does_not_change_the_model():
    net: Any = Net().bind("numpy", RANDOM_KEY)
    net.blocks[0].inner.eval()
    net.freeze("stem.*")
    before = net.state_dict()
    kinds = {path: type(part) for path, part in net.named()}
    modes = {path: part.training for path, part in net.named(nn.Module)}
    summary = net.summary(zeros(3, 4))
    assert {path: type(part) for path, part in net.named()} == kinds
    assert {path: part.training for path, part in net.named(nn.Module)} == modes
    assert all((net.state_dict()[path] == before[path]).all() for path in before)
    assert net.backend is net.norm.backend is sl.tensor.backend("numpy")
    assert summary.to_dict()["stem"]["trainable"] == 0


def test_an_error_in_the_call_leaves_the_module_unchanged():
    net = Net().bind("numpy", RANDOM_KEY)
    with pytest.raises(
        sl.errors.SeqloomError,
        match=r"stem \(Linear\): expected x of shape \(\.\.\., 4\), got \(3, 5\)",
    ):
        net.summary(zeros(3, 5))
    assert (type(net), type(net.stem), net.training) == (Net, nn.Linear, True)
    assert net.eval()(net.backend.tensor(zeros(3, 4))).backend is sl.tensor.backend("numpy")


def test_a_summary_of_a_method_with_keywords_and_several_results():
    summary = (
        Net().bind("numpy", RANDOM_KEY).summary(zeros(3, 4), method="features", scale=2.0)
    )
    assert summary.layers[0].output_shape == [(3, 8), (3, 8)]
    assert summary.to_dict()["stem"]["multiply_adds"] == 2 * 3 * 4 * 8


def test_the_summary_table_has_a_line_for_each_layer(capsys):
    summary = Net().bind("numpy", RANDOM_KEY).summary(zeros(3, 4))
    summary.print()
    printed = capsys.readouterr().out
    for layer in summary.layers:
        assert (layer.path or "(all)") in str(summary)
        assert layer.name in printed
    assert "10,2" in str(summary)


def test_an_invalid_summary_call_raises_with_the_cause():
    with pytest.raises(ArgumentError, match="must name a method of Net, got 'logits'"):
        Net().bind("numpy", RANDOM_KEY).summary(zeros(3, 4), method="logits")
    with pytest.raises(RecordError, match="bind"):
        Net().summary(zeros(3, 4))
    drop = nn.Dropout(0.5)
    assert drop.summary(zeros(2)).layers[0].parameters == 0
