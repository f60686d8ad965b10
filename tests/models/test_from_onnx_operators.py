"""Each ONNX operator returns the results of ONNX Runtime."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import seqloom as sl
from onnx_cases import (
    EDGE_CASES,
    FUNCTION_OPERATOR_CASES,
    NUMBERS_BEYOND_FLOAT8,
    RECORD_SELECTION_CASES,
    SINGLE_OPERATOR_CASES,
    ZERO_ROW,
    one,
)
from onnx_graphs import floats, node, reference, save
from seqloom.tensor._dispatch import observers

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


class Watcher:
    """A listener that records the names of operations."""

    def __init__(self):
        self.names = []

    def on_apply(self, name, _out, _backend):
        self.names.append(name)


def write(case, folder):
    options = {"weights": case.weights, "opset": case.opset, "outputs": case.outputs}
    return save(folder / "case.onnx", case.nodes, case.inputs, **options)


def compare(file, inputs, theirs):
    """Compare the outputs of the imported module with the expected outputs."""
    outputs = sl.models.from_onnx(file)(*inputs.values())
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for output, other in zip(outputs, theirs, strict=True):
        ours = output.numpy()
        assert ours.shape == other.shape
        assert ours.dtype == other.dtype
        values = (it.astype("f8") if it.dtype.itemsize == 1 else it for it in (ours, other))
        np.testing.assert_allclose(*values, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize(
    "case", [*SINGLE_OPERATOR_CASES, *EDGE_CASES], ids=lambda case: case.name
)
def test_an_operator_matches_onnx_runtime(case, tmp_path):
    file = write(case, tmp_path)
    compare(file, case.inputs, reference(file, case.inputs))


@pytest.mark.parametrize("case", FUNCTION_OPERATOR_CASES, ids=lambda case: case.name)
def test_an_operator_matches_the_onnx_reference(case, tmp_path):
    from onnx.reference import ReferenceEvaluator

    file = write(case, tmp_path)
    compare(file, case.inputs, ReferenceEvaluator(str(file)).run(None, case.inputs))


@pytest.mark.parametrize(("kind", "most"), [(18, 240), (20, 57344)])
def test_casting_infinity_to_float8_without_infinity_gives_nan(tmp_path, kind, most):
    # The documentation of the operator specifies NaN, but the reference code of ONNX
    # saturates.
    file = write(one("Cast", given={"x": NUMBERS_BEYOND_FLOAT8}, to=kind), tmp_path)
    found = sl.models.from_onnx(file)(NUMBERS_BEYOND_FLOAT8).numpy().astype("f8")
    wide = [0, np.nan, np.nan, np.nan, most, -most, 448, 448, most]
    np.testing.assert_array_equal(found, np.clip(wide, -most, most))


@pytest.mark.parametrize("p", [1, 2])
def test_the_gradients_of_a_row_of_zeros_are_finite(tmp_path, p):
    file = write(one("LpNormalization", given={"x": ZERO_ROW}, p=p), tmp_path)
    net = sl.models.from_onnx(file)
    x = sl.tensor.Autodiff(sl.tensor.backend("numpy")).tensor(ZERO_ROW, requires_grad=True)
    gradients = (net(x) * x.backend.tensor([1.0, 2.0])).sum().backward()
    # Let y = x / |x| and s = sign(x). The gradient is (v - y (y . v)) / |x| for p=2.
    # For p=1, the gradient is (v - s (y . v)) / |x|.
    v, row = np.array([1.0, 2.0]), np.array([-2.0, 3.0])
    size = np.abs(row).sum() if p == 1 else np.sqrt((row**2).sum())
    slope = np.sign(row) if p == 1 else row / size
    expected = (v - slope * (row @ v) / size) / size
    found = gradients.wrt(x).numpy()
    np.testing.assert_allclose(found, [[0, 0], expected], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", RECORD_SELECTION_CASES[:2], ids=lambda case: case.name)
def test_selecting_a_position_of_each_record_is_one_operation(case, tmp_path):
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
def test_convolutions_match_onnx_runtime(tmp_path_factory, data):
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
def test_slices_match_onnx_runtime(tmp_path_factory, data):
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
