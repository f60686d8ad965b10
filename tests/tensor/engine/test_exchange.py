"""Export of tensors: NumPy protocols, DLPack, Python numbers and other backends."""

import copy
import operator
import pickle

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DTypeError, GradientError, ShapeError

NUMPY = sl.tensor.backend("numpy")
AUTODIFF = sl.tensor.Autodiff(NUMPY)


def test_asarray_shares_read_only_memory():
    array = np.zeros(3)
    found = np.asarray(NUMPY.from_numpy(array))
    assert np.shares_memory(found, array)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1


def test_np_array_makes_a_writable_copy():
    array = np.zeros(3)
    found = np.array(NUMPY.from_numpy(array))
    found[0] = 1
    assert array[0] == 0


def test_a_necessary_copy_with_copy_false_is_an_error():
    with pytest.raises(ValueError, match="copy"):
        np.asarray(NUMPY.tensor([1.0]), dtype="f8", copy=False)


@pytest.mark.parametrize("name", ["torch", "jax", "numpy"])
def test_dlpack_round_trip_keeps_the_values(name):
    pytest.importorskip(name)
    x = sl.tensor.backend(name).tensor([1.0, 2.0])
    assert np.from_dlpack(x).tolist() == [1, 2]
    back = sl.tensor.from_dlpack(x, backend=name)
    assert (back.backend.name, back.tolist()) == (name, [1, 2])


def test_dlpack_shares_memory():
    torch = pytest.importorskip("torch")
    theirs = torch.zeros(3)
    ours = sl.tensor.from_dlpack(theirs)
    theirs[0] = 5
    assert ours.tolist() == [5, 0, 0]


def test_exporting_a_tracked_tensor_is_an_error():
    x = AUTODIFF.tensor([1.0], requires_grad=True)
    for way in (np.asarray, np.from_dlpack, lambda x: x.to("torch")):
        with pytest.raises(GradientError, match="detach"):
            way(x)


def test_a_constant_of_an_autodiff_level_can_be_exported():
    assert np.from_dlpack(AUTODIFF.tensor([1.0])).tolist() == [1]


def test_an_object_without_dlpack_is_an_error():
    with pytest.raises((DTypeError, sl.errors.SeqloomError), match="from_dlpack"):
        sl.tensor.from_dlpack("text")


def test_a_tensor_of_one_number_converts_to_a_python_number():
    assert (
        float(NUMPY.tensor(1.5)),
        int(NUMPY.tensor(2.0)),
        bool(NUMPY.tensor([True])),
    ) == (1.5, 2, 1)
    assert complex(NUMPY.tensor(1.5)) == 1.5
    assert operator.index(NUMPY.tensor(np.int64(3))) == 3
    assert [10, 20][NUMPY.tensor(np.int64(1))] == 20


def test_a_float_tensor_as_index_is_an_error():
    with pytest.raises(DTypeError, match="float32"):
        operator.index(NUMPY.tensor(1.0))


@pytest.mark.parametrize("use", [bool, float, int, lambda x: x.item()])
def test_converting_a_vector_to_a_python_number_is_an_error(use):
    with pytest.raises(ShapeError, match=r"\(2,\)"):
        use(NUMPY.tensor([1.0, 2.0]))


def test_a_scalar_tensor_has_no_length_and_cannot_be_iterated():
    for use in (len, list):
        with pytest.raises(ShapeError, match="without axes"):
            use(NUMPY.tensor(1.0))


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_tensors_move_between_backends(name):
    pytest.importorskip(name)
    x = NUMPY.tensor([1.0, 2.0]).to(name)
    assert (x.backend.name, x.dtype) == (name, np.float32)
    assert x.to("numpy").tolist() == [1, 2]


def test_moving_to_the_same_backend_returns_the_tensor():
    x = NUMPY.tensor([1.0])
    assert x.to("numpy") is x


def test_moving_a_tensor_to_an_autodiff_level_creates_a_constant():
    assert NUMPY.tensor([1.0]).to(AUTODIFF).backend is AUTODIFF


