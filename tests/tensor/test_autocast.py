"""Dtypes, values and errors of products in half precision with `sl.tensor.autocast`."""

from typing import Any

import numpy as np
import pytest
import torch

import seqloom as sl
from seqloom.nn import functional as F
from seqloom.tensor._autocast import CONVERTED_OPERATIONS, _explain_slowdown_on_device

BACKEND_NAMES = ["numpy", "torch", pytest.param("jax", marks=pytest.mark.soak)]
BACKENDS_AND_COMPILATION = [
    ("numpy", False),
    ("numpy", True),
    ("torch", False),
    pytest.param("torch", True, marks=pytest.mark.soak),
    pytest.param("jax", False, marks=pytest.mark.soak),
    ("jax", True),
]


class Network(sl.nn.Module):
    """Network with a convolution, batch norm, a mean, layer norm and a linear layer."""

    conv: sl.nn.Conv1d
    norm: sl.nn.BatchNorm1d
    head: sl.nn.Linear

    def __init__(self):
        self.conv = sl.nn.Conv1d(4, 8, 5, padding=2)
        self.norm = sl.nn.BatchNorm1d(8)
        self.head = sl.nn.Linear(8, 3)

    def __call__(self, x, seen=None):
        """Return logits, and append the dtype of each layer's result to `seen`."""
        conv = self.conv(x)
        norm = self.norm(conv)
        mixed = F.relu(conv) + F.relu(norm)
        mean = mixed.mean(axis=2)
        head = self.head(mean)
        parts = {"conv": conv, "relu": F.relu(conv), "mixed": mixed, "head": head}
        parts |= {"norm": norm, "mean": mean, "softmax": F.softmax(head, 1)}
        parts |= {"product": head @ head.T, "sum of halves": head + head}
        if seen is not None:
            seen.update({name: part.dtype.name for name, part in parts.items()})
        return head


class TorchNetwork(torch.nn.Module):
    """PyTorch implementation of `Network`."""

    def __init__(self, network):
        super().__init__()
        self.conv = torch.nn.Conv1d(4, 8, 5, padding=2)
        self.norm = torch.nn.BatchNorm1d(8)
        self.head = torch.nn.Linear(8, 3)
        state = {path: torch.tensor(x) for path, x in network.state_dict().items()}
        self.load_state_dict(state)

    def forward(self, x):
        conv = self.conv(x)
        norm = self.norm(
            conv.float()
        )  # PyTorch's autocast computes norms in float32 only on CUDA
        return self.head((conv.relu() + norm.relu()).float().mean(2))


def loss_of(network, x, labels, seen=None, dtype="bfloat16"):
    with sl.tensor.autocast(dtype, allow_slow=True):
        return F.cross_entropy(network(x, seen), labels)


def batch(backend):
    x = np.random.default_rng(0).normal(size=(6, 4, 20)).astype("float32")
    make = sl.tensor.backend(backend).tensor
    return make(x), make(np.arange(6) % 3)


@pytest.mark.parametrize("backend", BACKEND_NAMES)
def test_autocast_computes_products_in_half_precision_and_sums_in_float32(backend):
    seen = {}
    loss = loss_of(Network().bind(backend, 0), *batch(backend), seen)
    halves = {"conv", "relu", "head", "product", "sum of halves"}
    assert {name for name, dtype in seen.items() if dtype == "bfloat16"} == halves
    assert {dtype for name, dtype in seen.items() if name not in halves} == {"float32"}
    assert loss.dtype.name == "float32"


@pytest.mark.parametrize(("backend", "compiled"), BACKENDS_AND_COMPILATION)
def test_autocast_loss_and_gradients_equal_torch(backend, compiled):
    network, (x, labels) = Network().bind(backend, 0), batch(backend)
    twin = TorchNetwork(network)
    with torch.autocast("cpu", torch.bfloat16):
        scores = twin(torch.tensor(x.numpy()))
    expected = torch.nn.functional.cross_entropy(
        scores.float(), torch.tensor(labels.numpy()).long()
    )
    expected.backward()
    step = sl.nn.value_and_grad(loss_of)
    loss, grads = (sl.tensor.compile(step) if compiled else step)(network, x, labels)
    assert loss.item() == pytest.approx(expected.item(), abs=0.01)
    for (path, param), theirs in zip(network.parameters(), twin.parameters(), strict=True):
        found = grads.wrt(param)
        assert found.dtype.name == "float32", path
        assert theirs.grad is not None
        np.testing.assert_allclose(
            found.numpy(), theirs.grad.numpy(), atol=0.02, err_msg=path
        )


