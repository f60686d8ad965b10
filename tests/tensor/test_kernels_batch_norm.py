"""Rust kernels of batch normalisation, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from kernel_oracle import Array, assert_close, both_dtypes, both_threads, leaf, normal
from seqloom._rust import _native

pytestmark = both_dtypes


BATCH_NORM_SHAPES = [(2, 1, 1), (1, 3, 5), (7, 5, 33), (64, 45, 60), (3, 2, 5000)]
shapes = pytest.mark.parametrize("shape", BATCH_NORM_SHAPES, ids=str)


def masked(shape: tuple[int, ...], dtype: type) -> Array:
    """Return a mask of rows with different lengths, as in padded sequences."""
    lengths = np.random.default_rng(5).integers(1, shape[2] + 1, shape[0])
    return (np.arange(shape[2]) < lengths[:, None]).astype(dtype)


def torch_batch_norm(
    x: torch.Tensor, mask: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor
) -> tuple[torch.Tensor, ...]:
    count, mask = mask.sum(), mask[:, None, :]
    mean = (x * mask).sum((0, 2)) / count
    off = x - mean[:, None]
    variance = (off**2 * mask).sum((0, 2)) / count
    scaled = off / torch.sqrt(variance[:, None] + 1e-5) * weight[:, None] + bias[:, None]
    return scaled * mask, mean, variance


@shapes
@pytest.mark.parametrize("with_mask", [False, True])
@both_threads
def test_batch_norm_uses_only_unmasked_positions(dtype, shape, with_mask, threads):
    x, mask = normal(shape, dtype) + dtype(3), masked(shape, dtype)
    weight, bias = normal(shape[1:2], dtype, 1), normal(shape[1:2], dtype, 2)
    places = torch.tensor(mask if with_mask else np.ones_like(mask), dtype=torch.float64)
    expected = torch_batch_norm(leaf(x), places, leaf(weight), leaf(bias))
    out, mean, variance = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
    given = mask if with_mask else None
    _native.batch_norm(x, given, weight, bias, 1e-5, out, mean, variance, threads)
    for found, wanted in zip((out, mean, variance), expected, strict=True):
        assert_close(found, wanted)


@shapes
@pytest.mark.parametrize("with_mask", [False, True])
@both_threads
def test_batch_norm_gradients_respect_the_mask(dtype, shape, with_mask, threads):
    x, mask = normal(shape, dtype) + dtype(3), masked(shape, dtype)
    leaves = [leaf(x), *(leaf(normal(shape[1:2], dtype, seed)) for seed in (1, 2))]
    places = torch.tensor(mask if with_mask else np.ones_like(mask), dtype=torch.float64)
    expected, *moments = torch_batch_norm(leaves[0], places, leaves[1], leaves[2])
    grad = normal(shape, dtype, 3)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    weight, mean, variance = (
        t.detach().numpy().astype(dtype) for t in (leaves[1], *moments)
    )
    outs = np.empty_like(x), np.empty_like(mean), np.empty_like(mean)
    given = mask if with_mask else None
    _native.batch_norm_grad(x, grad, given, weight, mean, variance, 1e-5, *outs, threads)
    for found, tensor in zip(outs, leaves, strict=True):
        assert tensor.grad is not None
        assert_close(found, tensor.grad)


def test_batch_norm_equals_torch(dtype):
    x, weight, bias = (normal(s, dtype) for s in ((7, 5, 33), (5,), (5,)))
    out, mean, variance = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
    _native.batch_norm(x, None, weight, bias, 1e-5, out, mean, variance, 1)
    rival = F.batch_norm(leaf(x), None, None, leaf(weight), leaf(bias), training=True)
    assert_close(out, rival)


def test_masked_values_do_not_affect_batch_norm(dtype):
    x, mask = normal((4, 2, 9), dtype), masked((4, 2, 9), dtype)
    spoilt = np.where(mask[:, None] > 0, x, np.nan).astype(dtype)
    ones, zeros = np.ones(2, dtype), np.zeros(2, dtype)
    outs: list[tuple[Array, Array, Array]] = []
    for values in (x, spoilt):
        out = np.empty_like(x), np.empty(2, dtype), np.empty(2, dtype)
        _native.batch_norm(values, mask, ones, zeros, 1e-5, *out, 1)
        outs.append(out)
    for clean, dirty in zip(*outs, strict=True):
        np.testing.assert_array_equal(clean, dirty)


def test_batch_norm_variance_is_accurate_for_a_large_mean(dtype):
    x = normal((64, 1, 61), dtype) + dtype(1000)
    outs = np.empty_like(x), np.empty(1, dtype), np.empty(1, dtype)
    _native.batch_norm(x, None, np.ones(1, dtype), np.zeros(1, dtype), 1e-5, *outs, 1)
    assert_close(outs[2], torch.tensor(x.astype(np.float64).var(keepdims=True)[0, 0]))


def test_a_fully_masked_batch_has_mean_and_variance_zero(dtype):
    x, ones = np.empty((0, 2, 5), dtype), np.ones(2, dtype)
    mean, variance = np.full(2, np.nan, dtype), np.full(2, np.nan, dtype)
    _native.batch_norm(x, None, ones, ones, 1e-5, x.copy(), mean, variance, 1)
    assert mean.tolist() == variance.tolist() == [0, 0]


@shapes
@both_threads
def test_scale_shift_applies_to_unmasked_positions(dtype, shape, threads):
    x, mask = normal(shape, dtype), masked(shape, dtype)
    scale, shift = normal(shape[1:2], dtype, 1), normal(shape[1:2], dtype, 2)
    out = np.full_like(x, np.nan)
    _native.scale_shift(x, mask, scale, shift, out, threads)
    expected = (leaf(x) * leaf(scale)[:, None] + leaf(shift)[:, None]) * leaf(mask)[:, None]
    assert_close(out, expected)
