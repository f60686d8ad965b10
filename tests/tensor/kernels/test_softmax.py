"""Softmax, log-softmax and log-sum-exp over any axis, compared with PyTorch."""

from typing import Any

import numpy as np
import pytest
import torch

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom.tensor import backend

SHAPES_AND_AXES = [
    ((3, 40), -1),
    ((3, 40), 0),
    ((2, 5, 70), 1),
    ((7,), 0),
    ((), -1),
    ((0, 4), 1),
    ((4, 0), 1),
]
cases = pytest.mark.parametrize(("shape", "axis"), SHAPES_AND_AXES, ids=str)


@both_dtypes
@both_threads
@cases
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_and_its_gradient_equal_torch(
    name: str, shape: tuple[int, ...], axis: int, dtype: type, threads: int
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    x, grad = np.asarray(normal(shape, dtype)), np.asarray(normal(shape, dtype, 1))
    judge = leaf(x)
    expected = getattr(torch, name)(judge, axis)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    out = getattr(b, name)(x, axis=axis)
    assert_close(out, expected)
    assert_close(getattr(b, f"{name}_grad")(grad, out, axis=axis), judge.grad)


@both_dtypes
@pytest.mark.parametrize("axis", [0, -1, None, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_log_sum_exp_equals_torch(*, axis: Any, dtype: type, keepdims: bool) -> None:
    x = normal((5, 40), dtype)
    axes = (0, 1) if axis is None else axis
    expected = torch.logsumexp(leaf(x), axes, keepdim=keepdims)
    found = backend("numpy").logsumexp(x, axis=axis, keepdims=keepdims)
    assert_close(np.asarray(found), expected)


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_log_sum_exp_of_infinities_is_infinite(value: float) -> None:
    x = np.full((1, 3), value, np.float32)
    assert backend("numpy").logsumexp(x, axis=1).tolist() == [value]
