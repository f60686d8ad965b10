"""Linear layers by rows in bfloat16: by the processor's instructions, and in float32."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

from seqloom._rust import _native
from seqloom.tensor import backend

WIDTH, HEADS = 24, 4
HALF = ml_dtypes.bfloat16
has_them = pytest.mark.skipif(
    not _native.has_bfloat16(), reason="this processor has no instructions for bfloat16"
)


@pytest.fixture(params=[pytest.param("instructions", marks=has_them), "float32"])
def b(request, monkeypatch) -> Any:
    """NumPy's backend, on this processor and on one without the instructions."""
    if request.param == "float32":
        monkeypatch.setattr(_native, "has_bfloat16", lambda: False)
    return backend("numpy")


def drawn(*shapes):
    """Normal numbers in bfloat16."""
    rng = np.random.default_rng(0)
    return [rng.standard_normal(shape).astype(HALF) for shape in shapes]


def double(x):
    """The same numbers in torch's float64."""
    return torch.from_numpy(x.astype("float64"))


def assert_near(found, expected, steps=1):
    """Compares up to so many roundings of the greatest number."""
    assert found.dtype == HALF
    error = np.abs(found.astype("float64") - expected.numpy()).max()
    assert error <= steps * float(expected.abs().max()) / 256


@pytest.mark.parametrize("rows", [(1,), (3, 41)], ids=["one", "many"])
@pytest.mark.parametrize("outputs", [1, 16, 70])
def test_a_layer_is_rounded_once(b, rows, outputs):
    x, weight, bias, residual = drawn(
        (*rows, WIDTH), (outputs, WIDTH), (outputs,), (*rows, outputs)
    )
    expected = F.linear(double(x), double(weight))
    assert_near(b.linear_by_row(x, weight), expected)
    expected = expected + double(bias) + double(residual)
    assert_near(b.linear_by_row(x, weight, bias, residual), expected, 2)


def test_queries_and_keys_are_turned_in_float32(b):
    x, weight, bias = drawn((50, WIDTH), (3 * WIDTH, WIDTH), (3 * WIDTH,))
    angles = np.random.default_rng(1).uniform(0, 1000, (50, 3)).astype("float32")
    turns = np.cos(angles), np.sin(angles)
    found = b.rotary_linear(x, weight, bias, *turns, heads=HEADS)
    parts = F.linear(double(x), double(weight), double(bias)).unflatten(-1, (3, HEADS, -1))
    cosine, sine = (torch.from_numpy(each).double()[:, None] for each in turns)
    for number, part in enumerate(parts.unbind(1)):
        first, second = part.chunk(2, -1)
        turned = [first * cosine - second * sine, second * cosine + first * sine]
        expected = part if number == 2 else torch.cat(turned, -1)
        assert_near(found[number], expected, 2)


@pytest.mark.parametrize("hidden", [56, 300])
def test_a_feed_forward_part_is_near_its_layers_in_double_precision(b, hidden):
    shapes = (WIDTH,), (WIDTH,), (hidden, WIDTH), (hidden,), (WIDTH, hidden), (WIDTH,)
    x, norm, shift, *layers = drawn((130, WIDTH), *shapes)
    found = b.feed_forward(x, norm, shift, *layers, eps=1e-5)
    normal = F.layer_norm(double(x), (WIDTH,), double(norm), double(shift), 1e-5)
    weight_in, bias_in, weight_out, bias_out = map(double, layers)
    inside = F.gelu(F.linear(normal, weight_in, bias_in))
    assert_near(found, double(x) + F.linear(inside, weight_out, bias_out), 3)


def test_a_layer_norm_is_near_that_in_double_precision(b):
    x, weight, bias = drawn((3, 41, WIDTH), (WIDTH,), (WIDTH,))
    found, mean, rstd = b.layer_norm(x, weight, bias, eps=1e-5)
    true = double(x)
    assert_near(found, F.layer_norm(true, (WIDTH,), double(weight), double(bias), 1e-5))
    assert_near(mean, true.mean(-1))
    assert_near(rstd, (true.var(-1, correction=0) + 1e-5).rsqrt())


def test_rows_that_are_no_pairs_are_computed_in_float32(b):
    x, weight = drawn((5, 7), (3, 7))
    assert_near(b.linear_by_row(x, weight), F.linear(double(x), double(weight)))


def test_weights_at_an_odd_address_are_read(b):
    x, buffer = drawn((5, 8), (25,))
    weight = buffer[1:].reshape(3, 8)
    assert_near(b.linear_by_row(x, weight), F.linear(double(x), double(weight)))


def test_a_nan_stays_in_its_row(b):
    x, *weights = drawn((9, 8), (8,), (8,), (16, 8), (16,), (8, 16), (8,))
    x[4, 3] = np.nan
    for found in (b.feed_forward(x, *weights, eps=1e-5), b.linear_by_row(x, weights[2])):
        rows = np.isnan(found.astype("float32")).all(axis=1)
        assert rows.tolist() == [row == 4 for row in range(9)]


@has_them
@settings(deadline=None, max_examples=25)
@given(count=st.integers(1, 300), first=st.integers(0, 299), some=st.integers(1, 40))
def test_rows_have_the_same_bits_alone_and_beside_others(count, first, some):
    first = min(first, count - 1)
    rng = np.random.default_rng(count)
    x, weight, inner, outer, ones = (
        rng.standard_normal(shape).astype(HALF)
        for shape in ((count, 16), (48, 16), (40, 16), (16, 40), (16,))
    )
    angles = rng.uniform(-9, 9, (count, 4)).astype("float32")

    def every(b: Any, rows: slice) -> Any:
        turns = np.cos(angles[rows]), np.sin(angles[rows])
        q, k, v = b.rotary_linear(x[rows], weight, None, *turns, heads=2)
        layer = b.linear_by_row(x[rows], weight, None, None)
        fed = b.feed_forward(x[rows], ones, ones, inner, None, outer, None, eps=1e-5)
        return q, k, v, layer, fed

    rows = slice(first, first + some)
    together = every(backend("numpy", num_threads=2), slice(None))
    for alone, whole in zip(every(backend("numpy"), rows), together, strict=True):
        np.testing.assert_array_equal(alone, whole[rows])
