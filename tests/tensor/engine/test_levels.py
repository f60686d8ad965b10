"""Nested levels compute higher derivatives without confusing their variables."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError, GradientError
from seqloom.tensor import apply

NUMPY = sl.tensor.backend("numpy")
AUTODIFF_LEVEL_1 = sl.tensor.Autodiff(NUMPY)
AUTODIFF_LEVEL_2 = sl.tensor.Autodiff(AUTODIFF_LEVEL_1)
AUTODIFF_LEVEL_3 = sl.tensor.Autodiff(AUTODIFF_LEVEL_2)


def leaf(level, raw):
    return sl.tensor.Tensor(level.leaf(raw), level)


def test_derivatives_of_two_autodiff_levels_are_not_confused():
    # The derivative d/dx [x * d/dy (x + y)] is 1; if levels were confused, the result
    # would be 2.
    x = AUTODIFF_LEVEL_1.tensor(3.0, requires_grad=True)
    y = leaf(AUTODIFF_LEVEL_2, AUTODIFF_LEVEL_1.inner.asarray(4.0))
    by_y = (x + y).backward().wrt(y)
    assert (x * by_y).backward().wrt(x).item() == 1


def test_a_derivative_of_a_derivative_depends_on_the_outer_variable():
    # The derivative d/dx [d/dy (x * y * y)] at y = 5 is 2 * 5.
    x = AUTODIFF_LEVEL_1.tensor(3.0, requires_grad=True)
    y = leaf(AUTODIFF_LEVEL_2, AUTODIFF_LEVEL_1.inner.asarray(5.0))
    assert (x * y * y).backward().wrt(y).backward().wrt(x).item() == 10


def test_three_levels_of_autodiff_give_third_derivatives():
    x = AUTODIFF_LEVEL_1.tensor(2.0, requires_grad=True)
    middle = leaf(AUTODIFF_LEVEL_2, x.raw)
    outer = leaf(AUTODIFF_LEVEL_3, middle.raw)
    first = (outer**4).backward().wrt(outer)
    second = first.backward().wrt(middle)
    assert (first.detach().item(), second.detach().item()) == (32, 48)
    assert second.backward().wrt(x).item() == 48


def test_a_sum_of_gradients_is_tracked_by_the_inner_autodiff_level():
    # The inner leaf is used twice, so a sum of two gradients is differentiated again.
    x = AUTODIFF_LEVEL_1.tensor([2.0, 3.0], requires_grad=True)
    again = leaf(AUTODIFF_LEVEL_2, x.raw)
    total = (again * again * again + again * again + again).sum()
    slope = total.backward().wrt(again)
    assert slope.detach().tolist() == [17, 34]
    assert slope.sum().backward().wrt(x).tolist() == [14, 20]


def test_mixing_unrelated_autodiff_levels_is_an_error_that_names_them():
    other = sl.tensor.Autodiff(NUMPY)
    x, y = (level.tensor([1.0], requires_grad=True) for level in (AUTODIFF_LEVEL_1, other))
    with pytest.raises(
        BackendError, match=rf"level {AUTODIFF_LEVEL_1.number}.*level {other.number}"
    ):
        x * y


def test_autodiff_levels_have_unique_numbers():
    assert len({sl.tensor.Autodiff(NUMPY).number for _ in range(5)}) == 5


@pytest.mark.parametrize("values", [[1, 2], [True, False]])
def test_integers_and_booleans_cannot_be_tracked(values):
    with pytest.raises(GradientError, match="requires_grad needs floats"):
        AUTODIFF_LEVEL_1.tensor(np.array(values), requires_grad=True)


def test_a_float_cast_to_an_integer_is_not_tracked():
    x = AUTODIFF_LEVEL_1.tensor([1.5], requires_grad=True)
    with pytest.raises(GradientError, match="computed from leaves"):
        x.astype("int64").sum().backward()


def test_a_comparison_of_tracked_tensors_is_not_tracked():
    x = AUTODIFF_LEVEL_1.tensor([1.0, 3.0], requires_grad=True)
    assert not hasattr((x > 2).raw, "node")


def test_a_copied_autodiff_level_has_a_new_number():
    import copy

    assert copy.deepcopy(AUTODIFF_LEVEL_1).number != AUTODIFF_LEVEL_1.number


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_two_levels_of_autodiff_compute_a_hessian_vector_product(name):
    pytest.importorskip(name)
    inner = sl.tensor.Autodiff(sl.tensor.backend(name))
    outer = sl.tensor.Autodiff(inner)
    x = inner.tensor([1.0, 2.0], requires_grad=True)
    y = leaf(outer, x.raw)
    slope = apply("sum", y * y * y).backward().wrt(y)
    product = (slope * inner.tensor([1.0, 10.0])).sum().backward().wrt(x)
    np.testing.assert_allclose(product.numpy(), [6, 120])
