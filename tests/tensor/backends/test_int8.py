"""Int8 linear layers: integer products on NumPy and PyTorch, float products on JAX."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

import int8_oracle as oracle
import seqloom as sl
from backend_oracle import found, given as on
from seqloom.tensor import Autodiff, apply, backend

BACKENDS_WITH_EXACT_INT8 = ["numpy", "torch"]
exact_backends = pytest.mark.parametrize("name", BACKENDS_WITH_EXACT_INT8)
other_backends = pytest.mark.parametrize("name", ["strict", "jax"])


def numbers(b, out):
    return b.to_numpy(out)


def as_floats(layer):
    """Return the weight and bias of an int8 layer as float tensors of PyTorch."""
    weight, scale, factor, bias = layer
    return torch.tensor(weight * scale[:, None] * factor).double(), torch.tensor(
        bias
    ).double()


@settings(deadline=None, max_examples=60)
@given(
    rows=st.sampled_from([1, 2, 5, 12, 13, 100]),
    inputs=st.integers(1, 140),
    outputs=st.integers(1, 100),
    size=st.floats(-30, 30),
    has_bias=st.booleans(),
    has_residual=st.booleans(),
    name=st.sampled_from(BACKENDS_WITH_EXACT_INT8),
    threads=st.sampled_from([1, 2]),
)
def test_an_int8_layer_equals_integer_sums_to_the_bit(
    rows, inputs, outputs, size, has_bias, has_residual, name, threads
):
    rng = np.random.default_rng(rows * inputs * outputs)
    *layer, bias = oracle.draw_layer(rng, outputs, inputs)
    x = (rng.standard_normal((rows, inputs)) * 10**size).astype(np.float32)
    residual = rng.standard_normal((rows, outputs)).astype(np.float32)
    given: Any = x, *layer, bias if has_bias else None, residual if has_residual else None
    b: Any = backend(name, num_threads=threads)
    out = b.linear_int8(*(on(b, each) for each in given))
    np.testing.assert_array_equal(numbers(b, out), oracle.linear(*given))


@exact_backends
def test_large_int8_sums_are_exact(name):
    rng = np.random.default_rng(0)
    layer = oracle.draw_layer(rng, 33, 20_480)
    x = rng.uniform(0.9, 1, (25, 20_480)).astype(np.float32)
    layer[0][0] = -128
    b = found(name)
    out = b.linear_int8(*(on(b, each) for each in (x, *layer)))
    np.testing.assert_array_equal(numbers(b, out), oracle.linear(x, *layer))


@exact_backends
def test_int8_layers_accept_leading_axes_strides_and_views(name):
    rng = np.random.default_rng(0)
    layer = oracle.draw_layer(rng, 20, 24)
    wide = rng.standard_normal((2, 5, 48)).astype(np.float32)
    b = found(name)
    out = b.linear_int8(on(b, wide)[..., ::2], *(on(b, each) for each in layer))
    np.testing.assert_array_equal(numbers(b, out), oracle.linear(wide[..., ::2], *layer))
    turned = [
        on(b, np.ascontiguousarray(layer[0].T)).T,
        *(on(b, a) for a in layer[1:]),
    ]
    out = b.linear_int8(on(b, wide[..., ::2].copy()), *turned)
    np.testing.assert_array_equal(numbers(b, out), oracle.linear(wide[..., ::2], *layer))


@exact_backends
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_row_with_nan_or_infinity_does_not_affect_other_rows(name, bad):
    rng = np.random.default_rng(0)
    layer = oracle.draw_layer(rng, 9, 7)
    x = rng.standard_normal((4, 7)).astype(np.float32)
    expected = oracle.linear(x, *layer)
    x[2, 3] = bad
    b = found(name)
    out = numbers(b, b.linear_int8(*(on(b, each) for each in (x, *layer))))
    assert np.isnan(out[2]).all()
    np.testing.assert_array_equal(out[[0, 1, 3]], expected[[0, 1, 3]])


@exact_backends
def test_int8_queries_and_keys_are_rotated_like_floats(name):
    rng = np.random.default_rng(0)
    layer, b = oracle.draw_layer(rng, 48, 10), found(name)
    x, angles = rng.standard_normal((2, 9, 10)), rng.uniform(-9, 9, (2, 9, 2))
    given = [each.astype("f4") for each in (x, np.cos(angles), np.sin(angles))]
    out = b.rotary_linear_int8(
        *(on(b, each) for each in (given[0], *layer, *given[1:])), heads=4
    )
    whole = oracle.linear(given[0], *layer)
    eye = np.eye(48, dtype="f4")
    numpy: Any = backend("numpy")
    expected = numpy.rotary_linear(whole, eye, None, *given[1:], heads=4)
    for one, other in zip(out, expected, strict=True):
        np.testing.assert_allclose(numbers(b, one), other, rtol=1e-5, atol=1e-6)


def draw_feed_forward(rng: Any, width: int, hidden: int) -> list[Any]:
    """Draw all arguments of ``feed_forward_int8`` except `x`."""
    inner, outer = (
        oracle.draw_layer(rng, hidden, width),
        oracle.draw_layer(rng, width, hidden),
    )
    norm = rng.standard_normal((2, width)).astype("f4")
    return [*norm, *inner, *outer]


@exact_backends
@pytest.mark.parametrize("rows", [1, 50, 300])
def test_int8_feed_forward_equals_its_layers_in_sequence(name, rows):
    rng = np.random.default_rng(rows)
    x = rng.standard_normal((rows, 24)).astype("f4")
    given = draw_feed_forward(rng, 24, 96)
    inner: Any = given[2:6]
    outer: Any = [*given[6:], x]
    b = found(name)
    out = b.feed_forward_int8(*(on(b, each) for each in (x, *given)), eps=1e-5)
    # Float sums may differ in their last bits, so they may be rounded to different
    # integers.
    weight, bias = map(torch.tensor, given[:2])
    normal = F.layer_norm(torch.tensor(x), (24,), weight, bias)
    hidden = F.gelu(torch.tensor(oracle.linear(normal.numpy(), *inner))).numpy()
    expected = oracle.linear(hidden, *outer)
    error = np.abs(numbers(b, out) - expected).max() / np.abs(expected).max()
    assert error < 2e-3


@other_backends
def test_backends_without_int8_kernels_compute_int8_layers_in_floats(name):
    rng = np.random.default_rng(0)
    layer, b = oracle.draw_layer(rng, 48, 24), found(name)
    x, given = rng.standard_normal((6, 24)), draw_feed_forward(rng, 24, 40)
    angles = rng.uniform(-9, 9, (6, 2)).astype("f4")
    x = x.astype("f4")
    out = b.linear_int8(*(on(b, each) for each in (x, *layer)))
    truth = F.linear(torch.tensor(x).double(), *as_floats(layer))
    np.testing.assert_allclose(numbers(b, out), truth, rtol=1e-4, atol=1e-4)
    turns = np.cos(angles), np.sin(angles)
    parts = b.rotary_linear_int8(*(on(b, each) for each in (x, *layer, *turns)), heads=4)
    np.testing.assert_allclose(
        numbers(b, parts[2]).reshape(6, 16), truth[:, 32:], rtol=1e-4, atol=1e-4
    )
    out = b.feed_forward_int8(*(on(b, each) for each in (x, *given)), eps=1e-5)
    weight, bias = map(torch.tensor, given[:2])
    normal = F.layer_norm(torch.tensor(x), (24,), weight, bias).double()
    hidden = F.gelu(F.linear(normal, *as_floats(given[2:6])))
    truth = torch.tensor(x) + F.linear(hidden, *as_floats(given[6:]))
    np.testing.assert_allclose(numbers(b, out), truth, rtol=1e-3, atol=1e-3)


@settings(deadline=None, max_examples=20)
@given(
    count=st.integers(1, 400),
    first=st.integers(0, 399),
    some=st.integers(1, 60),
    threads=st.sampled_from([1, 2]),
)
def test_int8_results_of_a_row_are_bitwise_equal_alone_and_in_a_batch(
    count, first, some, threads
):
    rng = np.random.default_rng(count)
    x = rng.standard_normal((count, 24)).astype("f4")
    given = draw_feed_forward(rng, 24, 96)
    rows = slice(min(first, count - 1), min(first, count - 1) + some)
    whole = backend("numpy", num_threads=threads).feed_forward_int8(x, *given, eps=1e-5)
    alone = backend("numpy").feed_forward_int8(x[rows], *given, eps=1e-5)
    np.testing.assert_array_equal(alone, whole[rows])


@pytest.mark.parametrize("name", ["numpy", "torch", "strict", "jax"])
def test_empty_inputs_give_empty_results(name):
    b, layer = found(name), oracle.draw_layer(np.random.default_rng(0), 6, 4)
    none = b.zeros((0, 4), dtype="float32")
    layer = [on(b, each) for each in layer]
    assert b.linear_int8(none, *layer).shape == (0, 6)
    angles = [b.zeros((0, 1), dtype="float32")] * 2
    assert b.rotary_linear_int8(none, *layer, *angles, heads=1)[0].shape == (0, 1, 2)
    given = draw_feed_forward(np.random.default_rng(0), 4, 8)
    out = b.feed_forward_int8(none, *(on(b, each) for each in given), eps=1e-5)
    assert out.shape == (0, 4)


@exact_backends
def test_an_int8_layer_with_float64_inputs_computes_in_float64(name):
    rng = np.random.default_rng(0)
    layer, b = oracle.draw_layer(rng, 6, 4), found(name)
    x = rng.standard_normal((3, 4))
    out = b.linear_int8(on(b, x), *(on(b, each) for each in layer))
    truth = F.linear(torch.tensor(x), *as_floats(layer))
    np.testing.assert_allclose(numbers(b, out), truth, rtol=1e-5)
    assert numbers(b, out).dtype == np.float64


def test_the_gradient_of_an_int8_layer_is_that_of_the_float_layer():
    rng = np.random.default_rng(0)
    layer = oracle.draw_layer(rng, 6, 4)
    b = Autodiff(backend("numpy"))
    leaf = b.tensor(rng.standard_normal((3, 4)).astype("f4"), requires_grad=True)
    out = apply("linear_int8", leaf, *layer)
    slope = (out * out).sum().backward().wrt(leaf).numpy()
    truth = torch.tensor(leaf.detach().numpy()).double().requires_grad_()
    (F.linear(truth, *as_floats(layer)) ** 2).sum().backward()
    np.testing.assert_allclose(slope, np.asarray(truth.grad), rtol=1e-4)


@exact_backends
def test_a_compiled_step_gives_the_results_of_the_eager_step(name):
    rng = np.random.default_rng(0)
    b = sl.tensor.backend(name)
    x = b.tensor(rng.standard_normal((7, 24)).astype("f4"))
    layer = [b.tensor(each) for each in oracle.draw_layer(rng, 24, 24)]
    turns = [b.tensor(np.full((7, 2), value, "f4")) for value in (0.6, 0.8)]
    feed = [b.tensor(each) for each in draw_feed_forward(rng, 24, 40)]

    def step(x, layer, feed):
        x = apply("linear_int8", x * 2.0, *layer, x)
        _, _, v = apply("rotary_linear_int8", x, *layer, *turns, heads=2)
        x = v.reshape(7, 8).sum(axis=1, keepdims=True) + x
        return apply("feed_forward_int8", x, *feed, eps=1e-5)

    expected = step(x, layer, feed).numpy()
    found = sl.tensor.compile(step)(x, layer, feed).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-4)
