"""The convolution kernels, against PyTorch on the same numbers."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom._rust import _native

pytestmark = both_dtypes


# The shapes of x and of the weights, then stride, padding and dilation.
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
    "enough for two threads": ((33, 32, 60), (40, 32, 5), 1, 2, 1),
    "many channels": ((1, 300, 40), (70, 300, 3), 1, 1, 1),
}
convolutions = pytest.mark.parametrize(
    ("x_shape", "weight_shape", "stride", "padding", "dilation"),
    CONVOLUTIONS.values(),
    ids=CONVOLUTIONS.keys(),
)


@convolutions
@both_threads
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
@both_threads
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
@both_threads
def test_finds_the_gradient_of_the_weights_as_torch(
    dtype, x_shape, weight_shape, stride, padding, dilation, threads
):
    x, weight = normal(x_shape, dtype), leaf(normal(weight_shape, dtype, 1))
    bias = leaf(normal(weight_shape[:1], dtype, 2))
    expected = F.conv1d(leaf(x), weight, bias, stride, padding, dilation)
    grad = normal(tuple(expected.shape), dtype, 3)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out, out_bias = (
        np.full(weight_shape, np.nan, dtype),
        np.full(weight_shape[:1], np.nan, dtype),
    )
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
    with pytest.raises(
        ValueError, match=r"out: expected shape \[2, 4, 6\], got \[2, 4, 7\]"
    ):
        _native.conv1d(x, weight, None, np.empty((2, 4, 7), dtype), 1, 0, 1, 1)


def test_a_filter_longer_than_the_row_is_an_error(dtype):
    x, weight = normal((2, 3, 4), dtype), normal((4, 3, 5), dtype, 1)
    with pytest.raises(ValueError, match="filter within the padded row"):
        _native.conv1d(x, weight, None, np.empty((2, 4, 0), dtype), 1, 0, 1, 1)


def test_two_threads_give_the_same_bits_every_time(dtype):
    x, grad = normal((33, 16, 60), dtype), normal((33, 24, 60), dtype, 1)
    outs = [np.empty((24, 16, 5), dtype) for _ in range(5)]
    for out in outs:
        _native.conv1d_weight_grad(x, grad, out, None, 1, 2, 1, 2)
    for out in outs[1:]:
        np.testing.assert_array_equal(out, outs[0])
