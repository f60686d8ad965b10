"""The gradients of `scan` equal those of an unrolled loop."""

from functools import reduce
from operator import add

import numpy as np
import pytest

import seqloom as sl
from seqloom.tensor import Autodiff, Tensor

torch = pytest.importorskip("torch")
NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF_LEVEL_1 = Autodiff(NUMPY)
AUTODIFF_LEVEL_2 = Autodiff(AUTODIFF_LEVEL_1)


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


H, X, W = values(2, 3), values(5, 2, 3, seed=1), values(3, 3, seed=2)


def ours(b, h, x, w, *, reverse=False):
    """Return a loss that depends on all states of a small recurrent network."""

    def body(carry, read):
        state, count = carry
        state = b.tanh(b.add(b.matmul(state, w), read[0]))
        return [state, b.add(count, 1)], [b.square(state)]

    count = b.inner.zeros((), dtype="int64") if isinstance(b, Autodiff) else b.zeros(())
    (last, count), (seen,) = b.scan(body, [h, count], [x], length=5, reverse=reverse)
    assert int(b.to_numpy(count)) == 5
    return b.add(b.sum(b.multiply(last, last)), b.sum(b.multiply(seen, seen)))


def theirs(h, x, w, *, reverse=False):
    total = 0
    for read in reversed(x) if reverse else x:
        h = torch.tanh(h @ w + read)
        total = total + (h**4).sum()
    return total + (h * h).sum()


@pytest.mark.parametrize("reverse", [False, True])
def test_loop_gradients_of_state_inputs_and_weights_equal_torch(reverse):
    leaves = [AUTODIFF_LEVEL_1.tensor(each, requires_grad=True) for each in (H, X, W)]
    loss = Tensor(
        ours(AUTODIFF_LEVEL_1, *(leaf.raw for leaf in leaves), reverse=reverse),
        AUTODIFF_LEVEL_1,
    )
    grads = loss.backward()
    points = [torch.tensor(each, requires_grad=True) for each in (H, X, W)]
    expected = torch.autograd.grad(torch_second_derivatives(points, reverse), points)
    for leaf, other in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(grads.wrt(leaf).numpy(), other.numpy(), rtol=1e-10)


def torch_second_derivatives(points, reverse):
    h, x, w = points
    return theirs(h, list(x), w, reverse=reverse)


def test_second_derivatives_equal_torch():
    ways = [values(*each.shape, seed=4) for each in (H, X, W)]
    outer = [AUTODIFF_LEVEL_1.tensor(each, requires_grad=True) for each in (H, X, W)]
    leaves = [Tensor(AUTODIFF_LEVEL_2.leaf(each.raw), AUTODIFF_LEVEL_2) for each in outer]
    loss = Tensor(ours(AUTODIFF_LEVEL_2, *(leaf.raw for leaf in leaves)), AUTODIFF_LEVEL_2)
    grads = loss.backward()
    pairs = zip(leaves, ways, strict=True)
    parts = [(grads.wrt(leaf) * way).sum() for leaf, way in pairs]
    found = reduce(add, parts).backward()
    expected = torch.autograd.functional.hvp(
        lambda *points: torch_second_derivatives(points, reverse=False),
        tuple(map(torch.tensor, (H, X, W))),
        tuple(map(torch.tensor, ways)),
    )[1]
    for leaf, other in zip(outer, expected, strict=True):
        np.testing.assert_allclose(found.wrt(leaf).numpy(), other.numpy(), rtol=1e-8)


def test_a_loop_of_one_step_has_a_gradient():
    w = AUTODIFF_LEVEL_1.tensor(W, requires_grad=True)

    def body(carry, _):
        return [AUTODIFF_LEVEL_1.matmul(carry[0], w.raw)], []

    (last,), _ = AUTODIFF_LEVEL_1.scan(body, [NUMPY.asarray(H)], [], length=1)
    found = Tensor(AUTODIFF_LEVEL_1.sum(last), AUTODIFF_LEVEL_1).backward().wrt(w).numpy()
    np.testing.assert_allclose(found, H.T @ np.ones((2, 3)), rtol=1e-12)


def test_a_loop_over_untracked_tensors_is_not_recorded():
    def body(carry, _):
        return [AUTODIFF_LEVEL_1.add(carry[0], 1.0)], []

    (last,), _ = AUTODIFF_LEVEL_1.scan(body, [NUMPY.asarray(H)], [], length=3)
    assert isinstance(last, np.ndarray)


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_gradients_of_recurrent_networks_equal_torch(name):
    gates = 3 if name == "gru" else 4
    arrays = [
        values(2, 5, 4),
        values(2, 3, seed=3),
        *([values(2, 3, seed=4)] if name == "lstm" else []),
        values(gates * 3, 4),
        values(gates * 3, 3),
        values(gates * 3),
        values(gates * 3, seed=1),
    ]
    leaves = [AUTODIFF_LEVEL_1.tensor(each, requires_grad=True) for each in arrays]
    out = sl.tensor.apply(name, *leaves)[0]
    grads = (out * out).sum().backward()
    points = [torch.tensor(each, requires_grad=True) for each in arrays]
    out = _torch_network(name, points)
    expected = torch.autograd.grad((out * out).sum(), points)
    for leaf, other in zip(leaves, expected, strict=True):
        np.testing.assert_allclose(
            grads.wrt(leaf).numpy(), other.numpy(), rtol=1e-8, atol=1e-10
        )


def _torch_network(name, points):
    x, *states = points[:-4]
    first = tuple(each[None] for each in states)
    # Arguments of PyTorch: biases, one layer, no dropout, evaluation mode, one
    # direction, batch first.
    options = (points[-4:], *(True, 1, 0.0, False, False, True))
    if name == "gru":
        return torch.gru(x, first[0], *options)[0]
    return torch.lstm(x, first, *options)[0]
