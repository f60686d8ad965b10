"""Fused Rust kernels, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom._rust import _native

pytestmark = both_dtypes


def test_a_kernel_rejects_an_array_with_gaps_in_memory(dtype):
    x = normal((4, 6), dtype)
    with pytest.raises(ValueError, match="x: expected a C-contiguous array"):
        _native.relu(x[:, ::2], np.empty((4, 3), dtype), 1)


def test_a_kernel_rejects_arrays_of_two_dtypes(dtype):
    other = np.float32 if dtype == np.float64 else np.float64
    with pytest.raises(TypeError, match="out: expected float"):
        _native.relu(normal((3,), dtype), normal((3,), other), 1)


ACTIVATION_FUNCTIONS = {"relu": F.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid}
activations = pytest.mark.parametrize("name", ACTIVATION_FUNCTIONS)


@activations
@pytest.mark.parametrize("size", [0, 1, 7, 64, 320_001])
@both_threads
def test_activation_kernels_equal_torch(dtype, name, size, threads):
    x = normal((size,), dtype) * dtype(4)
    out = np.full(size, np.nan, dtype)
    getattr(_native, name)(x, out, threads)
    assert_close(out, ACTIVATION_FUNCTIONS[name](leaf(x)))


@activations
@pytest.mark.parametrize("size", [0, 1, 7, 64, 320_001])
@both_threads
def test_activation_gradients_equal_torch(dtype, name, size, threads):
    x, grad = normal((size,), dtype) * dtype(4), normal((size,), dtype, 1)
    point = leaf(x)
    output = ACTIVATION_FUNCTIONS[name](point)
    output.backward(torch.tensor(grad, dtype=torch.float64))
    saved = x if name == "gelu" else output.detach().numpy().astype(dtype)
    out = np.full(size, np.nan, dtype)
    getattr(_native, f"{name}_grad")(grad, saved, out, threads)
    assert point.grad is not None
    assert_close(out, point.grad)


# Expected values are constants, because PyTorch's gelu(inf) is inf or NaN, depending on
# the CPU.
EXTREME_RESULTS = {
    "gelu": [np.nan, np.inf, 1e30, 0],
    "relu": [np.nan, np.inf, 1e30, 0],
    "sigmoid": [np.nan, 1, 1, 0],
}


@activations
def test_activations_handle_nan_and_extreme_inputs(dtype, name):
    x = np.array([np.nan, np.inf, 1e30, -1e30], dtype)
    out = np.empty_like(x)
    getattr(_native, name)(x, out, 1)
    np.testing.assert_array_equal(out, np.array(EXTREME_RESULTS[name], dtype))


def test_gelu_is_accurate_in_both_tails(dtype):
    x = np.linspace(-12, 12, 100_001, dtype=dtype)
    out = np.empty_like(x)
    _native.gelu(x, out, 1)
    wide = torch.tensor(x, dtype=torch.float64)
    expected = (wide * torch.special.erfc(-wide / 2**0.5) / 2).numpy()
    error = np.abs(out - expected) / np.maximum(np.abs(expected), 1e-37)
    assert (error < np.finfo(dtype).eps * (8 + 2 * x * x)).all()


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 3), (64, 130), (1000, 67)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@both_threads
def test_softmax_equals_torch(dtype, name, shape, threads):
    x = normal(shape, dtype) * dtype(20)
    out = np.full(shape, np.nan, dtype)
    getattr(_native, name)(x, out, threads)
    assert_close(out, getattr(F, name)(leaf(x), dim=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (64, 3), (1000, 67)])
@both_threads
def test_cross_entropy_kernel_and_its_gradient_equal_torch(dtype, shape, weighted, threads):
    logits = normal(shape, dtype) * dtype(5)
    labels = np.random.default_rng(1).integers(0, shape[1], shape[0])
    weights = np.abs(normal(shape[1:], dtype, 2)) if weighted else None
    point = leaf(logits)
    class_weights = None if weights is None else torch.tensor(weights, dtype=torch.float64)
    expected = F.cross_entropy(point, torch.tensor(labels), class_weights, reduction="none")
    expected.sum().backward()
    loss, grad = np.full(shape[:1], np.nan, dtype), np.full(shape, np.nan, dtype)
    _native.cross_entropy(logits, labels, weights, loss, grad, threads)
    assert point.grad is not None
    assert_close(loss, expected)
    assert_close(grad, point.grad)


@pytest.mark.parametrize("label", [-1, 3])
def test_a_label_outside_the_classes_is_an_error(dtype, label):
    logits = normal((2, 3), dtype)
    outs = np.empty(2, dtype), np.empty((2, 3), dtype)
    with pytest.raises(ValueError, match=f"from 0 to 3 .excluded., got {label}"):
        _native.cross_entropy(logits, np.array([0, label]), None, *outs, 1)


@pytest.mark.parametrize("size", [0, 1, 2, 129, 100_003])
@both_threads
def test_dropout_keeps_the_values_selected_by_the_random_words(dtype, size, threads):
    x = normal((size,), dtype)
    out = np.full(size, np.nan, dtype)
    _native.dropout(x, 1, 2, 0.25, out, threads)
    words = np.array([_native.threefry(1, 2, 0, i) for i in range(size)], np.uint32)
    words = words.reshape(size, 2)
    kept = (words[:, 0] ^ words[:, 1]) >> 9 < 0.75 * 2**23
    np.testing.assert_array_equal(out, np.where(kept, x * dtype(1 / 0.75), 0))


def test_dropout_at_rate_zero_keeps_everything(dtype):
    x = normal((1000,), dtype)
    out = np.empty_like(x)
    _native.dropout(x, 1, 2, 0.0, out, 1)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_dropout_rate_outside_0_to_1_is_an_error(dtype, rate):
    x = normal((4,), dtype)
    with pytest.raises(ValueError, match="rate: expected a fraction"):
        _native.dropout(x, 1, 2, rate, x.copy(), 1)


# Kernel size, stride and padding of pooling windows.
POOLING_WINDOWS = [(1, 1, 0), (2, 2, 0), (3, 2, 1), (3, 1, 1), (4, 4, 2), (5, 3, 0)]


@pytest.mark.parametrize("window", POOLING_WINDOWS, ids=str)
@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 3, 5), (9, 40, 61)], ids=str)
@both_threads
def test_pooling_equals_torch(dtype, shape, window, threads):
    x = normal(shape, dtype).round(1)
    point, (kernel, stride, padding) = leaf(x), window
    expected, places = F.max_pool1d_with_indices(point, *window)
    out = np.full(expected.shape, np.nan, dtype)
    indices = np.empty(expected.shape, np.int64)
    _native.max_pool1d(x, kernel, stride, padding, out, indices, threads)
    assert_close(out, expected)
    np.testing.assert_array_equal(indices, places.numpy())
    grad = normal(out.shape, dtype, 1)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out_x = np.full(shape, np.nan, dtype)
    _native.max_pool1d_grad(grad, indices, out_x, threads)
    assert point.grad is not None
    assert_close(out_x, point.grad)


def test_max_pooling_propagates_nan(dtype):
    x = np.array([[[1, np.nan, 3, 4]]], dtype)
    out, indices = np.empty((1, 1, 2), dtype), np.empty((1, 1, 2), np.int64)
    _native.max_pool1d(x, 2, 2, 0, out, indices, 1)
    np.testing.assert_array_equal(out, [[[np.nan, 4]]])
    assert indices.tolist() == [[[1, 3]]]


PARAMETER_SHAPES = [(64, 4, 9), (64,), (1,), (120_001,), (0,)]


@both_threads
def test_adamw_steps_equal_torch(dtype, threads):
    starts = [normal(size, dtype, index) for index, size in enumerate(PARAMETER_SHAPES)]
    decays = [0.1, 0.0, 0.01, 0.3, 0.0]
    twins = [leaf(start) for start in starts]
    groups = [
        {"params": [t], "weight_decay": d} for t, d in zip(twins, decays, strict=True)
    ]
    rival = torch.optim.AdamW(groups, lr=0.01, betas=(0.8, 0.95), eps=1e-6)
    params = [start.copy() for start in starts]
    first, second = ([np.zeros_like(p) for p in params] for _ in range(2))
    for step in range(1, 6):
        grads = [
            normal(size, dtype, 10 * step + i) for i, size in enumerate(PARAMETER_SHAPES)
        ]
        for twin, grad in zip(twins, grads, strict=True):
            twin.grad = torch.tensor(grad, dtype=torch.float64)
        rival.step()
        _native.adamw(
            params, grads, first, second, 0.01, 0.8, 0.95, 1e-6, decays, step, threads
        )
    for param, twin in zip(params, twins, strict=True):
        assert_close(param, twin)


def test_adamw_needs_one_gradient_per_parameter(dtype):
    p = normal((3,), dtype)
    with pytest.raises(ValueError, match="adamw: expected 2 grads"):
        _native.adamw([p, p.copy()], [p], [p], [p], 0.1, 0.9, 0.99, 1e-8, [0.0], 1, 1)
