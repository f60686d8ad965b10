"""Hessian-vector products of every backend agree with PyTorch."""

import numpy as np
import pytest

import seqloom as sl
from conformance.backends import BACKEND_NAMES, backend, wide
from seqloom.tensor import apply, grad, hvp

torch = pytest.importorskip("torch")
F, T = sl.nn.functional, torch.nn.functional
CLASS_LABELS = np.array([0, 2, 1, 2])


def values(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


# Function with seqloom, the same function with PyTorch, and its arguments.
NETWORKS = {
    "MLP": (
        lambda x, w, v: (F.sigmoid(F.linear(apply("tanh", F.linear(x, w)), v)) ** 2).sum(),
        lambda x, w, v: (torch.sigmoid(T.linear(torch.tanh(T.linear(x, w)), v)) ** 2).sum(),
        [values(4, 3), values(5, 3, seed=1), values(2, 5, seed=2)],
    ),
    "relu MLP": (
        lambda x, w, v: (F.linear(F.relu(F.linear(x, w)), v) ** 2).sum(),
        lambda x, w, v: (T.linear(torch.relu(T.linear(x, w)), v) ** 2).sum(),
        [values(4, 3), values(5, 3, seed=1), values(2, 5, seed=2)],
    ),
    "convolution": (
        lambda x, w, b: (F.gelu(F.conv1d(x, w, b, padding=2)) ** 2).sum(),
        lambda x, w, b: (T.gelu(T.conv1d(x, w, b, padding=2)) ** 2).sum(),
        [values(2, 3, 9), values(4, 3, 5, seed=1), values(4, seed=2)],
    ),
    "pooled convolution": (
        lambda x, w: (F.max_pool1d(F.conv1d(x, w), 2) ** 3).sum(),
        lambda x, w: (T.max_pool1d(T.conv1d(x, w), 2) ** 3).sum(),
        [values(2, 3, 9), values(4, 3, 4, seed=1)],
    ),
    "layer_norm": (
        lambda x, w, b: (F.layer_norm(x, (5,), w, b) ** 3).sum(),
        lambda x, w, b: (T.layer_norm(x, (5,), w, b) ** 3).sum(),
        [values(4, 5), values(5, seed=1), values(5, seed=2)],
    ),
    "batch_norm": (
        lambda x, w, b: (_batch_norm(x, w, b) ** 3).sum(),
        lambda x, w, b: (T.batch_norm(x, None, None, w, b, training=True) ** 3).sum(),
        [values(4, 3, 5), values(3, seed=1), values(3, seed=2)],
    ),
    "attention": (
        lambda q, k, v: (F.scaled_dot_product_attention(q, k, v) ** 2).sum(),
        lambda q, k, v: (T.scaled_dot_product_attention(q, k, v) ** 2).sum(),
        [values(2, 2, 4, 3), values(2, 2, 4, 3, seed=1), values(2, 2, 4, 3, seed=2)],
    ),
    "cross_entropy": (
        lambda x: F.cross_entropy(x**3, CLASS_LABELS),
        lambda x: T.cross_entropy(x**3, torch.tensor(CLASS_LABELS)),
        [values(4, 3)],
    ),
}


def _batch_norm(x, w, b):
    return apply("batch_norm", x, w, b, eps=1e-5)[0]


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("library", BACKEND_NAMES)
def test_hessian_vector_products_agree_with_torch(library, network):
    ours, theirs, arrays = NETWORKS[network]
    directions = [values(*each.shape, seed=9) for each in arrays]
    with wide(library):
        plain = backend(library)
        inputs, along = (tuple(map(plain.tensor, each)) for each in (arrays, directions))
        value, products = hvp(ours, inputs, along)
        found = [each.numpy() for each in products]
    expected, wanted = _torch_hvp(theirs, arrays, directions)
    assert value.item() == pytest.approx(expected.item(), rel=1e-10)
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other.numpy(), rtol=1e-7, atol=1e-9)


def _torch_hvp(function, arrays, directions):
    """Return PyTorch's value and Hessian-vector product, without fused attention."""
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
        return torch.autograd.functional.hvp(
            function,
            tuple(map(torch.tensor, arrays)),
            tuple(map(torch.tensor, directions)),
        )


@pytest.mark.parametrize("library", BACKEND_NAMES)
def test_an_inner_derivative_treats_outer_variables_as_constants(library):
    plain = backend(library)
    inner = grad(lambda y, x: x + y)
    outer = grad(lambda x: x * inner(plain.tensor(1.0), x))
    assert outer(plain.tensor(2.0)).item() == 1.0


@pytest.mark.parametrize("library", BACKEND_NAMES)
def test_nested_autodiff_backends_compute_second_derivatives(library):
    first = sl.tensor.Autodiff(backend(library))
    second = sl.tensor.Autodiff(first)
    x = first.tensor(3.0, requires_grad=True)
    y = sl.tensor.Tensor(second.leaf(x.raw), second)
    slope = (y * y * y).backward().wrt(y)
    assert slope.backward().wrt(x).item() == 18.0
