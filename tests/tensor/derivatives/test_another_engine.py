"""With PyTorch's autograd as a custom engine, gradients equal those of `Autodiff`."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.nn import functional as F

pytest.importorskip("torch")
from torch_engine import TorchEngine

TORCH = sl.tensor.backend("torch", num_threads=1)
OURS, THEIRS = sl.tensor.Autodiff(TORCH), TorchEngine(TORCH)
RANDOM_KEY = sl.Key(3)


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def attention(x, key=None):
    rate = 0.0 if key is None else 0.3
    return F.scaled_dot_product_attention(x, x, x, dropout_p=rate, rng=key)


FUNCTION_CASES: dict[str, tuple[Any, Any]] = {
    "linear": (F.linear, [values(3, 4), values(5, 4), values(5)]),
    "convolution": (F.conv1d, [values(2, 4, 9), values(3, 4, 3), values(3)]),
    "gelu": (F.gelu, [values(3, 4)]),
    "layer_norm": (lambda x, w: F.layer_norm(x, (4,), w), [values(3, 4), values(4)]),
    "batch_norm": (
        lambda x, w, b: F.batch_norm(x, w, b)[0],
        [values(3, 4, 5), values(4), values(4, seed=1)],
    ),
    "pooling": (lambda x: F.max_pool1d(x, 2), [values(2, 4, 8)]),
    "cross_entropy": (lambda x: F.cross_entropy(x, [2, 0, 1]), [values(3, 4)]),
    "dropout": (lambda x: F.dropout(x, 0.4, RANDOM_KEY), [values(3, 40)]),
    "attention": (attention, [values(1, 2, 5, 3)]),
    "attention with dropout": (lambda x: attention(x, RANDOM_KEY), [values(1, 2, 5, 3)]),
    "embedding": (lambda w: F.embedding([[1, 0, 1]], w), [values(3, 4)]),
    "stopped": (lambda x: sl.tensor.stop_gradient(x) * x, [values(3, 4)]),
}


@pytest.mark.parametrize("name", FUNCTION_CASES)
def test_torch_engine_gradients_equal_autodiff(name):
    function, arrays = FUNCTION_CASES[name]
    found = []
    for engine in (OURS, THEIRS):
        leaves = [engine.tensor(each, requires_grad=True) for each in arrays]
        grads = (function(*leaves) ** 2).sum().backward()
        found.append([grads.wrt(leaf).numpy() for leaf in leaves])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def test_a_module_trains_the_same_on_the_torch_engine():
    x = TORCH.tensor(values(4, 3).astype(np.float32))
    found = []
    for backend in (TORCH, THEIRS):
        model = sl.nn.Linear(3, 2).bind(backend, sl.Key(0))
        loss, grads = sl.nn.value_and_grad(lambda m, x: (m(x) ** 2).sum())(model, x)
        model = sl.optim.AdamW().step(0.1, model, grads)
        found.append((loss.item(), model.weight.numpy()))
    assert found[0][0] == pytest.approx(found[1][0])
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5)


def test_the_torch_engine_records_only_operations_in_value_and_grad():
    model = sl.nn.Linear(3, 2).bind(THEIRS, sl.Key(0))
    assert not model(TORCH.tensor(values(4, 3).astype(np.float32))).raw.requires_grad


def test_second_derivatives_follow_from_nesting():
    cube = sl.tensor.grad(sl.tensor.grad(lambda x: (x**3).sum()))
    assert cube(THEIRS.tensor(2.0)).item() == 12.0


def test_nested_derivatives_do_not_mix_their_variables():
    grad = sl.tensor.grad
    slope = grad(lambda x: x * grad(lambda y: x + y)(THEIRS.tensor(1.0)))
    assert slope(THEIRS.tensor(2.0)).item() == 1.0


def test_a_second_backward_pass_is_an_error():
    x = THEIRS.tensor([1.0, 2.0], requires_grad=True)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(sl.errors.GradientError, match="torch"):
        loss.backward()


def test_a_rule_of_custom_gradient_needs_autodiff():
    double = sl.tensor.custom_gradient(lambda x: x * 2, lambda _args, _out, grad: (grad,))
    with pytest.raises(sl.errors.GradientError, match=r"use sl\.tensor\.Autodiff"):
        double(THEIRS.tensor([1.0], requires_grad=True))
