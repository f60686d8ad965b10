"""Levels over levels: higher derivatives, and no confusion between them."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError, GradientError
from seqloom.tensor import apply

B = sl.tensor.backend("numpy")
ONE = sl.tensor.Autodiff(B)
TWO = sl.tensor.Autodiff(ONE)
THREE = sl.tensor.Autodiff(TWO)


def leaf(level, raw):
    return sl.tensor.Tensor(level.leaf(raw), level)


def test_perturbations_of_two_levels_are_told_apart():
    # d/dx [x * d/dy (x + y)] is 1; who confuses the levels finds 2.
    x = ONE.tensor(3.0, requires_grad=True)
    y = leaf(TWO, ONE.inner.asarray(4.0))
    by_y = (x + y).backward().wrt(y)
    assert (x * by_y).backward().wrt(x).item() == 1


def test_a_derivative_of_a_derivative_depends_on_the_outer_variable():
    # d/dx [d/dy (x * y * y)] at y = 5 is 2 * 5.
    x = ONE.tensor(3.0, requires_grad=True)
    y = leaf(TWO, ONE.inner.asarray(5.0))
    assert (x * y * y).backward().wrt(y).backward().wrt(x).item() == 10


def test_three_levels_give_the_third_derivative():
    x = ONE.tensor(2.0, requires_grad=True)
    middle = leaf(TWO, x.raw)
    outer = leaf(THREE, middle.raw)
    first = (outer**4).backward().wrt(outer)
    second = first.backward().wrt(middle)
    assert (first.detach().item(), second.detach().item()) == (32, 48)
    assert second.backward().wrt(x).item() == 48


def test_a_sum_of_gradients_is_tracked_by_the_level_below():
    # Two uses of the inner leaf: their gradients are added, and that sum is differentiated.
    x = ONE.tensor([2.0, 3.0], requires_grad=True)
    again = leaf(TWO, x.raw)
    total = (again * again * again + again * again + again).sum()
    slope = total.backward().wrt(again)
    assert slope.detach().tolist() == [17, 34]
    assert slope.sum().backward().wrt(x).tolist() == [14, 20]


def test_levels_that_are_no_parts_of_each_other_are_named_with_their_numbers():
    other = sl.tensor.Autodiff(B)
    x, y = (level.tensor([1.0], requires_grad=True) for level in (ONE, other))
    with pytest.raises(BackendError, match=rf"level {ONE.number}.*level {other.number}"):
        x * y


def test_no_two_levels_have_one_number():
    assert len({sl.tensor.Autodiff(B).number for _ in range(5)}) == 5


@pytest.mark.parametrize("values", [[1, 2], [True, False]])
def test_what_has_no_derivative_cannot_be_tracked(values):
    with pytest.raises(GradientError, match="requires_grad needs floats"):
        ONE.tensor(np.array(values), requires_grad=True)


def test_a_float_made_an_integer_is_not_tracked():
    x = ONE.tensor([1.5], requires_grad=True)
    with pytest.raises(GradientError, match="computed from leaves"):
        x.astype("int64").sum().backward()


def test_a_comparison_of_tracked_tensors_is_plain():
    x = ONE.tensor([1.0, 3.0], requires_grad=True)
    assert not hasattr((x > 2).raw, "node")


def test_a_copied_level_is_another_one():
    import copy

    assert copy.deepcopy(ONE).number != ONE.number


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_a_hessian_vector_product_by_two_levels(name):
    pytest.importorskip(name)
    inner = sl.tensor.Autodiff(sl.tensor.backend(name))
    outer = sl.tensor.Autodiff(inner)
    x = inner.tensor([1.0, 2.0], requires_grad=True)
    y = leaf(outer, x.raw)
    slope = apply("sum", y * y * y).backward().wrt(y)
    product = (slope * inner.tensor([1.0, 10.0])).sum().backward().wrt(x)
    np.testing.assert_allclose(product.numpy(), [6, 120])
