"""Errors of libraries become seqloom errors with the operation, shapes and dtypes."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import (
    ArgumentError,
    BackendError,
    DTypeError,
    MemoryLimitError,
    OutOfRangeError,
    SeqloomError,
    ShapeError,
)
from seqloom.tensor import apply

BACKEND_NAMES = ["numpy", "torch", "jax"]


def tensor(name, *shape, dtype="float32"):
    pytest.importorskip(name)
    return sl.tensor.backend(name).tensor(np.ones(shape, dtype))


@pytest.fixture(params=BACKEND_NAMES)
def make(request):
    """Return a function that creates tensors of ones, first untracked, then tracked."""
    return lambda *shape, **options: tensor(request.param, *shape, **options)


def test_shapes_that_do_not_broadcast_are_an_error(make):
    with pytest.raises(ShapeError, match=r"add\(\S*float32\[2, 3\], \S*float32\[4\]\) on"):
        make(2, 3) + make(4)


def test_matrix_shapes_that_do_not_match_are_an_error(make):
    with pytest.raises(ShapeError, match=r"matmul\(\S*float32\[2, 3\], \S*float32\[2, 3\]"):
        make(2, 3) @ make(2, 3)


def test_a_reshape_to_another_size_is_an_error(make):
    with pytest.raises(ShapeError, match=r"reshape\(\S*float32\[2, 3\], \(4, -1\)\)"):
        make(2, 3).reshape(4, -1)


def test_arrays_that_cannot_be_concatenated_are_an_error(make):
    with pytest.raises(
        ShapeError, match=r"concat\(\[\S*float32\[2, 3\], \S*float32\[2\]\]"
    ):
        apply("concat", [make(2, 3), make(2)], axis=0)


def test_bitwise_operations_on_floats_are_an_error(make):
    with pytest.raises(DTypeError, match=r"bitwise_and\(\S*float32\[2\], \S*float32\[2\]"):
        make(2) & make(2)


def test_an_axis_beyond_the_last_axis_is_an_error(make):
    with pytest.raises((OutOfRangeError, ShapeError), match=r"sum\(\S*float32\[2, 3\]\)"):
        make(2, 3).sum(axis=5)


def test_an_unknown_option_is_an_error(make):
    with pytest.raises(SeqloomError, match="sum"):
        apply("sum", make(2), nonsense=1)


def test_an_allocation_beyond_all_memory_is_an_error():
    with pytest.raises(MemoryLimitError, match="tile"):
        apply("tile", tensor("numpy", 1), (1 << 46,))


def test_a_backend_error_has_the_exception_of_the_library_as_cause(make):
    with pytest.raises(ShapeError) as caught:
        make(2) + make(3)
    assert not isinstance(caught.value.__cause__, SeqloomError)


def test_errors_of_tracked_operations_name_the_operation():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
    x = level.tensor(np.ones((2, 3), "f4"), requires_grad=True)
    with pytest.raises(ShapeError, match=r"multiply\(float32\[2, 3\], float32\[4\]\)"):
        x * np.ones(4, "f4")


def test_calling_apply_without_a_tensor_argument_is_an_error():
    with pytest.raises(BackendError, match="no argument is a tensor"):
        apply("exp", 1.0)


def test_tensors_of_two_libraries_are_an_error():
    with pytest.raises(BackendError, match=r"numpy and torch"):
        tensor("numpy", 2) + tensor("torch", 2)


def test_an_error_in_the_backward_pass_names_its_operation():
    pytest.importorskip("torch")
    level = sl.tensor.Autodiff(sl.tensor.backend("torch"))
    x = level.tensor(np.ones((5, 4), "f4"), requires_grad=True)
    losses, _ = apply("cross_entropy", x, level.tensor(np.array([0, 1, 2])))
    with pytest.raises(
        ShapeError, match=r"backward of cross_entropy\(\S*\[3\], \S*\[5, 4\], \S*\[3\]"
    ):
        losses.sum().backward()


def test_an_exception_in_a_custom_gradient_rule_is_raised_unchanged():
    level = sl.tensor.Autodiff(sl.tensor.backend("numpy"))
    x = level.tensor(1.0, requires_grad=True)
    wrong = sl.tensor.custom_gradient(lambda x: x * 2, lambda _args, _out, _grad: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        wrong(x).backward()


def test_random_numbers_without_a_key_are_an_error():
    with pytest.raises(ArgumentError, match=r"sl\.Key.*int"):
        sl.tensor.backend("numpy").uniform(5, (3,))


def test_moving_to_an_object_that_is_not_a_backend_is_an_error():
    number: Any = 3
    with pytest.raises(ArgumentError, match="got 3"):
        tensor("numpy", 1).to(number)


def test_a_list_in_the_result_of_apply_contains_tensors():
    x = tensor("numpy", 4)
    scaled, norm = apply("clip_by_global_norm", [x, x * 0], 1.0)
    found = [each.numpy() for each in scaled]
    np.testing.assert_allclose(found, [[0.5] * 4, [0.0] * 4], rtol=1e-5)
    assert norm.item() == 2
