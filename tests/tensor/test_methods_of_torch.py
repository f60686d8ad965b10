"""Tensor methods with names from PyTorch, compared with PyTorch on every backend."""

import numpy as np
import pytest

import seqloom as sl

torch = pytest.importorskip("torch")

INPUT_ARRAY = np.random.default_rng(3).normal(size=(2, 1, 3)).astype("float32")
libraries = pytest.mark.parametrize("library", ["numpy", "torch", "jax"])


def tensor(library):
    pytest.importorskip(library)
    return sl.tensor.Autodiff(sl.tensor.backend(library)).tensor(
        INPUT_ARRAY, requires_grad=True
    )


METHOD_CASES = {
    "std": (lambda x: x.std(), lambda x: x.std(correction=0)),
    "corrected std": (lambda x: x.std(2, correction=1), lambda x: x.std(2)),
    "std that keeps axes": (
        lambda x: x.std(-1, keepdims=True),
        lambda x: x.std(-1, correction=0, keepdim=True),
    ),
    "transpose": (lambda x: x.transpose(0, 2), lambda x: x.transpose(0, 2)),
    "transpose from the end": (
        lambda x: x.transpose(-1, 1),
        lambda x: x.transpose(-1, 1),
    ),
    "squeeze": (lambda x: x.squeeze(), lambda x: x.squeeze()),
    "flatten": (lambda x: x.flatten(), lambda x: x.flatten()),
    "flatten from an axis": (lambda x: x.flatten(1), lambda x: x.flatten(1)),
    "flatten of some axes": (lambda x: x.flatten(0, -2), lambda x: x.flatten(0, -2)),
}


@libraries
@pytest.mark.parametrize("case", METHOD_CASES)
def test_tensor_methods_equal_torch(library, case):
    ours, theirs = METHOD_CASES[case]
    x, y = tensor(library), torch.tensor(INPUT_ARRAY, requires_grad=True)
    found, wanted = ours(x), theirs(y)
    np.testing.assert_allclose(found.numpy(), wanted.detach().numpy(), rtol=1e-5)
    (wanted**2).sum().backward()
    slope = (found**2).sum().backward().wrt(x).numpy()
    np.testing.assert_allclose(slope, y.grad.numpy(), rtol=1e-4, atol=1e-6)


@libraries
def test_squeeze_without_axes_of_length_1_changes_nothing(library):
    assert sl.tensor.backend(library).tensor(
        np.ones((2, 3), "float32")
    ).squeeze().shape == (
        2,
        3,
    )


@libraries
def test_transpose_of_a_missing_axis_is_an_error_that_names_it(library):
    with pytest.raises(sl.errors.OutOfRangeError, match="3 axes has no axis 3"):
        tensor(library).transpose(0, 3)
