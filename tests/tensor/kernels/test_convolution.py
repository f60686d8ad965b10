"""Rust kernels of convolutions, compared with PyTorch."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings, strategies as st
from torch.nn import functional as F

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom._rust import _native
from seqloom.tensor import backend

# Shapes of input and weight, then stride, padding, dilation and groups.
CONVOLUTION_CASES = {
    "length one": ((1, 1, 1), (1, 1, 1), 1, 0, 1, 1),
    "length one, padded": ((3, 2, 1), (5, 2, 3), 1, 1, 1, 1),
    "nothing": ((0, 4, 9), (6, 4, 3), 1, 1, 1, 1),
    "first layer": ((5, 4, 60), (64, 4, 9), 1, 4, 1, 1),
    "inner layer": ((3, 24, 60), (20, 24, 5), 1, 2, 1, 1),
    "wider padding than filter": ((2, 3, 7), (4, 3, 2), 1, 3, 1, 1),
    "no padding": ((2, 3, 17), (7, 3, 4), 1, 0, 1, 1),
    "stride": ((3, 5, 41), (9, 5, 7), 3, 2, 1, 1),
    "dilation": ((3, 5, 41), (9, 5, 5), 1, 4, 3, 1),
    "stride and dilation": ((2, 3, 50), (8, 3, 4), 2, 5, 3, 1),
    "stride beyond the filter": ((2, 3, 23), (8, 3, 2), 5, 0, 1, 1),
    "long": ((2, 4, 1500), (10, 4, 15), 1, 7, 1, 1),
    "enough for two threads": ((33, 32, 60), (40, 32, 5), 1, 2, 1, 1),
    "many channels": ((3, 300, 40), (70, 300, 3), 1, 1, 1, 1),
    "many channels, stride and dilation": ((2, 60, 90), (30, 60, 4), 2, 3, 2, 1),
    "groups": ((2, 12, 30), (9, 4, 5), 1, 2, 1, 3),
    "a group for each channel": ((2, 6, 30), (12, 1, 5), 1, 2, 1, 6),
    "an image": ((3, 5, 11, 13), (7, 5, 3, 2), (1, 2), (1, 0), (2, 1), 1),
    "an image in groups": ((2, 6, 9, 8), (4, 3, 3, 3), 2, 1, 1, 2),
    "an image of many channels": ((3, 40, 15, 17), (50, 40, 3, 3), 1, 1, 1, 1),
}
convolutions = pytest.mark.parametrize(
    "sizes", CONVOLUTION_CASES.values(), ids=CONVOLUTION_CASES.keys()
)


class Case:
    """Random arrays of a convolution, with PyTorch's results in double precision."""

    def __init__(self, sizes, dtype):
        x_shape, weight_shape, stride, padding, dilation, groups = sizes
        steps = {"stride": stride, "padding": padding, "dilation": dilation}
        self.options = {**steps, "groups": groups}
        self.axes = len(x_shape) - 2
        self.x, self.weight = normal(x_shape, dtype), normal(weight_shape, dtype, 1)
        self.bias = normal(weight_shape[:1], dtype, 2)
        convolve: Any = F.conv1d if self.axes == 1 else F.conv2d
        self.leaves = [leaf(array) for array in (self.x, self.weight, self.bias)]
        self.expected = convolve(*self.leaves, **self.options)
        self.grad = normal(tuple(self.expected.shape), dtype, 3)

    def backward(self):
        self.expected.backward(torch.tensor(self.grad, dtype=torch.float64))
        return [leaf.grad for leaf in self.leaves]

    def call(self, name, *args, threads=1):
        b = backend("numpy", num_threads=threads)
        return getattr(b, name.replace("conv", f"conv{self.axes}d"))(*args, **self.options)


@convolutions
@both_threads
@both_dtypes
def test_convolution_equals_torch(dtype, sizes, threads):
    case = Case(sizes, dtype)
    out = case.call("conv", case.x, case.weight, case.bias, threads=threads)
    assert_close(out, case.expected)


@convolutions
@both_threads
@both_dtypes
def test_input_gradients_of_a_convolution_equal_torch(dtype, sizes, threads):
    case = Case(sizes, dtype)
    args = case.grad, case.weight, case.x.shape
    out = case.call("conv_input_grad", *args, threads=threads)
    assert_close(out, case.backward()[0])


