"""Recording of operations, and the backward pass that frees them."""

import gc
import weakref

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import GradientError
from seqloom.tensor._backward import backprop
from seqloom.tensor._families import ALL_RESULTS, Rule
from seqloom.tensor._state import next_number, record

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)


class Watched(np.ndarray):
    """Array that supports weak references."""


def create_watched(*shape):
    array = np.ones(shape).view(Watched)
    return array, weakref.ref(array)


def split(x, tracked):
    """Return two halves of an array and its size, recorded as one operation."""
    value = x.value
    half = len(value) // 2

    def pull(b, saved, grads, needs):
        del saved, needs
        halves = [b.zeros((half,)) if grad is None else grad for grad in grads[:2]]
        return (b.concat(halves, axis=0),)

    rule = Rule(lambda *_: (), pull, tracked=tracked)
    outs = value[:half], value[half:], np.int64(len(value))
    return record(AUTODIFF, rule, (x.node,), (), outs)


def test_each_of_several_outputs_has_a_gradient():
    x = AUTODIFF.leaf(np.arange(4.0))
    left, right, _ = split(x, ALL_RESULTS)
    found = backprop([left, right], [np.array([1.0, 2]), np.array([3.0, 4])])
    assert found[x.node.number].tolist() == [1, 2, 3, 4]


def test_an_unused_output_has_no_gradient():
    x = AUTODIFF.leaf(np.arange(4.0))
    _, right, _ = split(x, 2)
    assert AUTODIFF.gradients(right, np.array([3.0, 4]))[x.node.number].tolist() == [
        0,
        0,
        3,
        4,
    ]


def test_outputs_that_are_not_tracked_are_plain_arrays():
    _, right, count = split(AUTODIFF.leaf(np.arange(4.0)), 1)
    assert type(right) is np.ndarray
    assert count == 4


def test_an_integer_output_is_not_tracked():
    assert split(AUTODIFF.leaf(np.arange(4.0)), ALL_RESULTS)[2] == 4


def test_an_output_that_is_used_twice_sums_its_gradients():
    x = AUTODIFF.leaf(np.arange(4.0))
    left, _, _ = split(x, ALL_RESULTS)
    total = AUTODIFF.add(AUTODIFF.multiply(left, left), left)
    assert AUTODIFF.gradients(total, np.ones(2))[x.node.number].tolist() == [1, 3, 0, 0]


def test_a_backward_pass_can_stop_at_nodes_before_a_number():
    x = AUTODIFF.leaf(np.array(3.0))
    y = AUTODIFF.multiply(x, x)
    mark = next_number()
    z = AUTODIFF.multiply(y, 2.0)
    assert backprop([z], [np.array(1.0)], before=mark) == {y.node.number: 2}
    assert AUTODIFF.gradients(y, np.array(1.0))[x.node.number] == 6


def test_a_backward_pass_that_retains_its_values_can_be_repeated():
    x = AUTODIFF.leaf(np.array(3.0))
    y = AUTODIFF.multiply(x, x)
    first = backprop([y], [np.array(1.0)], retain=True)
    assert first == backprop([y], [np.array(1.0)])


def test_saved_values_are_freed_during_the_backward_pass():
    kept, watch = create_watched(3)
    seen = []

    def pull(b, saved, grad, needs):
        del b, saved, needs
        seen.append(watch())
        return (grad,)

    x = AUTODIFF.leaf(np.ones(3))
    (early,) = record(AUTODIFF, Rule(lambda *_: (), pull), (x.node,), (), (np.ones(3),))
    late = AUTODIFF.multiply(early, kept)
    del kept
    assert watch() is not None
    AUTODIFF.gradients(AUTODIFF.sum(late), np.array(1.0))
    assert seen == [None]


def test_gradients_of_untracked_inputs_are_not_computed():
    x, factor = AUTODIFF.leaf(np.ones(3)), np.ones(3)
    asked = []

    def pull(b, saved, grad, needs):
        del b, saved
        asked.append(needs)
        return (grad, None)

    rule = Rule(lambda *_: (), pull)
    (out,) = record(AUTODIFF, rule, (x.node, None), (), (x.value * factor,))
    AUTODIFF.gradients(out, np.ones(3))
    assert asked == [(True, False)]


def test_a_backward_pass_does_not_overwrite_the_gradient_argument():
    x = AUTODIFF.tensor([1.0, 2.0], requires_grad=True)
    seed = NUMPY.tensor([1.0, 10.0])
    (x + x + x + x).backward(seed)
    assert seed.tolist() == [1, 10]


def test_a_backward_pass_does_not_overwrite_saved_values():
    # exp saves its output, and its gradient is a sum of three terms.
    x = AUTODIFF.tensor([0.0, 1.0], requires_grad=True)
    y = sl.tensor.apply("exp", x)
    before = y.numpy().copy()
    (y + y * y + y * y * y).sum().backward()
    assert y.numpy().tolist() == before.tolist()


def test_a_backward_pass_creates_no_reference_cycles():
    gc.collect()
    x = AUTODIFF.leaf(np.arange(4.0))
    left, right, _ = split(x, ALL_RESULTS)
    AUTODIFF.gradients(AUTODIFF.sum(AUTODIFF.multiply(left, right)), np.array(1.0))
    del x, left, right
    assert gc.collect() == 0


def test_a_chain_of_a_hundred_thousand_operations_can_be_differentiated():
    x = AUTODIFF.tensor(1.0, requires_grad=True)
    y = x
    for _ in range(100_000):
        y = y + x
    assert y.backward().wrt(x).item() == 100_001


def test_numpy_functions_reject_tracked_arrays():
    with pytest.raises(GradientError, match="detach"):
        np.asarray(AUTODIFF.leaf(np.ones(2)))
