"""Values that `backward` accepts as its argument `gradient`."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import BackendError, DTypeError, GradientError, ShapeError

NUMPY = sl.tensor.backend("numpy")
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def squared():
    x = AUTODIFF.tensor([1.0, 3.0], requires_grad=True)
    return x, x * x


@pytest.mark.parametrize(
    "gradient",
    [[1.0, 2.0], np.array([1, 2]), NUMPY.tensor([1.0, 2.0]), AUTODIFF.tensor([1, 2])],
    ids=["a list", "an array", "a tensor", "a constant of the level"],
)
def test_backward_accepts_anything_that_converts_to_an_array(gradient):
    x, y = squared()
    found = y.backward(gradient).wrt(x)
    assert (found.tolist(), found.dtype) == ([2, 12], np.float32)


def test_backward_accepts_a_torch_tensor():
    torch = pytest.importorskip("torch")
    x, y = squared()
    assert y.backward(torch.ones(2)).wrt(x).tolist() == [2, 6]


@pytest.mark.parametrize("gradient", [1.0, np.ones(3), [[1.0, 2.0]]], ids=str)
def test_backward_with_a_gradient_of_another_shape_is_an_error(gradient):
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        squared()[1].backward(gradient)


@pytest.mark.parametrize("gradient", ["text", object()], ids=["a text", "an object"])
def test_a_gradient_that_is_not_numeric_is_an_error(gradient):
    with pytest.raises(DTypeError, match="numbers"):
        squared()[1].backward(gradient)


def test_a_tensor_of_another_library_is_an_error():
    pytest.importorskip("torch")
    with pytest.raises(BackendError, match="torch"):
        squared()[1].backward(sl.tensor.backend("torch").tensor([1.0, 2.0]))


def test_backward_of_a_vector_needs_a_gradient():
    with pytest.raises(GradientError, match=r"scalar, or the argument gradient.*\(2,\)"):
        squared()[1].backward()
