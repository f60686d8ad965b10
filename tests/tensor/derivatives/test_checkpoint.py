"""`checkpoint` computes the same gradients with less memory."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.nn import functional as F
from seqloom.tensor._replaced_gradients import is_recomputing

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def values(*shape, seed=0):
    return np.random.default_rng((seed, *shape)).normal(size=shape)


def block(x, w):
    return F.tanh(F.linear(x, w)) * x


def test_checkpoint_gradients_equal_those_without_checkpoint():
    x, w = NUMPY.tensor(values(3, 4)), NUMPY.tensor(values(4, 4))
    both = sl.tensor.grad(lambda x, w: (block(x, w) ** 2).sum(), (0, 1))
    again = sl.tensor.grad(
        lambda x, w: (sl.tensor.checkpoint(block)(x, w) ** 2).sum(), (0, 1)
    )
    for one, other in zip(both(x, w), again(x, w), strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_checkpoint_second_derivatives_equal_those_without_checkpoint():
    x, v = NUMPY.tensor(values(3, 4)), NUMPY.tensor(values(3, 4, seed=1))
    w = NUMPY.tensor(values(4, 4))
    again = sl.tensor.checkpoint(block)
    one = sl.tensor.hvp(lambda x: (block(x, w) ** 2).sum(), x, v)[1]
    other = sl.tensor.hvp(lambda x: (again(x, w) ** 2).sum(), x, v)[1]
    np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-12)


def test_is_recomputing_is_true_only_while_checkpoint_recomputes():
    seen = []

    def record_call(x):
        seen.append(is_recomputing())
        return x * x

    x = AUTODIFF.tensor([2.0], requires_grad=True)
    out = sl.tensor.checkpoint(record_call)(x).sum()
    assert seen == [False]
    assert out.backward().wrt(x).item() == 4.0
    assert seen == [False, True]


def test_each_result_of_a_checkpointed_function_gets_a_gradient():
    x = AUTODIFF.tensor([2.0], requires_grad=True)
    square, cube = sl.tensor.checkpoint(lambda x: (x * x, x * x * x))(x)
    assert (square + cube * 10.0).sum().backward().wrt(x).item() == 4.0 + 120.0


def test_dropout_is_the_same_when_checkpoint_recomputes():
    x = AUTODIFF.tensor(np.ones(100), requires_grad=True)
    key = sl.Key(5)
    out = sl.tensor.checkpoint(lambda x: F.dropout(x, 0.5, key) * x)(x)
    kept = out.numpy() != 0
    np.testing.assert_allclose(out.sum().backward().wrt(x).numpy(), kept * 4.0)


class Net(sl.nn.Module):
    first: sl.nn.Linear
    norm: sl.nn.BatchNorm1d

    def __call__(self, x):
        return F.gelu(self.norm(self.first(x)))


def create_net():
    return Net(sl.nn.Linear(4, 5), sl.nn.BatchNorm1d(5)).bind("numpy", sl.Key(0))


def test_parameters_in_a_closure_get_gradients():
    x = NUMPY.tensor(values(6, 4).astype(np.float32))
    one, other = create_net(), create_net()
    plain = sl.nn.value_and_grad(lambda m, x: (m(x) ** 2).sum())(one, x)[1]
    again = sl.nn.value_and_grad(lambda m, x: (sl.tensor.checkpoint(m)(x) ** 2).sum())
    found = again(other, x)[1]
    for (_, param), (_, twin) in zip(one.parameters(), other.parameters(), strict=True):
        np.testing.assert_array_equal(plain.wrt(param).numpy(), found.wrt(twin).numpy())


def test_a_checkpointed_buffer_is_updated_once():
    model, x = create_net(), NUMPY.tensor(values(6, 4).astype(np.float32))
    before = model.norm.running_mean.version
    sl.nn.value_and_grad(lambda m, x: sl.tensor.checkpoint(m)(x).sum())(model, x)
    assert model.norm.running_mean.version == before + 1


def test_checkpoint_saves_only_the_inputs():
    import tracemalloc

    x = AUTODIFF.tensor(values(20_000), requires_grad=True)

    def chain(x):
        for _ in range(20):
            x = F.tanh(x)
        return x

    def count_saved_bytes(function):
        tracemalloc.start()
        out = function(x)
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        del out
        return size

    assert count_saved_bytes(sl.tensor.checkpoint(chain)) < count_saved_bytes(chain) / 10


def test_checkpoint_of_an_untracked_tensor_is_not_recorded():
    assert (
        sl.tensor.checkpoint(block)(
            NUMPY.tensor(values(3, 4)), NUMPY.tensor(values(4, 4))
        ).backend
        is NUMPY
    )


@pytest.mark.parametrize("repeats", [1, 2])
def test_calls_of_checkpoint_can_be_nested(repeats):
    inner = sl.tensor.checkpoint(lambda x: x * x)
    outer = sl.tensor.checkpoint(lambda x: inner(x) * inner(x))
    x = AUTODIFF.tensor([2.0], requires_grad=True)
    assert outer(x).sum().backward().wrt(x).item() == 32.0
