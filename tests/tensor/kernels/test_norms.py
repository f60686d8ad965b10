"""Layer norm and RMS norm, compared with PyTorch in double precision."""

from typing import Any

import numpy as np
import pytest
import torch

from kernel_oracle import assert_close, both_dtypes, both_threads, leaf, normal
from seqloom.tensor import backend

shapes = pytest.mark.parametrize(
    "shape", [(2, 3, 320), (70, 33), (5,), (1, 1), (3, 1000)], ids=str
)
affine = pytest.mark.parametrize("with_affine", [True, False])


@both_dtypes
@both_threads
@affine
@shapes
def test_layer_norm_and_its_gradients_equal_torch(
    *, shape: tuple[int, ...], dtype: type, threads: int, with_affine: bool
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    x, grad = normal(shape, dtype), normal(shape, dtype, 1)
    weight, bias = normal(shape[-1:], dtype, 2), normal(shape[-1:], dtype, 3)
    given = (weight, bias) if with_affine else (None, None)
    out, mean, rstd = b.layer_norm(x, *given, eps=1e-5)
    leaves = leaf(x), leaf(weight if with_affine else np.ones_like(weight)), leaf(bias)
    expected = torch.nn.functional.layer_norm(leaves[0], shape[-1:], *leaves[1:], 1e-5)
    expected = expected if with_affine else expected - leaves[2]
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    assert_close(out, expected)
    found = b.layer_norm_grad(grad, x, given[0], mean, rstd)
    assert_close(found[0], leaves[0].grad)
    assert_close(found[1], leaves[1].grad)
    np.testing.assert_allclose(
        found[2], grad.reshape(-1, shape[-1]).sum(0), rtol=1e-4, atol=1e-5
    )


@both_dtypes
@both_threads
@affine
@shapes
def test_rms_norm_and_its_gradients_equal_torch(
    *, shape: tuple[int, ...], dtype: type, threads: int, with_affine: bool
) -> None:
    b: Any = backend("numpy", num_threads=threads)
    x, grad = normal(shape, dtype), normal(shape, dtype, 1)
    weight = normal(shape[-1:], dtype, 2)
    given = weight if with_affine else None
    out, rstd = b.rms_norm(x, given, eps=1e-5)
    leaves = leaf(x), leaf(weight if with_affine else np.ones_like(weight))
    expected = torch.nn.functional.rms_norm(leaves[0], shape[-1:], leaves[1], 1e-5)
    expected.backward(torch.tensor(grad, dtype=torch.float64))
    assert_close(out, expected)
    found = b.rms_norm_grad(grad, x, given, rstd)
    assert_close(found[0], leaves[0].grad)
    assert_close(found[1], leaves[1].grad)


def test_layer_norm_is_accurate_for_a_large_mean() -> None:
    x = (normal((7, 33), np.float32) + np.float32(1000)).astype(np.float32)
    out = backend("numpy").layer_norm(x, None, None, eps=1e-5)[0]
    expected = torch.nn.functional.layer_norm(torch.tensor(x).double(), (33,))
    np.testing.assert_allclose(out, expected.numpy(), atol=2e-3)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    x, grad = normal((5000, 48), np.float32), normal((5000, 48), np.float32, 1)

    def run_all(threads: int) -> list[Any]:
        b = backend("numpy", num_threads=threads)
        out = b.layer_norm(x, None, None, eps=1e-5)
        return [*out, *b.layer_norm_grad(grad, x, None, *out[1:])]

    for one, two in zip(run_all(1), run_all(2), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("shape", [(0, 4), (2, 0, 4)])
def test_norms_of_empty_arrays_give_zero_gradients(shape: tuple[int, ...]) -> None:
    b: Any = backend("numpy")
    x = np.empty(shape, np.float32)
    out, mean, rstd = b.layer_norm(x, None, None, eps=1e-5)
    assert out.shape == shape
    found = b.layer_norm_grad(x, x, None, mean, rstd)
    assert found[0].shape == shape
    assert (found[1] == 0).all()
