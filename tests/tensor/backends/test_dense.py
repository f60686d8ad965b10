"""Fused layers of a transformer block, compared with basic operations of PyTorch."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.nn import functional as F

import seqloom as sl
from backend_oracle import Case, assert_agrees, everywhere, found, in_both, wide
from seqloom.tensor import Autodiff, apply, backend

ROWS, WIDTH, HIDDEN, HEADS = (2, 9), 24, 56, 4
ROTARY_ANGLES = np.random.default_rng(3).uniform(-9, 9, (*ROWS, WIDTH // HEADS // 2))
FEED_FORWARD_SHAPES = (
    (*ROWS, WIDTH),
    (WIDTH,),
    (WIDTH,),
    (HIDDEN, WIDTH),
    (HIDDEN,),
    (WIDTH, HIDDEN),
)
PROJECTION_SHAPES = ((*ROWS, WIDTH), (3 * WIDTH, WIDTH), (3 * WIDTH,))


def rotate(x, cosine, sine):
    """Apply rotary embeddings to whole heads, as most models do."""
    cosine, sine = (torch.cat([each, each], -1)[..., None, :] for each in (cosine, sine))
    first, second = x.chunk(2, -1)
    return x * cosine + torch.cat([-second, first], -1) * sine


def rotary_linear(x, weight, bias, cosine, sine, heads):
    """Apply a linear layer for queries, keys and values, then rotary embeddings."""
    parts = F.linear(x, weight, bias).unflatten(-1, (3, heads, -1))
    q, k, v = parts.unbind(-3)
    return rotate(q, cosine, sine), rotate(k, cosine, sine), v


def feed_forward(x, norm_weight, norm_bias, weight_in, bias_in, weight_out, bias_out, eps):
    """Apply layer norm, two linear layers with gelu between them, and the residual."""
    normal = F.layer_norm(x, x.shape[-1:], norm_weight, norm_bias, eps)
    hidden = F.gelu(F.linear(normal, weight_in, bias_in))
    return x + F.linear(hidden, weight_out, bias_out)


def linear_by_row(x, weight, bias=None, residual=None):
    """Apply a linear layer and add the residual."""
    out = F.linear(x, weight, bias)
    return out if residual is None else residual + out


@everywhere
@in_both
@pytest.mark.parametrize("rest", [(), ((56,),), ((56,), (*ROWS, 56))], ids=[0, 1, 2])
def test_linear_by_row_equals_the_linear_layer_of_torch_plus_the_residual(
    rest, name, dtype
):
    with wide(name, dtype):
        shapes = ((*ROWS, WIDTH), (HIDDEN, WIDTH), *rest)
        assert_agrees(found(name), Case("linear_by_row", shapes, linear_by_row), dtype)


@everywhere
@in_both
def test_queries_and_keys_are_rotated_by_their_angles(name, dtype):
    angles = np.cos(ROTARY_ANGLES).astype(dtype), np.sin(ROTARY_ANGLES).astype(dtype)
    case = Case(
        "rotary_linear", (*PROJECTION_SHAPES, *angles), rotary_linear, {"heads": HEADS}
    )
    with wide(name, dtype):
        assert_agrees(found(name), case, dtype)


@everywhere
@in_both
@pytest.mark.parametrize("last", [None, (WIDTH,)], ids=["no bias", "bias"])
def test_feed_forward_equals_the_layers_of_torch(last, name, dtype):
    case = Case("feed_forward", (*FEED_FORWARD_SHAPES, last), feed_forward, {"eps": 1e-5})
    with wide(name, dtype):
        assert_agrees(found(name), case, dtype)


@everywhere
@pytest.mark.parametrize("name_of", ["linear_by_row", "rotary_linear", "feed_forward"])
def test_empty_inputs_give_empty_results(name_of, name):
    b = found(name)
    none = b.zeros((0, WIDTH), dtype="float32")
    weights = [b.ones(shape, dtype="float32") for shape in FEED_FORWARD_SHAPES[1:]]
    angles = [b.zeros((0, 3), dtype="float32")] * 2
    square = b.ones((3 * WIDTH, WIDTH), dtype="float32")
    out = {
        "linear_by_row": lambda: b.linear_by_row(none, weights[2]),
        "rotary_linear": lambda: b.rotary_linear(none, square, None, *angles, heads=HEADS)[
            0
        ],
        "feed_forward": lambda: b.feed_forward(none, *weights, None, eps=1e-5),
    }[name_of]()
    assert out.shape[0] == 0


def draw(*shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape, dtype="float32") for shape in shapes]


@settings(deadline=None, max_examples=25)
@given(
    count=st.integers(1, 400),
    width=st.sampled_from([8, 24, 336]),
    first=st.integers(0, 399),
    some=st.integers(1, 60),
    threads=st.sampled_from([1, 2]),
)
def test_dense_results_of_a_row_are_bitwise_equal_alone_and_in_a_batch(
    count, width, first, some, threads
):
    first = min(first, count - 1)
    x, weight, inner, outer, angles = draw(
        (count, width),
        (3 * width, width),
        (2 * width, width),
        (width, 2 * width),
        (count, 4),
    )
    ones = np.ones(width, "float32")

    def apply_all(b, rows):
        cut = x[rows], np.cos(angles[rows]), np.sin(angles[rows])
        q, k, v = b.rotary_linear(cut[0], weight, None, *cut[1:], heads=width // 8)
        layer = b.linear_by_row(cut[0], weight, None, np.tile(cut[0], 3))
        fed = b.feed_forward(cut[0], ones, ones, inner, None, outer, None, eps=1e-5)
        return q, k, v, layer, fed

    rows = slice(first, first + some)
    together = apply_all(backend("numpy", num_threads=threads), slice(None))
    for alone, whole in zip(apply_all(backend("numpy"), rows), together, strict=True):
        np.testing.assert_array_equal(alone, whole[rows])


def test_transformer_operations_have_gradients():
    arrays = draw((6, 8), (24, 8), (24,), (6, 2), (8,), (8,), (16, 8), (16,), (8, 16), (8,))
    x, weight, bias, angles, *feed = arrays
    b = Autodiff(backend("numpy"))
    leaf = b.tensor(x, requires_grad=True)

    def ours(x):
        q, k, v = apply(
            "rotary_linear", x, weight, bias, np.cos(angles), np.sin(angles), heads=2
        )
        joined = (q * k + v).reshape(6, 8)
        layer = apply("linear_by_row", joined, feed[4][:, :8], None, x)
        return apply("feed_forward", layer, *feed, eps=1e-5)

    slope = ours(leaf).sum().backward().wrt(leaf).numpy()
    truth = torch.tensor(x, requires_grad=True, dtype=torch.float64)
    weight, bias, angles, *feed = (torch.tensor(each).double() for each in arrays[1:])
    turns = angles.cos(), angles.sin()
    q, k, v = rotary_linear(truth, weight, bias, *turns, heads=2)
    layer = linear_by_row((q * k + v).reshape(6, 8), feed[4][:, :8], None, truth)
    feed_forward(layer, *feed, eps=1e-5).sum().backward()
    np.testing.assert_allclose(slope, truth.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_half_precision_is_rotated_in_the_type_of_the_angles():
    b = sl.tensor.backend("torch")
    x, weight = draw((5, 8), (24, 8))
    angles = np.random.default_rng(1).uniform(0, 1000, (5, 2)).astype("float32")
    turns = b.asarray(np.cos(angles)), b.asarray(np.sin(angles))
    half: Any = [b.astype(b.asarray(each), "bfloat16") for each in (x, weight)]
    x, weight = half
    q, _, _ = b.rotary_linear(x, weight, None, *turns, heads=2)
    plain = F.linear(x, weight).unflatten(-1, (3, 2, 4))[:, 0].float()
    assert q.dtype == torch.bfloat16
    assert torch.equal(q, rotate(plain, *turns).bfloat16())


def draw_bfloat16(*shapes) -> Any:
    """Return normal random numbers in bfloat16, and the same numbers in torch float64."""
    arrays = [each.astype(ml_dtypes.bfloat16) for each in draw(*shapes)]
    return arrays, [torch.from_numpy(each.astype("float64")) for each in arrays]


def assert_rounded(found, expected):
    """Compare arrays with a tolerance of one bfloat16 rounding of the largest number."""
    assert found.dtype == ml_dtypes.bfloat16
    error = np.abs(found.astype("float64") - expected.numpy()).max()
    assert error <= float(expected.abs().max()) / 256


def test_a_bfloat16_layer_on_numpy_is_rounded_once():
    arrays, truth = draw_bfloat16((3, 41, WIDTH), (70, WIDTH), (70,), (3, 41, 70))
    assert_rounded(backend("numpy").linear_by_row(*arrays), linear_by_row(*truth))


def test_bfloat16_queries_on_numpy_are_rounded_once():
    arrays, truth = draw_bfloat16((50, WIDTH), (3 * WIDTH, WIDTH), (3 * WIDTH,))
    angles = np.random.default_rng(1).uniform(0, 1000, (50, 3)).astype("float32")
    arrays += [np.cos(angles), np.sin(angles)]
    truth += [torch.from_numpy(each).double() for each in arrays[3:]]
    found = backend("numpy").rotary_linear(*arrays, heads=HEADS)
    for part, expected in zip(found, rotary_linear(*truth, heads=HEADS), strict=True):
        assert_rounded(part, expected)


def test_a_bfloat16_feed_forward_on_numpy_is_rounded_once():
    arrays, truth = draw_bfloat16(*FEED_FORWARD_SHAPES, (WIDTH,))
    found = backend("numpy").feed_forward(*arrays, eps=1e-5)
    assert_rounded(found, feed_forward(*truth, eps=1e-5))


def test_a_compiled_step_gives_the_results_of_the_eager_step():
    x, weight, *feed = draw((7, 8), (24, 8), (8,), (8,), (16, 8), (16,), (8, 16), (8,))
    b = sl.tensor.backend("numpy")
    turns = [b.tensor(np.full((7, 2), value, "float32")) for value in (0.6, 0.8)]
    given = [b.tensor(each) for each in (x, weight, *feed)]

    def step(x, weight, *feed):
        q, k, v = apply("rotary_linear", x, weight, None, *turns, heads=2)
        layer = apply("linear_by_row", (q + k * v).reshape(7, 8), weight[:8], None, x)
        return apply("feed_forward", layer, *feed, eps=1e-5)

    expected = step(*given).numpy()
    np.testing.assert_allclose(sl.tensor.compile(step)(*given).numpy(), expected, rtol=1e-6)
