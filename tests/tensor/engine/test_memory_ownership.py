"""Imported and exported arrays cannot be used to change the memory of a tensor."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import ArgumentError

BACKEND_NAMES = ["numpy", "torch", "jax"]
# Length of an array whose memory JAX would share without a copy.
ARRAY_LENGTH = 1 << 16


@pytest.fixture(params=BACKEND_NAMES)
def backend(request):
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)


# Import ---------------------------------------------------------------------------------

FUNCTIONS_THAT_IMPORT_ARRAYS = {
    "the tensor": lambda level, array: level.tensor(array),
    "the other operand": lambda _level, array: array,
    "a function's argument": lambda level, array: sl.tensor.maximum(
        level.tensor(np.zeros(ARRAY_LENGTH, "f4")), array
    ),
    "among several": lambda level, array: sl.tensor.concat(
        [array[:1], level.tensor(array[1:])]
    ),
    "an array that cannot be written": lambda level, array: level.tensor(_read_only(array)),
    "a view of an array": lambda level, array: level.tensor(array[::1]),
    "an object with the array protocol": lambda level, array: level.tensor(
        memoryview(array)
    ),
}


def _read_only(array):
    view = array.view()
    view.flags.writeable = False
    return view


@pytest.mark.parametrize("way", FUNCTIONS_THAT_IMPORT_ARRAYS)
def test_gradients_use_the_values_of_the_forward_pass(backend, way):
    level = sl.tensor.Autodiff(backend)
    array = np.full(ARRAY_LENGTH, 2, "f4")
    x = level.tensor(np.ones(ARRAY_LENGTH, "f4"), requires_grad=True)
    loss = (x * FUNCTIONS_THAT_IMPORT_ARRAYS[way](level, array)).sum()
    array[:] = 10
    assert set(loss.backward().wrt(x).numpy()) == {2.0}


def test_tensors_from_a_reused_buffer_are_independent(backend):
    buffer = np.empty(ARRAY_LENGTH, "f4")
    made = []
    for number in range(3):
        buffer[:] = number
        made.append(backend.tensor(buffer))
    assert [each[0].item() for each in made] == [0, 1, 2]


def test_later_changes_of_indices_do_not_affect_a_gradient(backend):
    level = sl.tensor.Autodiff(backend)
    places = np.array([0, 0])
    x = level.tensor([1.0, 2.0, 3.0], requires_grad=True)
    for taken in (lambda: x[places], lambda: x[places, ...], lambda: x[:, None][places, 0]):
        places[:] = 0
        loss = taken().sum()
        places[:] = 2
        assert loss.backward().wrt(x).tolist() == [2, 0, 0]


def test_later_changes_of_labels_do_not_affect_a_gradient(backend):
    level = sl.tensor.Autodiff(backend)
    labels = np.array([0, 1])
    logits = level.tensor(np.zeros((2, 2), "f4"), requires_grad=True)
    loss = sl.nn.functional.cross_entropy(logits, labels)
    labels[:] = 1
    found = loss.backward().wrt(logits).numpy()
    np.testing.assert_allclose(found, [[-0.25, 0.25], [0.25, -0.25]], rtol=1e-6)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_a_torch_tensor_is_copied(name):
    torch = pytest.importorskip("torch")
    theirs = torch.ones(3)
    ours = sl.tensor.backend(name).tensor(theirs)
    theirs[0] = 5
    assert ours.tolist() == [1, 1, 1]


def test_a_compiled_step_reads_its_arrays_before_it_returns(backend):
    step = sl.tensor.compile(lambda x, array: x * array + x)
    x = backend.tensor(np.ones(ARRAY_LENGTH, "f4"))
    for number in range(3):
        array = np.full(ARRAY_LENGTH, number, "f4")
        found = step(x, array)
        array[:] = 7
        assert found[0].item() == number + 1


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_from_numpy_shares_memory(name):
    pytest.importorskip(name)
    array = np.zeros(3, "f4")
    x = sl.tensor.backend(name).from_numpy(array)
    array[0] = 5
    assert x.tolist() == [5, 0, 0]


@pytest.mark.parametrize("kind", ["?", "i4", "f4", "c8"])
def test_from_numpy_keeps_the_values(backend, kind):
    array = np.array([[1, 0], [1, 1]], kind)
    for level in (backend, sl.tensor.Autodiff(backend)):
        x = level.from_numpy(array)
        assert (x.backend, x.dtype, x.tolist()) == (level, array.dtype, array.tolist())


def test_from_numpy_accepts_only_arrays(backend):
    with pytest.raises(ArgumentError, match="list"):
        backend.from_numpy([1.0])


# Export ---------------------------------------------------------------------------------

TESTED_DTYPES = ["bool", "int32", "float32", "float16", "bfloat16", "complex64"]


@pytest.mark.parametrize("kind", TESTED_DTYPES)
def test_an_exported_array_cannot_be_made_writeable(backend, kind):
    x = backend.tensor([[1, 0, 1]], dtype=kind)
    for array in (x.numpy(), np.asarray(x), x.numpy()[0], x.numpy().view()):
        assert (array.dtype, array.ravel().tolist()) == (x.dtype, [1, 0, 1])
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 3)])
def test_an_exported_array_has_the_tensors_shape_and_order(backend, shape):
    values = np.arange(np.prod(shape, dtype=int), dtype="f4").reshape(shape)
    for x in (
        backend.tensor(values),
        backend.tensor(values.T),
        backend.tensor(values[..., None]),
    ):
        assert x.numpy().shape == x.shape
    np.testing.assert_array_equal(backend.tensor(values).numpy(), values)


def test_a_view_of_a_tensor_is_exported_without_a_copy():
    x = sl.tensor.backend("numpy").tensor([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(x.mT.numpy(), [[1, 3], [2, 4]])
    np.testing.assert_array_equal(x[::-1].numpy(), [[3, 4], [1, 2]])
    assert np.shares_memory(x.mT.numpy(), x.numpy())


@pytest.mark.parametrize("reader", ["torch", "jax", "numpy"])
def test_dlpack_consumers_get_a_copy(backend, reader):
    library = pytest.importorskip("jax.numpy" if reader == "jax" else reader)
    x = backend.tensor([1.0, 2.0])
    theirs = library.from_dlpack(x)
    assert theirs.tolist() == [1, 2]
    if getattr(getattr(theirs, "flags", None), "writeable", reader == "torch"):
        theirs[0] = 9
    assert x.tolist() == [1, 2]


def test_dlpack_with_copy_false_is_an_error(backend):
    with pytest.raises(ArgumentError, match=r"\.numpy\(\)"):
        np.from_dlpack(backend.tensor([1.0]), copy=False)


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_no_export_of_a_parameter_can_write_to_it(backend, kind):
    layer = sl.nn.Linear(2, 1).bind(backend, sl.Key(0)).to(backend, kind)
    before, version = layer.weight.numpy(), layer.weight.version
    for way in (
        layer.weight.numpy,
        lambda: np.asarray(layer.weight),
        lambda: np.array(layer.weight),
    ):
        way()[:] = 9
    for array in (layer.weight.value.numpy(), *layer.to_record().values()):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    np.testing.assert_array_equal(layer.weight.numpy(), before)
    assert (np.asarray(layer.weight).dtype, layer.weight.version) == (before.dtype, version)


# Scalars and formats --------------------------------------------------------------------


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8])
def test_a_numpy_scalar_is_converted_to_the_dtype_of_the_tensor(backend, kind):
    x, number = backend.tensor([1.0, 2.0]), kind(2)
    for found, expected in [
        (x * number, [2, 4]),
        (number - x, [1, 0]),
        (x**number, [1, 4]),
        (sl.tensor.maximum(x, number), [2, 2]),
        (sl.tensor.where(x > number, x, number), [2, 2]),
    ]:
        assert (found.dtype, found.tolist()) == (np.float32, expected)


def test_a_numpy_float_is_an_input_of_a_compiled_step(backend):
    step = sl.tensor.compile(lambda x, factor: x * factor)
    x = backend.tensor([1.0, 2.0])
    found = [step(x, np.float64(number) / 2) for number in range(10)]
    assert [each.tolist() for each in found] == [[n / 2, n] for n in range(10)]
    assert (found[0].dtype, step.recompiles) == (np.float32, 0)


@pytest.mark.parametrize("spec", [".2f", "", "8.3e", "+.1%"])
def test_a_scalar_tensor_is_formatted_as_in_torch(backend, spec):
    torch = pytest.importorskip("torch")
    assert format(backend.tensor(2.5), spec) == format(torch.tensor(2.5), spec)


def test_a_format_spec_for_a_vector_is_an_error(backend):
    with pytest.raises(sl.errors.ShapeError, match=r"\.item\(\)"):
        format(backend.tensor([1.0, 2.0]), ".2f")
    assert f"{backend.tensor([1.0, 2.0])}" == repr(backend.tensor([1.0, 2.0]))
