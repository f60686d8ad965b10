"""Products in half precision on a GPU: dtypes, gradients and loss scaling."""

from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from fit_arguments import as_arguments
from seqloom.nn import functional as F

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device
half = pytest.mark.parametrize("dtype", ["bfloat16", "float16"])


class Network(sl.nn.Module):
    """Network with a convolution, a normalisation and a linear layer."""

    conv: sl.nn.Conv1d
    norm: sl.nn.BatchNorm1d
    head: sl.nn.Linear

    def __init__(self):
        self.conv = sl.nn.Conv1d(4, 8, 5, padding=2)
        self.norm = sl.nn.BatchNorm1d(8)
        self.head = sl.nn.Linear(8, 3)

    def logits(self, inputs):
        """Return the logits of three classes."""
        return self.head(F.relu(self.norm(self.conv(inputs))).mean(axis=2))


def loss_of(network, x, labels, dtype):
    with sl.tensor.autocast(dtype, allow_slow=True):
        return F.cross_entropy(network.logits(x), labels)


def rows(count=60):
    x = np.random.default_rng(0).normal(size=(count, 4, 20)).astype("float32")
    return {"inputs": x, "label": x[:, :3, :].mean(axis=2).argmax(axis=1)}


@cuda_device.in_both_libraries
@half
def test_half_precision_gradients_are_close_to_float32_on_numpy(name, dtype):
    found, expected = (
        gradients(backend, kind)
        for backend, kind in ((cuda_device.backend(name), dtype), ("numpy", "float32"))
    )
    for path, values in found.items():
        np.testing.assert_allclose(values, expected[path], atol=0.03, err_msg=path)


def gradients(backend, dtype):
    """Return the loss and the gradient of each parameter."""
    network, batch = Network().bind(backend, 0), rows(6)
    x, labels = (network.backend.tensor(values) for values in batch.values())
    loss, grads = sl.nn.value_and_grad(loss_of)(network, x, labels, dtype)
    assert loss.dtype.name == "float32"
    found = {path: grads.wrt(param) for path, param in network.parameters()}
    assert {it.dtype.name for it in found.values()} == {"float32"}
    return {path: it.numpy() for path, it in found.items()} | {"loss": loss.numpy()}


@cuda_device.in_both_libraries
@half
def test_products_on_a_device_have_the_autocast_type(name, dtype):
    x = cuda_device.backend(name).tensor(np.ones((2, 3), "float32"))
    with sl.tensor.autocast(dtype, allow_slow=True):
        product = x @ x.T
        assert (product.dtype.name, product.sum().dtype.name) == (dtype, "float32")


@half
def test_autocast_types_on_this_device_equal_those_of_torch(dtype):
    kind = getattr(torch, dtype)
    x, weight = (
        torch.ones(shape, device=cuda_device.DEVICE_NAME)
        for shape in ((2, 4, 9), (3, 4, 3))
    )
    cases: dict[str, Any] = {
        "conv1d": (torch.conv1d, F.conv1d, (x, weight)),
        "matmul": (torch.matmul, lambda a, b: a @ b, (x, x.mT)),
        "relu of halves": (torch.relu, F.relu, (x.to(kind),)),
        "sum of both": (torch.add, lambda a, b: a + b, (x, x.to(kind))),
    }
    if cuda_device.DEVICE_NAME == "cuda":  # on CPUs, PyTorch does not convert softmax
        softmax = torch.nn.functional.softmax
        cases["softmax"] = (lambda a: softmax(a, 1), lambda a: F.softmax(a, 1), (x.half(),))
    make = sl.tensor.backend(cuda_device.TORCH).tensor
    for name, (theirs, ours, args) in cases.items():
        with torch.autocast(cuda_device.DEVICE_NAME, kind):
            expected = theirs(*args).dtype
        with sl.tensor.autocast(dtype, allow_slow=True):
            found = ours(*map(make, args)).dtype.name
        assert f"torch.{found}" == str(expected), name


def train(data, name, precision, **options):
    network = Network().bind(cuda_device.backend(name), 0)
    given: dict[str, Any] = {"epochs": 3, "batch_size": 20, "loss": F.cross_entropy}
    given |= {"schedule": sl.optim.Constant(0.01), "progress": False, "report": False}
    with sl.tensor.autocast("float32", allow_slow=True):
        return sl.train.fit(
            network, data, **as_arguments(precision=precision, **given | options)
        )


@cuda_device.in_both_libraries
@half
def test_a_network_trains_in_half_precision_as_in_float32(name, dtype):
    found, expected = (
        [row["train_loss"] for row in train(rows(), name, precision).history]
        for precision in (dtype, "float32")
    )
    np.testing.assert_allclose(found, expected, rtol=0.03)


def steep_loss(output, labels):
    return F.cross_entropy(output, labels) * 100


def test_an_overflowing_gradient_lowers_the_loss_scale(tmp_path):
    options: dict[str, Any] = {"loss": steep_loss, "epochs": 1, "out": tmp_path / "run"}
    run = train(rows(), cuda_device.TORCH, "float16", **options)
    record = sl.record.load(tmp_path / "run/checkpoint/last.safetensors")
    assert record.metadata["others"]["loss_scale"]["loss_scale"] < 65536
    assert all(np.isfinite(values).all() for values in run.model.to_record().values())