@convolutions
@both_threads
@both_dtypes
def test_weight_and_bias_gradients_of_a_convolution_equal_torch(dtype, sizes, threads):
    case = Case(sizes, dtype)
    args = case.x, case.grad, case.weight.shape
    outs = case.call("conv_weight_grad", *args, threads=threads)
    for out, expected in zip(outs, case.backward()[1:], strict=True):
        assert_close(out, expected)


@settings(deadline=None, max_examples=50)
@given(
    counts=st.tuples(*[st.integers(1, 5)] * 3),
    size=st.integers(1, 40),
    kernel=st.integers(1, 6),
    stride=st.integers(1, 4),
    padding=st.integers(0, 5),
    dilation=st.integers(1, 3),
    groups=st.integers(1, 3),
)
def test_convolutions_of_random_geometry_equal_torch(
    counts, size, kernel, stride, padding, dilation, groups
):
    batch, channels, outputs = counts
    assume(size + 2 * padding > dilation * (kernel - 1))
    shapes = (batch, channels * groups, size), (outputs * groups, channels, kernel)
    case = Case((*shapes, stride, padding, dilation, groups), np.float64)
    assert_close(case.call("conv", case.x, case.weight, case.bias), case.expected)
    grads = case.backward()
    out = case.call("conv_input_grad", case.grad, case.weight, case.x.shape)
    assert_close(out, grads[0])
    out, _ = case.call("conv_weight_grad", case.x, case.grad, case.weight.shape)
    assert_close(out, grads[1])


@convolutions
def test_results_do_not_depend_on_the_number_of_threads(sizes):
    case = Case(sizes, np.float32)
    outs = [
        [
            case.call("conv", case.x, case.weight, threads=threads),
            case.call(
                "conv_input_grad", case.grad, case.weight, case.x.shape, threads=threads
            ),
            *case.call(
                "conv_weight_grad", case.x, case.grad, case.weight.shape, threads=threads
            ),
        ]
        for threads in (1, 2, 4)
    ]
    for first, *others in zip(*outs, strict=True):
        assert all(other.tobytes() == first.tobytes() for other in others)


@pytest.mark.parametrize("output_padding", [0, 1])
@both_dtypes
def test_a_transposed_convolution_equals_torch(dtype, output_padding):
    x, weight, bias = (
        normal((2, 6, 9), dtype),
        normal((6, 4, 5), dtype, 1),
        normal((8,), dtype, 2),
    )
    options = {"stride": 2, "padding": 1, "output_padding": output_padding, "groups": 2}
    out = backend("numpy").conv_transpose1d(x, weight, bias, **options)
    assert_close(out, F.conv_transpose1d(leaf(x), leaf(weight), leaf(bias), **options))


def test_a_convolution_can_write_to_an_output_array():
    x, weight = normal((2, 3, 8), np.float32), normal((4, 3, 3), np.float32, 1)
    out = np.full((2, 4, 6), np.nan, np.float32)
    b: Any = backend("numpy")
    assert b.conv1d(x, weight, out=out) is out
    assert_close(out, F.conv1d(leaf(x), leaf(weight)))


def test_a_wrong_output_shape_is_an_error_that_names_the_expected_one():
    x, weight = np.zeros((2, 3, 1, 8)), np.zeros((4, 3, 1, 3))
    steps, out = ((1, 1), (0, 0), (1, 1)), np.zeros((2, 4, 1, 7))
    with pytest.raises(ValueError, match=r"out: expected shape \[2, 4, 1, 6\]"):
        _native.conv2d(x, weight, None, out, steps, 1, 1)


def test_a_convolution_filter_longer_than_the_row_is_an_error():
    x, weight = np.zeros((2, 3, 1, 4)), np.zeros((4, 3, 1, 5))
    steps, out = ((1, 1), (0, 0), (1, 1)), np.zeros((2, 4, 1, 0))
    with pytest.raises(ValueError, match="filter within the padded positions"):
        _native.conv2d(x, weight, None, out, steps, 1, 1)
