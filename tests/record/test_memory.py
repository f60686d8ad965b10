"""Memory for saving and loading, measured by tracemalloc, which includes NumPy arrays."""

import tracemalloc

import numpy as np
import pytest

import seqloom as sl
from seqloom.record import BFloat16, Half, JsonGz, Safetensors

COUNT, SIDE, LARGE = 24, 724, 1448
TENSOR_BYTES = 4 * SIDE * SIDE  # bytes of a parameter, 2.1 MB


class Model(sl.nn.Module):
    """Module whose parameters all have the same size."""

    layers: list[sl.nn.Param]


def a_model(dtype="float32", *, count=COUNT, side=SIDE):
    fill = sl.nn.Fill(0.5)
    params = [sl.nn.Param((side, side), fill, dtype=dtype) for _ in range(count)]
    return Model(params).bind("numpy", 0)


def peak_of(work):
    tracemalloc.start()
    try:
        kept = work()
        return tracemalloc.get_traced_memory()[1], kept
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("precision", [None, Half(), BFloat16()], ids=str)
@pytest.mark.parametrize("recorder", [Safetensors, JsonGz])
def test_saving_needs_less_memory_than_the_largest_tensor(tmp_path, recorder, precision):
    model = a_model(count=2, side=LARGE)
    model.to_record()  # initialises the parameters before the measurement
    path = tmp_path / "x"
    own = recorder(precision=precision)
    peak, _ = peak_of(lambda: model.to_record().save(path, own))
    assert peak < 1.05 * 4 * LARGE * LARGE


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_loading_needs_memory_for_the_model_and_one_tensor(tmp_path, dtype):
    path = tmp_path / "x"
    a_model(dtype).to_record().save(path, Safetensors())
    model = a_model(dtype)
    peak, _ = peak_of(lambda: model.load_record(sl.record.load(path)))
    size = COUNT * TENSOR_BYTES // (1 if dtype == "float32" else 2)
    assert size < peak < 1.05 * size
    assert float(model.layers[-1].numpy().min()) == 0.5


def test_a_mapped_load_needs_no_memory(tmp_path):
    path = tmp_path / "x"
    a_model().to_record().save(path)
    model = a_model()
    peak, _ = peak_of(lambda: model.load_record(sl.record.load(path, mapped=True)))
    assert peak < TENSOR_BYTES / 4
    assert np.asarray(model.layers[0].storage()).min() == 0.5
