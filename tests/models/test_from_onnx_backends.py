"""ONNX files have equal values and gradients on all backends, also in compiled steps."""

import numpy as np
import pytest

import seqloom as sl
from onnx_cases import EDGE_CASES, SINGLE_OPERATOR_CASES
from onnx_graphs import floats, save

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("jax")
from torch_exports import (  # noqa: E402 - where torch is there
    NETWORKS_AND_INPUTS,
    export,
    export_by_tracing,
)

# A selection of cases without 64-bit types, which JAX disables by default.
SAMPLED_CASES = [
    case for case in SINGLE_OPERATOR_CASES[::7] if "float64" not in case.name
] + [case for case in EDGE_CASES if "int64" not in case.name]


@pytest.mark.sample(3)
@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("case", SAMPLED_CASES, ids=lambda case: case.name)
def test_each_backend_matches_numpy(tmp_path, case, backend):
    options = {"weights": case.weights, "opset": case.opset, "outputs": case.outputs}
    file = save(tmp_path / "case.onnx", case.nodes, case.inputs, **options)
    found = []
    for name in ("numpy", backend):
        net = sl.models.from_onnx(file, backend=name)
        inputs = [sl.tensor.backend(name).tensor(it) for it in case.inputs.values()]
        outputs = net(*inputs)
        found.append(outputs if isinstance(outputs, tuple) else (outputs,))
    for ours, theirs in zip(*found, strict=True):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-5, atol=2e-5)


@pytest.fixture(params=NETWORKS_AND_INPUTS)
def exported(request, tmp_path):
    """Return a PyTorch network, the ONNX file that PyTorch exports and an input."""
    return export(request.param, tmp_path)


BACKEND_NAMES = ["numpy", "torch", pytest.param("jax", marks=pytest.mark.soak)]


@pytest.mark.parametrize("backend", BACKEND_NAMES)
def test_an_exported_pytorch_network_gives_its_outputs(exported, backend):
    net, path, x = exported
    ours = sl.models.from_onnx(path, backend=backend)
    theirs = net(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(x).numpy(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", BACKEND_NAMES)
def test_onnx_gradients_match_pytorch(exported, backend):
    net, path, x = exported
    ours = sl.models.from_onnx(path, backend=backend)
    y = net(torch.from_numpy(x))
    chosen = floats(*y.shape, seed=5)
    (y * torch.from_numpy(chosen)).sum().backward()
    tensor = ours.backend.tensor

    def loss(net):
        return (net(x) * tensor(chosen)).sum()

    _, gradients = sl.nn.value_and_grad(loss)(ours)
    norms = {name: it.grad.norm().item() for name, it in net.named_parameters()}
    total = sum(norm**2 for norm in norms.values())
    assert gradients.norm() ** 2 == pytest.approx(total, rel=1e-3)
    named = {path: gradients.wrt(it).numpy() for path, it in ours.parameters()}
    theirs = dict(net.named_parameters())
    for name in named.keys() & theirs.keys():
        np.testing.assert_allclose(named[name], theirs[name].grad, rtol=1e-3, atol=1e-5)


def test_a_compiled_onnx_step_gives_the_eager_result(exported):
    _, path, x = exported
    ours = sl.models.from_onnx(path)
    step = sl.tensor.compile(lambda net, x: net(x))
    inputs = ours.backend.tensor(x)
    for _ in range(2):
        found = step(ours, inputs).numpy()
        np.testing.assert_allclose(found, ours(inputs).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.soak
@pytest.mark.parametrize("name", NETWORKS_AND_INPUTS)
def test_a_file_of_the_newer_pytorch_exporter_gives_equal_outputs(name, tmp_path):
    pytest.importorskip("onnxscript")
    net, path, x = export_by_tracing(name, tmp_path)
    theirs = net(torch.from_numpy(x)).detach().numpy()
    found = sl.models.from_onnx(path)(x).numpy()
    np.testing.assert_allclose(found, theirs, rtol=1e-4, atol=1e-5)
