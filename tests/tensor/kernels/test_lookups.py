"""Embedding lookups and sums by index, compared with PyTorch."""

from typing import Any

import numpy as np
import pytest
import torch

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom.errors import SeqloomError
from seqloom.tensor import backend


@both_dtypes
@both_threads
@pytest.mark.parametrize("shape", [(8, 256), (3,), (), (0,)], ids=str)
def test_the_gradient_of_an_embedding_equals_torch(
    shape: tuple[int, ...], dtype: type, threads: int
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    weight = normal((33, 320), dtype)
    ids = np.random.default_rng(0).integers(0, 33, shape)
    judge = leaf(weight)
    expected = torch.nn.functional.embedding(torch.tensor(ids), judge)
    grad = np.asarray(normal((*shape, 320), dtype, 1))
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    assert_close(b.embedding(weight, ids), expected)
    assert_close(b.embedding_grad(grad, ids, rows=33), judge.grad)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    ids = np.random.default_rng(0).integers(0, 5, (2000,))
    grad = normal((2000, 64), np.float32)
    one, two = (
        backend("numpy", num_threads=n).embedding_grad(grad, ids, rows=5) for n in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_an_embedding_id_beyond_the_rows_is_an_error() -> None:
    grad = normal((2, 4), np.float32)
    with pytest.raises((SeqloomError, ValueError), match="ids"):
        backend("numpy").embedding_grad(grad, np.array([0, 7]), rows=5)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_add_sums_equal_torch(axis: int) -> None:
    x, src = normal((4, 5), np.float32), normal((3, 4), np.float32, 1)
    index = np.random.default_rng(0).integers(0, 4, (2, 3))
    expected = torch.tensor(x).scatter_add(axis, torch.tensor(index), torch.tensor(src))
    found = backend("numpy").scatter_add(x, index, src, axis=axis)
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-6)
