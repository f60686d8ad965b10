"""Each operator of an ONNX file computes what ONNX Runtime computes."""

import numpy as np
import pytest

import seqloom as sl
from onnx_cases import SINGLE
from onnx_graphs import reference, save

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def outputs(case, path, backend="numpy"):
    """What the module makes of a case, and what ONNX Runtime does."""
    options = {"weights": case.weights, "opset": case.opset, "outputs": case.outputs}
    file = save(path / "case.onnx", case.nodes, case.inputs, **options)
    net = sl.models.from_onnx(file, backend=backend)
    ours = net(*(it for it in case.inputs.values()))
    return (ours if isinstance(ours, tuple) else (ours,)), reference(file, case.inputs)


@pytest.mark.parametrize("case", SINGLE, ids=lambda case: case.name)
def test_an_operator_computes_what_onnx_runtime_computes(case, tmp_path):
    ours, theirs = outputs(case, tmp_path)
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        assert one.numpy().dtype == other.dtype
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-5, atol=2e-5)
