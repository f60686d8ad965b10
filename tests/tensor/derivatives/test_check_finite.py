"""`check_finite` reports the first operation that returns NaN or infinity, and its line."""

import numpy as np
import pytest

import seqloom as sl

NUMPY = sl.tensor.backend("numpy", num_threads=1)
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def line_here():
    import inspect

    return inspect.currentframe().f_back.f_lineno


def run_checked(step, **options):
    with sl.tensor.check_finite(**options):
        return step()


def test_the_error_names_the_operation_and_its_line():
    x, line = NUMPY.tensor([1.0, 0.0]), line_here() + 3

    def step():
        return (x + 1) * (x / x)

    with pytest.raises(sl.errors.NotFiniteError) as caught:
        run_checked(step)
    assert f"divide at {__file__}:{line} gave 1 NaN or infinity" in str(caught.value)


def test_an_error_in_a_gradient_reports_the_line_of_the_forward_operation():
    x, line = AUTODIFF.tensor([4.0, 0.0], requires_grad=True), line_here() + 3

    def step():
        root = sl.tensor.apply("sqrt", x * 2.0)
        return (root * 3.0).sum().backward()

    with pytest.raises(sl.errors.NotFiniteError) as caught:
        run_checked(step)
    assert f"the gradient of sqrt at {__file__}:{line} gave 1" in str(caught.value)


def test_check_finite_can_allow_infinity():
    x = NUMPY.tensor([1.0, 0.0])
    assert run_checked(lambda: 1.0 / x, infinities=False).shape == (2,)
    with pytest.raises(sl.errors.NotFiniteError, match="1 NaN in"):
        run_checked(lambda: x / x, infinities=False)


def test_operations_after_the_check_finite_block_are_not_checked():
    x = NUMPY.tensor([1.0, 0.0])
    with sl.tensor.check_finite():
        x + 1
    with np.errstate(all="ignore"):
        assert not np.isfinite((1.0 / x).numpy()).all()


def test_check_finite_does_not_check_integers():
    with sl.tensor.check_finite():
        assert (NUMPY.tensor([1, 2]) + 1).numpy().tolist() == [2, 3]
