"""A file of ONNX on each backend: numbers, gradients against torch's, compiled steps."""

import io

import numpy as np
import pytest

import seqloom as sl
from onnx_cases import SINGLE
from onnx_graphs import floats, save

pytest.importorskip("onnx")
torch = pytest.importorskip("torch")
pytest.importorskip("jax")

# Some of each kind; integers of 64 bits and float64 are not those of JAX.
SAMPLE = [case for case in SINGLE[::7] if "float64" not in case.name]


@pytest.mark.parametrize("backend", ["torch", "jax"])
@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.name)
def test_a_backend_computes_what_numpy_computes(tmp_path, case, backend):
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


class Convolutions(torch.nn.Module):
    """Residual convolutions with normalisations and a pool."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Conv1d(4, 6, 5, padding="same")
        self.norm = torch.nn.BatchNorm1d(6)
        # Torch's exporter would write equal arrays once.
        for number, part in enumerate(self.norm.state_dict().values()):
            if part.ndim:
                part.copy_(torch.rand(6) + number)
        self.second = torch.nn.Conv1d(6, 6, 3, padding=2, dilation=2)
        self.head = torch.nn.Linear(6, 3)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        x = x + torch.nn.functional.gelu(self.second(x))
        return self.head(torch.nn.functional.max_pool1d(x, 2).mean(2))


class States(torch.nn.Module):
    """A recurrent network that reads the last letter of each record."""

    def __init__(self, kind):
        super().__init__()
        self.layer = kind(4, 5, batch_first=True, bidirectional=True)
        self.head = torch.nn.Linear(10, 2)

    def forward(self, x):
        states, _ = self.layer(x)
        ends = x.size(1) - 1 - x.sum(2).flip(1).argmax(1)
        return self.head(states[torch.arange(x.size(0)), ends])


class Attention(torch.nn.Module):
    """One head of attention over embedded tokens, written out."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Embedding(7, 8)
        self.places = torch.nn.Parameter(torch.randn(30, 8))
        self.norm = torch.nn.LayerNorm(8)
        self.mix = torch.nn.Linear(8, 24)
        self.head = torch.nn.Linear(8, 2)

    def forward(self, tokens):
        x = self.table(tokens) + self.places[: tokens.size(1)]
        q, k, v = self.mix(self.norm(x)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(1, 2) / 8**0.5, dim=-1)
        return self.head((x + weights @ v).mean(1))


LETTERS = np.eye(4, dtype="float32")[np.random.default_rng(3).integers(0, 4, (3, 12))]
LETTERS[0, 9:] = LETTERS[2, 4:] = 0
NETWORKS = {
    "convolutions": (Convolutions, LETTERS.transpose(0, 2, 1).copy()),
    "LSTM": (lambda: States(torch.nn.LSTM), LETTERS),
    "GRU": (lambda: States(torch.nn.GRU), LETTERS),
    "RNN": (lambda: States(torch.nn.RNN), LETTERS),
    "attention": (Attention, np.arange(24).reshape(2, 12) % 7),
}


@pytest.fixture(params=NETWORKS)
def exported(request, tmp_path):
    """A network of torch, the file that torch writes of it, and an input."""
    make, x = NETWORKS[request.param]
    torch.manual_seed(0)
    net = make().eval()
    sizes = {"x": {0: "records", 1: "a", 2: "b"}}
    sizes = {"x": dict(list(sizes["x"].items())[: x.ndim])}
    stream = io.BytesIO()
    torch.onnx.export(
        net,
        (torch.from_numpy(x),),
        stream,
        input_names=["x"],
        dynamic_axes=sizes,
        opset_version=14,
        dynamo=False,
        # Not folded, a batch norm stays one, with weights of its own.
        training=torch.onnx.TrainingMode.PRESERVE,
        do_constant_folding=request.param != "convolutions",
    )
    path = tmp_path / "net.onnx"
    path.write_bytes(stream.getvalue())
    return net, path, x


pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's exporter


BACKENDS = ["numpy", "torch", pytest.param("jax", marks=pytest.mark.soak)]


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_network_of_torch_gives_torchs_outputs(exported, backend):
    net, path, x = exported
    ours = sl.models.from_onnx(path, backend=backend)
    theirs = net(torch.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(ours(x).numpy(), theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_gradients_are_torchs(exported, backend):
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


def test_a_compiled_step_gives_the_same(exported):
    _, path, x = exported
    ours = sl.models.from_onnx(path)
    step = sl.tensor.compile(lambda net, x: net(x))
    inputs = ours.backend.tensor(x)
    for _ in range(2):
        found = step(ours, inputs).numpy()
        np.testing.assert_allclose(found, ours(inputs).numpy(), rtol=1e-5, atol=1e-6)
