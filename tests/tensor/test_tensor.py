"""Tests of tensors, of recorded operations and of gradients."""

import gc
import weakref

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError, GradientError, ShapeError

NUMPY = sl.tensor.backend("numpy")
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def test_python_floats_become_float32():
    assert NUMPY.tensor([1.0]).dtype == np.float32


def test_a_tensor_from_an_array_keeps_its_type():
    assert NUMPY.tensor(np.zeros(3)).dtype == np.float64


def test_from_numpy_shares_the_memory_of_the_array():
    array = np.zeros(3)
    assert np.shares_memory(NUMPY.from_numpy(array).numpy(), array)


def test_a_python_number_can_be_the_left_operand_of_an_operator():
    assert (2 / NUMPY.tensor([4.0])).item() == 0.5


def test_a_numpy_array_on_the_left_gives_a_tensor():
    assert isinstance(np.ones(2) * NUMPY.tensor([1.0, 2.0]), sl.tensor.Tensor)


def test_numpy_functions_reject_a_tracked_tensor():
    x = AUTODIFF.tensor([1.0], requires_grad=True)
    with pytest.raises(TypeError, match="ufunc"):
        np.exp(x)
    with pytest.raises(GradientError, match="detach"):
        np.asarray(x)


def test_shapes_that_do_not_match_are_an_error_that_names_them():
    with pytest.raises(ShapeError, match=r"matmul\(float32\[2, 3\], float32\[2, 3\]\)"):
        NUMPY.tensor(np.zeros((2, 3), "f4")) @ NUMPY.tensor(np.zeros((2, 3), "f4"))


def test_requires_grad_on_a_backend_without_autodiff_is_an_error():
    with pytest.raises(BackendError, match="Autodiff"):
        NUMPY.tensor([1.0], requires_grad=True)


def test_an_unknown_backend_is_an_error_that_lists_backends():
    with pytest.raises(BackendError, match=r"'cuda'.*numpy"):
        sl.tensor.backend("cuda")


def test_a_tensor_of_the_inner_backend_is_a_constant():
    x = AUTODIFF.tensor([2.0], requires_grad=True)
    assert (NUMPY.tensor([3.0]) * x).sum().backward().wrt(x).item() == 3


def test_tensors_of_two_unrelated_levels_are_an_error():
    x = AUTODIFF.tensor([1.0], requires_grad=True)
    y = sl.tensor.Autodiff(NUMPY).tensor([1.0], requires_grad=True)
    with pytest.raises(BackendError, match="on different backends"):
        x + y


def test_a_leaf_used_twice_sums_its_gradients():
    x = AUTODIFF.tensor([2.0], requires_grad=True)
    assert (x * x + x + x).sum().backward().wrt(x).item() == 6


def test_summing_gradients_does_not_overwrite_them():
    x, y = (AUTODIFF.tensor([2.0, 3.0], requires_grad=True) for _ in range(2))
    total = x + y
    grads = (total + total * 2 + total * 3).sum().backward()
    assert grads.wrt(x).numpy().tolist() == grads.wrt(y).numpy().tolist() == [6, 6]


def test_a_second_backward_call_is_an_error():
    y = AUTODIFF.tensor(2.0, requires_grad=True) ** 2
    y.backward()
    with pytest.raises(GradientError, match="already computed"):
        y.backward()


def test_backward_needs_a_scalar_or_a_gradient():
    x = AUTODIFF.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(GradientError, match=r"shape \(2,\)"):
        (x * 2).backward()
    assert (x * 2).backward(NUMPY.tensor([1.0, 10.0])).wrt(x).numpy().tolist() == [2, 20]


def test_backward_without_leaves_is_an_error():
    with pytest.raises(GradientError, match="requires_grad"):
        AUTODIFF.tensor(1.0).backward()


def test_nested_autodiff_gives_second_derivatives():
    outer = sl.tensor.Autodiff(AUTODIFF)
    x = outer.tensor(AUTODIFF.leaf(np.asarray(3.0)), requires_grad=True)
    first = (x**3).backward().wrt(x)
    assert first.detach().item() == 27
    assert first.backward().wrt(inner_leaf(x)).item() == 18


def inner_leaf(outer):
    """Return the tensor on the inner level that a leaf of the outer level wraps."""
    return sl.tensor.Tensor(outer.raw.value, AUTODIFF)


def test_a_dropped_result_frees_its_recorded_operations():
    class Watched(np.ndarray):
        """Array that supports weak references."""

    factor = Watched(3)
    watch = weakref.ref(factor)
    result = AUTODIFF.tensor(np.ones(3), requires_grad=True) * AUTODIFF.from_numpy(factor)
    del factor
    assert watch() is not None
    del result
    assert watch() is None


def test_recording_creates_no_reference_cycles():
    gc.collect()
    x = AUTODIFF.tensor([1.0, 2.0], requires_grad=True)
    (x * x).sum().backward()
    del x
    assert gc.collect() == 0


def test_gradient_clipping_scales_gradients_to_the_given_norm():
    grads = sl.tensor.Gradients(
        {1: NUMPY.asarray([3.0, 4.0]), 2: NUMPY.asarray([12.0])}, NUMPY
    )
    assert grads.norm() == 13
    assert grads.clip(1.3).norm() == pytest.approx(1.3)