def test_autocast_types_equal_those_of_torch():
    x, weight = torch.ones(2, 4, 9), torch.ones(3, 4, 3)
    ours = sl.tensor.backend("torch")
    cases: dict[str, Any] = {
        "conv1d": (torch.conv1d, F.conv1d, (x, weight)),
        "linear": (torch.nn.functional.linear, F.linear, (x, torch.ones(5, 9))),
        "matmul": (torch.matmul, lambda a, b: a @ b, (x, x.mT)),
        "relu": (torch.relu, F.relu, (x,)),
        "relu of halves": (torch.relu, F.relu, (x.bfloat16(),)),
        "sum of both": (torch.add, lambda a, b: a + b, (x, x.bfloat16())),
    }
    for name, (theirs, function, args) in cases.items():
        with torch.autocast("cpu", torch.bfloat16):
            expected = theirs(*args).dtype
        with sl.tensor.autocast("bfloat16", allow_slow=True):
            found = function(*map(ours.tensor, args)).dtype.name
        assert f"torch.{found}" == str(expected), name


# Operations in PyTorch's documentation of CUDA autocast that seqloom also has.
HALF_PRECISION_FUNCTIONS = (
    "conv1d conv2d conv_transpose1d conv_transpose2d einsum linear matmul vecdot"
)
FLOAT32_FUNCTIONS = """
    acos asin cosh cross_entropy cumulative_prod cumulative_sum exp expm1 layer_norm log
    log10 log1p log2 log_softmax logsumexp pow prod reciprocal rms_norm rsqrt sinh softmax
    softplus sum tan
"""


@pytest.mark.parametrize(
    ("names", "is_half"), [(HALF_PRECISION_FUNCTIONS, True), (FLOAT32_FUNCTIONS, False)]
)
def test_the_autocast_lists_equal_those_of_torch_for_cuda(names, is_half):
    assert {CONVERTED_OPERATIONS.get(name) for name in names.split()} == {is_half}


@pytest.mark.parametrize("backend", BACKEND_NAMES)
@pytest.mark.parametrize("tracked", [False, True])
def test_a_power_of_half_precision_does_not_overflow(backend, tracked):
    x = sl.tensor.backend(backend).tensor([300.0, 2.0]).astype("float16")
    two = sl.tensor.backend(backend).tensor([2.0, 2.0]).astype("float16")

    def powers(x):
        with sl.tensor.autocast("float16", allow_slow=True):
            return x**2, x**two, 2 ** (x / 10), x.mean()

    *found, mean = powers(x)
    if tracked:
        gradient = sl.tensor.grad(lambda x: powers(x)[0].sum())(x)
        np.testing.assert_array_equal(gradient.numpy(), [600.0, 4.0])
    assert {out.dtype.name for out in (*found, mean)} == {"float32"}
    np.testing.assert_allclose(found[0].numpy(), [90000.0, 4.0])
    np.testing.assert_allclose(found[1].numpy(), [90000.0, 4.0])
    np.testing.assert_allclose(found[2].numpy()[0], 2.0**30)


