"""Training in several threads at the same time."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import seqloom as sl
from seqloom.tensor import apply

THREAD_COUNT = 8


class Net(sl.nn.Module):
    first: sl.nn.Linear
    second: sl.nn.Linear

    def __call__(self, x, key):
        hidden = sl.nn.functional.dropout(apply("relu", self.first(x)), 0.2, key)
        return self.second(hidden)


def losses(seed):
    """Return the losses of a short training run, which depend only on the seed."""
    net = Net(sl.nn.Linear(6, 16), sl.nn.Linear(16, 3)).bind("numpy", sl.Key(seed))
    backend, opt = net.first.weight.bound_backend, sl.optim.AdamW()
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(32, 6)).astype("f4"), rng.integers(0, 3, 32)

    def loss_of(net, key):
        return sl.nn.functional.cross_entropy(net(backend.tensor(x), key), y)

    found = []
    for step in range(30):
        with sl.tensor.scope():
            loss, grads = sl.nn.value_and_grad(loss_of)(net, sl.Key(seed, step))
            found.append(loss.item())
            opt.step(1e-2, net, grads)
    return found


def test_eight_concurrent_trainings_equal_sequential_ones():
    expected = [losses(seed) for seed in range(THREAD_COUNT)]
    with ThreadPoolExecutor(THREAD_COUNT) as pool:
        assert list(pool.map(losses, range(THREAD_COUNT))) == expected


def test_threads_can_differentiate_with_shared_leaves():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
    x = level.tensor(np.arange(5.0), requires_grad=True)

    def slope(power):
        return (x**power).sum().backward().wrt(x).tolist()

    with ThreadPoolExecutor(THREAD_COUNT) as pool:
        found = list(pool.map(slope, [1, 2, 3, 4] * 50))
    assert found[:4] == [slope(power) for power in (1, 2, 3, 4)]
    assert found == found[:4] * 50
