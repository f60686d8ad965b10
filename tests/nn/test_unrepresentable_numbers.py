"""Numbers that the dtype of a parameter cannot represent are errors and change nothing."""

import numpy as np
import pytest

import seqloom as sl
from seqloom.errors import DTypeError, RecordError

UNREPRESENTABLE_ARRAYS = {
    "complex numbers": (np.array([[1j, 2]]), "float32"),
    "too large ones": (np.array([[1e300, 2]]), "float32"),
    "too large ones for half": (np.array([[1e6, 2]], "f4"), "float16"),
    "texts": (np.array([["1", "2"]]), "float32"),
    "objects": (np.array([[1, None]]), "float32"),
}


@pytest.fixture(params=["numpy", "torch", "jax"])
def backend(request):
    pytest.importorskip(request.param)
    return sl.tensor.backend(request.param)


@pytest.mark.parametrize("case", UNREPRESENTABLE_ARRAYS)
def test_a_record_with_unrepresentable_numbers_is_rejected_completely(backend, case):
    values, kind = UNREPRESENTABLE_ARRAYS[case]
    layer = sl.nn.Linear(2, 1).bind(backend, sl.Key(0)).to(backend, kind)
    before = layer.to_record()
    record = sl.record.Record({"bias": np.ones(1, "f4"), "weight": values})
    with pytest.raises(RecordError, match=rf"weight holds .*{kind}"):
        layer.load_record(record)
    for path, each in layer.to_record().items():
        np.testing.assert_array_equal(each, before[path])
    with pytest.raises(DTypeError, match=kind):
        layer.weight.assign(values)


def test_a_complex_tensor_cannot_replace_a_real_parameter(backend):
    layer = sl.nn.Linear(1, 1).bind(backend, sl.Key(0))
    with pytest.raises(DTypeError, match="complex"):
        layer.bias.assign(backend.tensor([1j], dtype="complex64"))


def test_rounded_and_non_finite_numbers_are_accepted(backend):
    layer = sl.nn.Linear(2, 1).bind(backend, sl.Key(0))
    for values in ([[0.1, 1e-300]], [[np.inf, np.nan]], [[1, 2]]):
        layer.load_record({"weight": np.array(values), "bias": np.zeros(1)})
        np.testing.assert_array_equal(layer.weight.numpy(), np.array(values, "f4"))


def test_unrepresentable_optimiser_states_are_rejected():
    layer = sl.nn.Linear(1, 1, bias=False).bind("numpy", sl.Key(0))
    states = {"weight.first": np.array([[1e300]]), "weight.second": np.zeros((1, 1))}
    record = sl.record.Record(states, metadata={"step_count": 1})
    optimizer = sl.optim.AdamW().load_record(record)
    grads = sl.tensor.Gradients({layer.weight.id: np.ones((1, 1), "f4")}, layer.backend)
    with pytest.raises(RecordError, match=r"first of weight holds 1e\+300"):
        optimizer.step(0.1, layer, grads)