@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_dtype_is_a_numpy_dtype_on_every_backend(name):
    pytest.importorskip(name)
    assert sl.tensor.backend(name).tensor([1.0]).dtype == np.dtype("float32")


def test_repr_shows_values_shape_type_and_backend():
    text = repr(NUMPY.tensor([[1.0, 2.0]]))
    assert text == "Tensor([[1., 2.]], shape=(1, 2), dtype=float32, backend=numpy)"


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("sum", {"axis": 1}),
        ("mean", {"axis": (0, 1), "keepdims": True}),
        ("var", {"axis": 0}),
        ("max", {}),
        ("min", {"axis": -1}),
        ("prod", {"axis": 1}),
        ("any", {"axis": 0}),
        ("all", {}),
        ("argmax", {"axis": 1}),
        ("argmin", {}),
    ],
)
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_tensor_reductions_equal_numpy(name, method, options):
    pytest.importorskip(name)
    values = np.array([[3, 0, 2], [1, 5, 4]], np.float32)
    found = getattr(sl.tensor.backend(name).tensor(values), method)(**options)
    np.testing.assert_allclose(
        found.numpy(), getattr(np, method)(values, **options), rtol=1e-6
    )


def test_the_shape_and_the_dtype_of_a_tensor_can_be_changed():
    x = NUMPY.tensor(np.zeros((2, 3, 4), "f4"))
    assert x.permute_dims(2, 0, 1).shape == x.permute_dims((2, 0, 1)).shape == (4, 2, 3)
    assert x.reshape(4, -1).shape == x.reshape((4, 6)).shape == (4, 6)
    assert (x.flatten().shape, x.mT.shape, x[0].T.shape) == ((24,), (2, 4, 3), (4, 3))
    assert x.expand_dims(1).squeeze(1).shape == x.shape
    assert (x.size, x.ndim, x.device, len(x)) == (24, 3, "cpu", 2)
    assert x.astype("bfloat16").dtype.name == "bfloat16"


def test_the_transpose_property_needs_a_matrix():
    with pytest.raises(ShapeError, match="permute_dims"):
        NUMPY.tensor(np.zeros((2, 3, 4))).T  # noqa: B018


def test_dlpack_export_works_for_readers_without_a_version():
    values = np.zeros(2, np.float32)
    capsule = NUMPY.tensor(values).__dlpack__()
    assert type(capsule).__name__ == "PyCapsule"


def test_scalar_tensors_can_be_exported_by_dlpack():
    assert np.from_dlpack(NUMPY.tensor([1.0, 2.0]).sum()) == 3


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int64"])
@pytest.mark.parametrize("name", ["torch", "numpy"])
def test_a_pickle_contains_values_type_and_backend(name, dtype):
    pytest.importorskip(name)
    x = sl.tensor.backend(name).tensor([1.0, 2.0]).astype(dtype)
    back = pickle.loads(pickle.dumps(x))  # noqa: S301 - our own
    assert back.backend is x.backend
    assert (back.tolist(), back.dtype) == (x.tolist(), x.dtype)


def test_a_constant_of_an_autodiff_level_is_pickled_as_its_values():
    back = pickle.loads(pickle.dumps(AUTODIFF.tensor([1.0])))  # noqa: S301 - our own
    assert (back.tolist(), back.backend) == ([1], NUMPY)


@pytest.mark.parametrize("use", [pickle.dumps, copy.deepcopy])
def test_pickling_a_tracked_tensor_is_an_error(use):
    with pytest.raises(GradientError, match="detach"):
        use(AUTODIFF.tensor([1.0], requires_grad=True))


def test_a_copy_of_a_tracked_tensor_is_tracked():
    x = AUTODIFF.tensor([3.0], requires_grad=True)
    assert copy.copy(x * x).sum().backward().wrt(x).item() == 6


def test_a_deep_copy_does_not_share_memory():
    x = NUMPY.tensor([1.0])
    assert not np.shares_memory(copy.deepcopy(x).raw, x.raw)
