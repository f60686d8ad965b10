"""Normalisation on every backend, compared with PyTorch."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from backend_oracle import Case, assert_agrees, everywhere, found, in_both, wide

EPSILON_ARGUMENT = {"eps": 1e-3}
SHAPES_OF_NORM_INPUTS = {
    "with weight": ((2, 3, 6), (6,), (6,)),
    "bare": ((2, 3, 6), None, None),
}


def layer_norm(x, weight, bias, eps):
    """Return PyTorch's layer norm, and None for the mean and the variance."""
    return torch.native_layer_norm(x, x.shape[-1:], weight, bias, eps)[0], None, None


def torch_gradients(function, arrays, grad):
    """Return the float64 gradients of a function for all arrays that are not None."""
    leaves = [
        a if a is None else torch.from_numpy(a).double().requires_grad_() for a in arrays
    ]
    out = function(*leaves)
    followed = [leaf for leaf in leaves if leaf is not None]
    return torch.autograd.grad(out, followed, torch.from_numpy(grad).double())


def assert_close(b, got, expected):
    for mine, truth in zip(got, expected, strict=False):
        np.testing.assert_allclose(b.to_numpy(mine), truth, rtol=1e-4, atol=1e-4)


@everywhere
@in_both
@pytest.mark.parametrize(
    "shapes", SHAPES_OF_NORM_INPUTS.values(), ids=SHAPES_OF_NORM_INPUTS
)
def test_layer_norm_and_its_gradient_equal_torch(shapes, name, dtype):
    with wide(name, dtype):
        b = found(name)
        case = Case("layer_norm", shapes, layer_norm, EPSILON_ARGUMENT)
        assert_agrees(b, case, dtype)
        arrays = case.arrays(dtype)
        grad = np.random.default_rng(2).standard_normal(shapes[0]).astype(dtype)
        expected = torch_gradients(
            lambda x, w=None, c=None: F.layer_norm(x, (6,), w, c, 1e-3), arrays, grad
        )
        x, weight, bias = (None if a is None else b.asarray(a) for a in arrays)
        _, mean, rstd = b.layer_norm(x, weight, bias, **EPSILON_ARGUMENT)
        assert_close(b, b.layer_norm_grad(b.asarray(grad), x, weight, mean, rstd), expected)


@everywhere
@in_both
@pytest.mark.parametrize(
    "shapes", [((2, 3, 6), (6,)), ((2, 3, 6), None)], ids=SHAPES_OF_NORM_INPUTS
)
def test_rms_norm_and_its_gradient_equal_torch(shapes, name, dtype):
    def oracle(x, weight, eps):
        return F.rms_norm(x, (6,), weight, eps), None

    with wide(name, dtype):
        b = found(name)
        case = Case("rms_norm", shapes, oracle, EPSILON_ARGUMENT)
        assert_agrees(b, case, dtype)
        arrays = case.arrays(dtype)
        grad = np.random.default_rng(2).standard_normal(shapes[0]).astype(dtype)
        expected = torch_gradients(
            lambda x, w=None: F.rms_norm(x, (6,), w, 1e-3), arrays, grad
        )
        x, weight = (None if a is None else b.asarray(a) for a in arrays)
        rstd = b.rms_norm(x, weight, **EPSILON_ARGUMENT)[1]
        assert_close(b, b.rms_norm_grad(b.asarray(grad), x, weight, rstd), expected)


def masked_norm(x, weight, bias, mask):
    """Compute batch norm over the unmasked positions with basic PyTorch operations."""
    wide_mask = mask[:, None]
    mean = (x * wide_mask).sum((0, 2)) / mask.sum()
    centred = x - mean[:, None]
    variance = (centred.square() * wide_mask).sum((0, 2)) / mask.sum()
    scaled = centred / (variance + 1e-3).sqrt()[:, None]
    return (scaled * weight[:, None] + bias[:, None]) * wide_mask, mean, variance


@everywhere
@in_both
@pytest.mark.parametrize("masked", [False, True])
def test_batch_norm_and_its_gradient_equal_torch(masked, name, dtype):
    rng = np.random.default_rng(4)
    x, weight, bias, grad = (
        rng.standard_normal(shape).astype(dtype)
        for shape in ((3, 2, 5), (2,), (2,), (3, 2, 5))
    )
    mask = (np.arange(5) < np.array([[5], [3], [2]])).astype(dtype)
    mask = mask if masked else np.ones_like(mask)
    keep = torch.from_numpy(mask).double()
    expected = torch_gradients(
        lambda x, weight, bias: masked_norm(x, weight, bias, keep)[0],
        [x, weight, bias],
        grad,
    )
    wide_x, *rest = (torch.from_numpy(a).double() for a in (x, weight, bias))
    forward = masked_norm(wide_x, rest[0], rest[1], keep)
    with wide(name, dtype):
        b = found(name)
        x, weight, bias, grad = (b.asarray(a) for a in (x, weight, bias, grad))
        given = b.asarray(mask) if masked else None
        out = b.batch_norm(x, weight, bias, given, eps=1e-3)
        assert_close(b, out, forward)
        got = b.batch_norm_grad(grad, x, weight, given, *out[1:], eps=1e-3)
        assert_close(b, got, expected)


@everywhere
def test_scale_shift_leaves_padding_zero(name):
    b = found(name)
    x, mask = b.ones((1, 2, 3)), b.asarray([[1.0, 1.0, 0.0]])
    out = b.scale_shift(x, b.asarray([2.0, 3.0]), b.asarray([1.0, 1.0]), mask)
    assert np.asarray(b.to_numpy(out)).tolist() == [[[3, 3, 0], [4, 4, 0]]]
