"""The fused kernels, each against PyTorch on the same numbers."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from seqloom._rust import _native

Array = NDArray[np.float32] | NDArray[np.float64]

DTYPES = [np.float32, np.float64]
TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-13}
THREADS = [1, 2]

pytestmark = pytest.mark.parametrize("dtype", DTYPES, ids=["float32", "float64"])


def normal(shape: tuple[int, ...], dtype: type, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def leaf(array: Array) -> torch.Tensor:
    """Widens to double: the oracle must be better than what it judges."""
    return torch.tensor(array, dtype=torch.float64, requires_grad=True)


def assert_close(found: Array, expected: torch.Tensor) -> None:
    expected_array = expected.detach().numpy()
    assert found.shape == expected_array.shape
    if not found.size:
        return
    scale = max(1.0, float(np.abs(expected_array).max()))
    error = float(np.abs(found - expected_array).max())
    assert error <= TOLERANCE[found.dtype] * scale


# x (n, c, l), weight (o, c, k), stride, padding, dilation
CONVOLUTIONS = {
    "one letter": ((1, 1, 1), (1, 1, 1), 1, 0, 1),
    "length one, padded": ((3, 2, 1), (5, 2, 3), 1, 1, 1),
    "nothing": ((0, 4, 9), (6, 4, 3), 1, 1, 1),
    "first layer": ((5, 4, 60), (64, 4, 9), 1, 4, 1),
    "inner layer": ((3, 24, 60), (20, 24, 5), 1, 2, 1),
    "wider padding than filter": ((2, 3, 7), (4, 3, 2), 1, 3, 1),
    "no padding": ((2, 3, 17), (7, 3, 4), 1, 0, 1),
    "stride": ((3, 5, 41), (9, 5, 7), 3, 2, 1),
    "dilation": ((3, 5, 41), (9, 5, 5), 1, 4, 3),
    "stride and dilation": ((2, 3, 50), (8, 3, 4), 2, 5, 3),
    "stride beyond the filter": ((2, 3, 23), (8, 3, 2), 5, 0, 1),
    "long": ((2, 4, 1500), (10, 4, 15), 1, 7, 1),
    "many channels": ((1, 300, 40), (70, 300, 3), 1, 1, 1),
}
convolutions = pytest.mark.parametrize(
    ("x_shape", "weight_shape", "stride", "padding", "dilation"),
    CONVOLUTIONS.values(),
    ids=CONVOLUTIONS.keys(),
)
threads_of_both_kinds = pytest.mark.parametrize("threads", THREADS)


@convolutions
@threads_of_both_kinds
def test_convolves_as_torch(
    dtype, x_shape, weight_shape, stride, padding, dilation, threads
):
    x, weight = normal(x_shape, dtype), normal(weight_shape, dtype, 1)
    bias = normal(weight_shape[:1], dtype, 2)
    expected = F.conv1d(leaf(x), leaf(weight), leaf(bias), stride, padding, dilation)
    out = np.full(expected.shape, np.nan, dtype)
    _native.conv1d(x, weight, bias, out, stride, padding, dilation, threads)
    assert_close(out, expected)


@convolutions
@threads_of_both_kinds
def test_sends_a_gradient_back_through_a_convolution_as_torch(
    dtype, x_shape, weight_shape, stride, padding, dilation, threads
):
    x, weight = leaf(normal(x_shape, dtype)), normal(weight_shape, dtype, 1)
    expected = F.conv1d(x, leaf(weight), None, stride, padding, dilation)
    grad = normal(tuple(expected.shape), dtype, 3)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out = np.full(x_shape, np.nan, dtype)
    _native.conv1d_input_grad(grad, weight, out, stride, padding, dilation, threads)
    assert x.grad is not None
    assert_close(out, x.grad)


@convolutions
@threads_of_both_kinds
def test_finds_the_gradient_of_the_weights_as_torch(
    dtype, x_shape, weight_shape, stride, padding, dilation, threads
):
    x, weight = normal(x_shape, dtype), leaf(normal(weight_shape, dtype, 1))
    bias = leaf(normal(weight_shape[:1], dtype, 2))
    expected = F.conv1d(leaf(x), weight, bias, stride, padding, dilation)
    grad = normal(tuple(expected.shape), dtype, 3)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out, out_bias = np.full(weight_shape, np.nan, dtype), np.full(weight_shape[:1], np.nan, dtype)
    _native.conv1d_weight_grad(x, grad, out, out_bias, stride, padding, dilation, threads)
    assert weight.grad is not None
    assert bias.grad is not None
    assert_close(out, weight.grad)
    assert_close(out_bias, bias.grad)


def test_a_convolution_needs_no_bias(dtype):
    x, weight = normal((2, 3, 8), dtype), normal((4, 3, 3), dtype, 1)
    out = np.empty((2, 4, 6), dtype)
    _native.conv1d(x, weight, None, out, 1, 0, 1, 1)
    assert_close(out, F.conv1d(leaf(x), leaf(weight)))


def test_a_wrong_output_shape_names_what_was_expected(dtype):
    x, weight = normal((2, 3, 8), dtype), normal((4, 3, 3), dtype, 1)
    with pytest.raises(ValueError, match=r"out: expected shape \[2, 4, 6\], got \[2, 4, 7\]"):
        _native.conv1d(x, weight, None, np.empty((2, 4, 7), dtype), 1, 0, 1, 1)


def test_a_filter_longer_than_the_row_is_an_error(dtype):
    x, weight = normal((2, 3, 4), dtype), normal((4, 3, 5), dtype, 1)
    with pytest.raises(ValueError, match="filter within the padded row"):
        _native.conv1d(x, weight, None, np.empty((2, 4, 0), dtype), 1, 0, 1, 1)


def test_an_array_with_gaps_is_an_error(dtype):
    x = normal((4, 6), dtype)
    with pytest.raises(ValueError, match="x: expected a C-contiguous array"):
        _native.relu(x[:, ::2], np.empty((4, 3), dtype), 1)


def test_arrays_of_two_types_are_an_error(dtype):
    other = np.float32 if dtype == np.float64 else np.float64
    with pytest.raises(TypeError, match="out: expected float"):
        _native.relu(normal((3,), dtype), np.empty(3, other), 1)


ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "sigmoid": torch.sigmoid}
activations = pytest.mark.parametrize("name", ACTIVATIONS)


@activations
@pytest.mark.parametrize("size", [0, 1, 7, 64, 20_001])
@threads_of_both_kinds
def test_activates_as_torch(dtype, name, size, threads):
    x = normal((size,), dtype) * dtype(4)
    out = np.full(size, np.nan, dtype)
    getattr(_native, name)(x, out, threads)
    assert_close(out, ACTIVATIONS[name](leaf(x)))


@activations
@pytest.mark.parametrize("size", [0, 1, 7, 64, 20_001])
@threads_of_both_kinds
def test_sends_a_gradient_back_through_an_activation_as_torch(dtype, name, size, threads):
    x, grad = normal((size,), dtype) * dtype(4), normal((size,), dtype, 1)
    point = leaf(x)
    output = ACTIVATIONS[name](point)
    output.backward(torch.tensor(grad, dtype=torch.float64))
    saved = x if name == "gelu" else output.detach().numpy().astype(dtype)
    out = np.full(size, np.nan, dtype)
    getattr(_native, f"{name}_grad")(grad, saved, out, threads)
    assert point.grad is not None
    assert_close(out, point.grad)


@activations
def test_an_activation_keeps_a_nan_and_bears_extremes(dtype, name):
    x = np.array([np.nan, np.inf, 1e30, -1e30], dtype)
    out = np.empty_like(x)
    getattr(_native, name)(x, out, 1)
    np.testing.assert_array_equal(out, ACTIVATIONS[name](torch.tensor(x)).numpy())


def test_gelu_keeps_its_digits_in_both_tails(dtype):
    x = np.linspace(-12, 12, 100_001, dtype=dtype)
    out = np.empty_like(x)
    _native.gelu(x, out, 1)
    wide = torch.tensor(x, dtype=torch.float64)
    expected = (wide * torch.special.erfc(-wide / 2**0.5) / 2).numpy()
    error = np.abs(out - expected) / np.maximum(np.abs(expected), 1e-37)
    assert (error < np.finfo(dtype).eps * (8 + x * x)).all()


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (5, 3), (64, 130), (700, 17)])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@threads_of_both_kinds
def test_softmax_is_torch_s(dtype, name, shape, threads):
    x = normal(shape, dtype) * dtype(20)
    out = np.full(shape, np.nan, dtype)
    getattr(_native, name)(x, out, threads)
    assert_close(out, getattr(F, name)(leaf(x), dim=1))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (64, 3), (700, 17)])
@threads_of_both_kinds
def test_cross_entropy_and_its_gradient_are_torch_s(dtype, shape, weighted, threads):
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
def test_a_label_that_is_no_class_is_an_error(dtype, label):
    logits = normal((2, 3), dtype)
    outs = np.empty(2, dtype), np.empty((2, 3), dtype)
    with pytest.raises(ValueError, match=f"from 0 to 3 .excluded., got {label}"):
        _native.cross_entropy(logits, np.array([0, label]), None, *outs, 1)


SHAPES = [(2, 1, 1), (1, 3, 5), (7, 5, 33), (64, 8, 60), (3, 2, 5000)]
shapes = pytest.mark.parametrize("shape", SHAPES, ids=str)


def masked(shape: tuple[int, ...], dtype: type) -> Array:
    """Rows that end early, the way that padded sequences do."""
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
@threads_of_both_kinds
def test_normalises_a_batch_and_sends_its_gradient_back(dtype, shape, with_mask, threads):
    x = normal(shape, dtype) + dtype(3)
    mask = masked(shape, dtype) if with_mask else None
    weight, bias = normal(shape[1:2], dtype, 1), normal(shape[1:2], dtype, 2)
    leaves = leaf(x), leaf(weight), leaf(bias)
    places = torch.tensor(np.ones_like(x[:, 0]) if mask is None else mask, dtype=torch.float64)
    expected, mean, variance = torch_batch_norm(leaves[0], places, *leaves[1:])
    out, out_mean, out_variance = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
    _native.batch_norm(x, mask, weight, bias, 1e-5, out, out_mean, out_variance, threads)
    assert_close(out_mean, mean)
    assert_close(out_variance, variance)
    if mask is None and x.size // shape[1] > 1:
        assert_close(out, F.batch_norm(leaves[0], None, None, *leaves[1:], training=True))
    assert_close(out, expected)
    grad = normal(shape, dtype, 3)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    outs = np.empty_like(x), np.empty_like(weight), np.empty_like(weight)
    _native.batch_norm_grad(
        x, grad, mask, weight, out_mean, out_variance, 1e-5, *outs, threads
    )
    for found, tensor in zip(outs, leaves, strict=True):
        assert tensor.grad is not None
        assert_close(found, tensor.grad)


def test_what_is_masked_may_be_anything(dtype):
    x, mask = normal((4, 2, 9), dtype), masked((4, 2, 9), dtype)
    spoilt = np.where(mask[:, None] > 0, x, np.nan).astype(dtype)
    ones, zeros = np.ones(2, dtype), np.zeros(2, dtype)
    outs = [[np.empty_like(x), np.empty(2, dtype), np.empty(2, dtype)] for _ in range(2)]
    _native.batch_norm(x, mask, ones, zeros, 1e-5, *outs[0], 1)
    _native.batch_norm(spoilt, mask, ones, zeros, 1e-5, *outs[1], 1)
    for clean, dirty in zip(*outs, strict=True):
        np.testing.assert_array_equal(clean, dirty)


def test_a_mean_far_from_zero_leaves_the_variance_its_digits(dtype):
    x = normal((64, 1, 61), dtype) + dtype(1000)
    outs = np.empty_like(x), np.empty(1, dtype), np.empty(1, dtype)
    _native.batch_norm(x, None, np.ones(1, dtype), np.zeros(1, dtype), 1e-5, *outs, 1)
    assert_close(outs[2], torch.tensor(x.astype(np.float64).var(keepdims=True)[0, 0]))


def test_a_batch_without_any_place_has_mean_and_variance_zero(dtype):
    x, ones = np.empty((0, 2, 5), dtype), np.ones(2, dtype)
    mean, variance = np.full(2, np.nan, dtype), np.full(2, np.nan, dtype)
    _native.batch_norm(x, None, ones, ones, 1e-5, x.copy(), mean, variance, 1)
    assert mean.tolist() == variance.tolist() == [0, 0]


@shapes
@threads_of_both_kinds
def test_scales_and_shifts_by_channel_where_the_mask_allows(dtype, shape, threads):
    x, mask = normal(shape, dtype), masked(shape, dtype)
    scale, shift = normal(shape[1:2], dtype, 1), normal(shape[1:2], dtype, 2)
    out = np.full_like(x, np.nan)
    _native.scale_shift(x, mask, scale, shift, out, threads)
    expected = (leaf(x) * leaf(scale)[:, None] + leaf(shift)[:, None]) * leaf(mask)[:, None]
    assert_close(out, expected)


@pytest.mark.parametrize("size", [0, 1, 2, 129, 100_003])
@threads_of_both_kinds
def test_dropout_keeps_what_its_words_allow(dtype, size, threads):
    x = normal((size,), dtype)
    out = np.full(size, np.nan, dtype)
    _native.dropout(x, 1, 2, 0.25, out, threads)
    words = [_native.threefry(1, 2, i, 0) for i in range((size + 1) // 2)]
    kept = np.array(words, np.uint32).reshape(-1)[:size] >= 2**30
    np.testing.assert_array_equal(out, np.where(kept, x * dtype(1 / 0.75), 0))


def test_dropout_at_rate_zero_keeps_everything(dtype):
    x = normal((1000,), dtype)
    out = np.empty_like(x)
    _native.dropout(x, 1, 2, 0.0, out, 1)
    np.testing.assert_array_equal(out, x)


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_rate_that_is_no_share_is_an_error(dtype, rate):
    x = normal((4,), dtype)
    with pytest.raises(ValueError, match="rate: expected a share"):
        _native.dropout(x, 1, 2, rate, x.copy(), 1)


# kernel, stride, padding
WINDOWS = [(1, 1, 0), (2, 2, 0), (3, 2, 1), (3, 1, 1), (4, 4, 2), (5, 3, 0)]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
@pytest.mark.parametrize("shape", [(0, 3, 5), (2, 3, 5), (9, 40, 61)], ids=str)
@threads_of_both_kinds
def test_pools_as_torch(dtype, shape, window, threads):
    x = normal(shape, dtype).round(1)
    point = leaf(x)
    expected, places = F.max_pool1d_with_indices(point, *window)
    out, indices = np.full(expected.shape, np.nan, dtype), np.empty(expected.shape, np.int64)
    _native.max_pool1d(x, *window, out, indices, threads)
    assert_close(out, expected)
    np.testing.assert_array_equal(indices, places.numpy())
    grad = normal(out.shape, dtype, 1)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out_x = np.full(shape, np.nan, dtype)
    _native.max_pool1d_grad(grad, indices, out_x, threads)
    assert point.grad is not None
    assert_close(out_x, point.grad)


def test_a_nan_wins_a_pool(dtype):
    x = np.array([[[1, np.nan, 3, 4]]], dtype)
    out, indices = np.empty((1, 1, 2), dtype), np.empty((1, 1, 2), np.int64)
    _native.max_pool1d(x, 2, 2, 0, out, indices, 1)
    np.testing.assert_array_equal(out, [[[np.nan, 4]]])
    assert indices.tolist() == [[[1, 3]]]


SIZES = [(64, 4, 9), (64,), (1,), (40_001,), (0,)]


@threads_of_both_kinds
def test_adamw_takes_torch_s_steps(dtype, threads):
    starts = [normal(size, dtype, index) for index, size in enumerate(SIZES)]
    decays = [0.1, 0.0, 0.01, 0.3, 0.0]
    twins = [leaf(start) for start in starts]
    groups = [{"params": [t], "weight_decay": d} for t, d in zip(twins, decays, strict=True)]
    rival = torch.optim.AdamW(groups, lr=0.01, betas=(0.8, 0.95), eps=1e-6)
    params = [start.copy() for start in starts]
    first, second = ([np.zeros_like(p) for p in params] for _ in range(2))
    for step in range(1, 6):
        grads = [normal(size, dtype, 10 * step + i) for i, size in enumerate(SIZES)]
        for twin, grad in zip(twins, grads, strict=True):
            twin.grad = torch.tensor(grad, dtype=torch.float64)
        rival.step()
        _native.adamw(
            params, grads, first, second, 0.01, 0.8, 0.95, 1e-6, decays, step, threads
        )
    for param, twin in zip(params, twins, strict=True):
        assert_close(param, twin)


def test_adamw_wants_as_many_gradients_as_parameters(dtype):
    p = normal((3,), dtype)
    with pytest.raises(ValueError, match="adamw: expected 2 of each"):
        _native.adamw([p, p.copy()], [p], [p], [p], 0.1, 0.9, 0.99, 1e-8, [0.0], 1, 1)


def test_two_threads_give_the_same_bits_every_time(dtype):
    x, grad = normal((33, 16, 60), dtype), normal((33, 24, 60), dtype, 1)
    outs = [np.empty((24, 16, 5), dtype) for _ in range(5)]
    for out in outs:
        _native.conv1d_weight_grad(x, grad, out, None, 1, 2, 1, 2)
    for out in outs[1:]:
        np.testing.assert_array_equal(out, outs[0])
