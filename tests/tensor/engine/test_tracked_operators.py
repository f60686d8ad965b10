"""Operators of tracked tensors, which compute and record in a single function."""

import copy
import weakref

import numpy as np
import pytest

import seqloom as sl

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)

OPERATOR_FUNCTIONS = {
    "add": lambda x, y: x + y,
    "subtract": lambda x, y: x - y,
    "multiply": lambda x, y: x * y,
    "divide": lambda x, y: x / y,
    "pow": lambda x, y: x**y,
    "matmul": lambda x, y: x @ y,
}


class Watched(np.ndarray):
    """Array that supports weak references."""


def leaf(*numbers):
    return AUTODIFF.tensor(list(numbers), requires_grad=True)


def lines_of_this_file():
    """Return the lines of this file that created the live tensors."""
    found = [line.rpartition(":") for line in sl.tensor.memory().by_line]
    return {int(line) for name, _, line in found if name == __file__ and line.isdigit()}


@pytest.mark.parametrize("name", OPERATOR_FUNCTIONS)
def test_operators_of_tracked_tensors_equal_the_backend_functions(name):
    x, y = leaf(1.5, 2.0), leaf(3.0, 0.5)
    one, two = OPERATOR_FUNCTIONS[name](x, y), sl.tensor.apply(name, x, y)
    assert one.tolist() == two.tolist()
    first, second = one.sum().backward(), two.sum().backward()
    assert first.wrt(x).tolist() == second.wrt(x).tolist()
    assert first.wrt(y).tolist() == second.wrt(y).tolist()


@pytest.mark.parametrize("name", OPERATOR_FUNCTIONS)
def test_operators_of_tracked_tensors_can_be_chained(name):
    x, y = leaf(1.5, 2.0), leaf(3.0, 0.5)
    grads = OPERATOR_FUNCTIONS[name](x * y, x + y).sum().backward()
    wanted = sl.tensor.apply(
        name, sl.tensor.apply("multiply", x, y), sl.tensor.apply("add", x, y)
    )
    assert grads.wrt(x).tolist() == wanted.sum().backward().wrt(x).tolist()


def test_the_raw_array_of_a_result_is_cached():
    total = leaf(1.0) + leaf(2.0)
    assert total.raw is total.raw
    assert total.raw.level is AUTODIFF


def test_operators_combine_tracked_and_untracked_tensors():
    x = leaf(1.0, 2.0)
    assert (x * AUTODIFF.tensor([3.0, 4.0])).sum().backward().wrt(x).tolist() == [3, 4]


def test_operators_of_two_autodiff_levels_use_the_outer_level():
    outer = sl.tensor.Autodiff(AUTODIFF)
    x = outer.tensor(leaf(2.0).raw, requires_grad=True)
    y = AUTODIFF.tensor([5.0], requires_grad=True)
    slope = (x * y).sum().backward().wrt(x)
    assert slope.sum().backward().wrt(y).tolist() == [1]


def test_each_use_of_an_operator_records_its_source_line():
    x = leaf(1.0)
    kept = []
    for _ in range(2):
        kept += [x * x]
        kept += [x * x]
        # gelu ends with a product of two tensors
        kept += [sl.nn.functional.gelu(x, approximate="tanh")]
    code = test_each_use_of_an_operator_records_its_source_line.__code__
    assert {code.co_firstlineno + n for n in (4, 5, 7)} <= lines_of_this_file()


def test_a_released_result_frees_its_array():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy", num_threads=1))
    array = np.ones(3, "f4").view(Watched)
    with sl.tensor.scope():
        kept = level.tensor(array, requires_grad=True)
        kept = kept * kept
        watched = weakref.ref(array)
        del array
    assert watched() is None


def test_a_copy_of_a_result_is_tracked():
    x = leaf(3.0)
    squared = copy.copy(x * x)
    assert squared.sum().backward().wrt(x).tolist() == [6]
