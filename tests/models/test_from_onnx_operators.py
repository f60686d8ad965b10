"""Each operator of an ONNX file computes what ONNX Runtime computes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from onnx_cases import DEFINED, RECORDS, SINGLE
from onnx_graphs import floats, node, reference, save
from seqloom.tensor._dispatch import observers

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class Watcher:
    """Notes the names of operations."""

    def __init__(self):
        self.names = []

    def on_apply(self, name, _out, _backend):
        self.names.append(name)


def write(case, folder):
    """Writes the file of a case."""
    options = {"weights": case.weights, "opset": case.opset, "outputs": case.outputs}
    return save(folder / "case.onnx", case.nodes, case.inputs, **options)


def compare(file, inputs, theirs):
    """Compares what the module makes of a file with what is expected."""
    ours = sl.models.from_onnx(file)(*inputs.values())
    for one, other in zip(
        ours if isinstance(ours, tuple) else (ours,), theirs, strict=True
    ):
        assert one.shape == other.shape
        assert one.numpy().dtype == other.dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_an_operator_computes_what_onnx_runtime_computes(case, tmp_path):
    file = write(case, tmp_path)
    compare(file, case.inputs, reference(file, case.inputs))


@pytest.mark.parametrize("case", DEFINED, ids=lambda case: case.name)
def test_an_operator_computes_what_onnx_defines(case, tmp_path):
    from onnx.reference import ReferenceEvaluator

    file = write(case, tmp_path)
    compare(file, case.inputs, ReferenceEvaluator(str(file)).run(None, case.inputs))


@pytest.mark.parametrize("case", RECORDS[:2], ids=lambda case: case.name)
def test_one_position_of_each_record_is_taken_along_an_axis(case, tmp_path):
    net = sl.models.from_onnx(write(case, tmp_path))
    watcher: Any = Watcher()
    observers.append(watcher)
    try:
        net(*case.inputs.values())
    finally:
        observers.remove(watcher)
    assert watcher.names[-3:] == ["broadcast_to", "take_along_axis", "squeeze"]
    assert {"add", "concat", "take"}.isdisjoint(watcher.names)


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_any_convolution_computes_what_onnx_runtime_computes(tmp_path_factory, data):
    def draw(least, most):
        return data.draw(st.integers(least, most))

    group, kernel, dilation = draw(1, 3), draw(1, 5), draw(1, 3)
    settings = {
        "group": group,
        "strides": [draw(1, 3)],
        "dilations": [dilation],
        "pads": [draw(0, 3), draw(0, 3)],
    }
    x = floats(draw(1, 3), group * draw(1, 3), (kernel - 1) * dilation + draw(1, 9))
    weights = {"w": floats(group * draw(1, 3), x.shape[1] // group, kernel, seed=1)}
    path = tmp_path_factory.mktemp("conv") / "net.onnx"
    file = save(path, [node("Conv", "x w", **settings)], {"x": x}, weights=weights)
    compare(file, {"x": x}, reference(file, {"x": x}))


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_any_slice_computes_what_onnx_runtime_computes(tmp_path_factory, data):
    bounds = st.integers(-12, 12)
    values = {
        "s": data.draw(bounds),
        "e": data.draw(bounds),
        "a": data.draw(st.integers(-3, 2)),
        "t": data.draw(st.integers(-4, 4).filter(bool)),
    }
    weights = {name: np.array([value], np.int64) for name, value in values.items()}
    x = floats(2, 3, 10)
    path = tmp_path_factory.mktemp("slice") / "net.onnx"
    file = save(path, [node("Slice", "x s e a t")], {"x": x}, weights=weights)
    compare(file, {"x": x}, reference(file, {"x": x}))