@pytest.mark.parametrize(("backend", "compiled"), BACKENDS_AND_COMPILATION)
@pytest.mark.parametrize("kind", [sl.nn.GRU, sl.nn.LSTM])
def test_recurrent_layers_compute_in_half_precision(backend, compiled, kind):
    layer = kind(3, 4, bidirectional=True).bind(backend, 0)
    x = layer.backend.tensor(
        np.random.default_rng(1).normal(size=(2, 7, 3)).astype("float32")
    )

    def loss(layer, x, dtype):
        with sl.tensor.autocast(dtype, allow_slow=True):
            out = layer(x)
            out = out[0] if isinstance(out, tuple) else out
            return (out * out).mean(), out

    step = sl.nn.value_and_grad(loss)
    step = sl.tensor.compile(step) if compiled else step
    (full, single, exact), (half, out, near) = (
        step(layer, x, dtype) for dtype in ("float32", "bfloat16")
    )
    assert (single.dtype.name, out.dtype.name) == ("float32", "bfloat16")
    assert half.item() == pytest.approx(full.item(), rel=0.03)
    for path, param in layer.parameters():
        expected, got = exact.wrt(param).numpy(), near.wrt(param)
        assert got.dtype.name == "float32", path
        np.testing.assert_allclose(
            got.numpy(), expected, atol=0.03 * np.abs(expected).max(), err_msg=path
        )


def test_a_compiled_step_has_one_program_per_autocast_type():
    network, (x, _) = Network().bind("numpy", 0).eval(), batch("numpy")
    step = sl.tensor.compile(lambda network, x: network(x))
    found = []
    for dtype in ("bfloat16", "float32", "bfloat16"):
        with sl.tensor.autocast(dtype, allow_slow=True):
            found.append(step(network, x).dtype.name)
    assert found == ["bfloat16", "float32", "bfloat16"]
    assert step(network, x).dtype.name == "float32"


def test_autocast_does_not_convert_float64():
    x = sl.tensor.backend("numpy").tensor(np.ones((2, 2)))
    with sl.tensor.autocast("bfloat16", allow_slow=True):
        assert (x @ x).dtype == np.float64


def test_a_checkpoint_recomputes_in_the_type_of_its_autocast_block():
    layer = sl.nn.Linear(3, 2).bind("numpy", 0)
    x = layer.backend.tensor(np.full((1, 3), 1 / 3, "float32"))

    def loss(layer, x, block):
        with sl.tensor.autocast("bfloat16", allow_slow=True):
            out = block(layer)(x)
        return (out * out).astype("float32").sum()

    plain = sl.nn.value_and_grad(loss)(layer, x, lambda layer: layer)[1]
    again = sl.nn.value_and_grad(loss)(layer, x, sl.tensor.checkpoint)[1]
    np.testing.assert_array_equal(
        plain.wrt(layer.weight).numpy(), again.wrt(layer.weight).numpy()
    )


@pytest.mark.parametrize("backend", ["numpy", "jax"])
def test_a_half_precision_product_that_would_be_slower_is_an_error(backend):
    x = sl.tensor.backend(backend).tensor([[1.0]])
    with (
        sl.tensor.autocast("bfloat16"),
        pytest.raises(sl.errors.BackendError, match="allow_slow=True"),
    ):
        _ = x @ x


def test_a_half_precision_product_on_numpy_is_an_error_with_advice():
    x = sl.tensor.backend("numpy").tensor([[1.0]])
    with (
        sl.tensor.autocast("bfloat16"),
        pytest.raises(sl.errors.BackendError) as caught,
    ):
        _ = x @ x
    assert str(caught.value) == (
        'autocast("bfloat16"): NumPy has no products of bfloat16, unlike the backend '
        '"torch" (--backend torch), so it would be slower than float32. Remove the '
        "autocast block, use int8 layers for inference "
        "(sl.nn.quantize_int8, on NumPy and torch), or pass allow_slow=True to try it"
    )


def test_the_error_names_a_processor_without_half_precision_instructions(monkeypatch):
    monkeypatch.setattr("seqloom.tensor._autocast._read_cpu_flags", lambda: {"avx2"})
    find: Any = _explain_slowdown_on_device.__wrapped__
    assert "no instructions for float16" in find("torch", "cpu", "float16")
    assert find("torch", "cuda:0", "float16") is None
    monkeypatch.setattr("seqloom.tensor._autocast._read_cpu_flags", lambda: {"avx512_bf16"})
    assert find("torch", "cpu", "bfloat16") is None


def test_an_unsupported_autocast_type_is_an_error():
    with (
        pytest.raises(sl.errors.ArgumentError, match='"bfloat16", "float16"'),
        sl.tensor.autocast("int8"),
    ):
        pass
