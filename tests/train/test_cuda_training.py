"""Tests of training on a GPU: results, checkpoints, and use of the model on a CPU."""

from typing import Any

import numpy as np
import pytest

import cuda_device
import seqloom as sl
from fit_arguments import as_arguments

torch: Any = pytest.importorskip("torch")

pytestmark = cuda_device.on_device

TORCH_DEVICE = cuda_device.TORCH


@pytest.fixture(autouse=True)
def _whole_numbers():
    """Compute float32 products on a GPU without TF32."""
    with (
        cuda_device.whole_float32(cuda_device.TORCH),
        cuda_device.whole_float32(cuda_device.JAX),
    ):
        yield


class Stop(sl.train.Progress):
    """A callback that simulates Ctrl-C after the second epoch."""

    def on_epoch(self, row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 4, "batch_size": 16, "lr": 1e-2, "report": False}
    return sl.train.fit(model, data, valid, **as_arguments(**every | options))


def losses(run):
    return [row["train_loss"] for row in run.history]


TASK_OF_LABELS = {"classes": "classify", "gc": "regress", "motifs": "multilabel"}


@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("labels", TASK_OF_LABELS)
def test_losses_on_a_gpu_equal_those_on_a_cpu(toy, labels, is_compiled):
    data = toy(labels=labels, task=TASK_OF_LABELS[labels])
    outputs = 1 if labels == "gc" else 2
    config = sl.models.SequenceCNNConfig(4, outputs, widths=(8,), kernel_size=5)
    found, expected = (
        train(config, data, data, backend=name, compile=is_compiled)
        for name in (TORCH_DEVICE, "torch")
    )
    np.testing.assert_allclose(losses(found), losses(expected), rtol=2e-3)


def test_a_model_trained_on_a_gpu_has_the_same_scores_on_a_cpu(toy, small, tmp_path):
    train(small, toy(), toy(30, name="valid"), backend=TORCH_DEVICE, out=tmp_path / "run")
    records = toy(40, name="new", labels=None)
    found = {
        name: sl.infer.predict(sl.models.load(tmp_path / "run", backend=name), records)
        for name in (TORCH_DEVICE, "torch", "numpy")
    }
    for scores in found.values():
        np.testing.assert_allclose(
            scores.to_numpy(), found["numpy"].to_numpy(), rtol=1e-4, atol=1e-5
        )


def test_a_resumed_run_on_a_gpu_equals_an_uninterrupted_run(toy, small, tmp_path):
    valid = toy(30, name="valid")
    common: dict[str, Any] = {"backend": TORCH_DEVICE, "out": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(small, toy(), valid, progress=Stop(), **common)
    on = train(small, toy(), valid, resume=True, **common)
    whole = train(small, toy(), valid, backend=TORCH_DEVICE)
    np.testing.assert_allclose(losses(on), losses(whole), rtol=1e-4)


def test_a_pytorch_network_is_trained_on_a_gpu(toy, tmp_path):
    valid = toy(30, name="valid")
    network = plain_network()
    run = train(network, toy(), valid, backend=TORCH_DEVICE, epochs=8, out=tmp_path / "run")
    assert losses(run)[-1] < losses(run)[0]
    assert next(network.parameters()).device.type == cuda_device.DEVICE_NAME
    scores = sl.infer.predict(run.trained, valid).to_numpy()
    x = torch.from_numpy(np.stack([valid[i]["inputs"] for i in range(len(valid))]))
    with torch.no_grad():
        expected = network.cpu()(x).softmax(1).numpy()
    np.testing.assert_allclose(scores, expected, rtol=1e-4, atol=1e-5)


def test_a_custom_step_receives_tensors_on_the_gpu(toy):
    def step(module, batch, key):
        assert batch["inputs"].device.type == cuda_device.DEVICE_NAME
        outputs = module(batch["inputs"])
        return torch.nn.functional.cross_entropy(outputs, batch["label"]), outputs

    run = train(
        plain_network(), toy(), toy(30, name="valid"), backend=TORCH_DEVICE, step=step
    )
    assert losses(run)[-1] < losses(run)[0]


def plain_network():
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv1d(4, 8, 5),
        torch.nn.ReLU(),
        torch.nn.AdaptiveMaxPool1d(1),
        torch.nn.Flatten(),
        torch.nn.Linear(8, 2),
    )


def test_adapters_trained_on_a_gpu_have_the_same_scores_on_a_cpu(tmp_path):
    sl.models.ESM2Config(layers=1, width=32, heads=2).init("numpy", sl.Key(3)).save(
        tmp_path / "esm2"
    )
    rng = np.random.default_rng(0)
    letters = {f"p{n}": "".join(rng.choice([*"ACDEFGHIKL"], 12)) for n in range(60)}
    text = "".join(f">{name}\n{it}\n" for name, it in letters.items())
    (tmp_path / "p.fa").write_text(text)
    labels = {name: "yes" if "A" in it else "no" for name, it in letters.items()}
    encoder = sl.encode.Tokens("esm2")
    data = sl.data.SequenceDataset(tmp_path / "p.fa", labels=labels, encoder=encoder)
    config = sl.models.ESM2LoRAConfig.for_data(data, tmp_path / "esm2", rank=2)
    run = train(config, data, backend=TORCH_DEVICE, out=tmp_path / "run")
    assert losses(run)[-1] < losses(run)[0]
    found = sl.infer.predict(run.trained, data).to_numpy()
    host = sl.infer.predict(sl.models.load(tmp_path / "run"), data).to_numpy()
    np.testing.assert_allclose(found, host, rtol=1e-3, atol=1e-4)


@cuda_device.on_cuda
def test_batches_in_pinned_memory_are_copied_to_the_gpu(toy):
    loader = sl.data.DataLoader(toy(), batch_size=16, output="torch", pin_memory=True)
    for batch in loader:
        assert batch["inputs"].is_pinned()
        there = batch["inputs"].to("cuda", non_blocking=True)
        assert torch.equal(there.cpu(), batch["inputs"])


def test_training_on_genotypes_is_the_same_on_gpu_and_cpu(cohort):
    data = cohort()
    config = sl.models.GenotypeMLPConfig.for_data(data)
    found, host = (
        train(config, data, data, backend=name) for name in (TORCH_DEVICE, "torch")
    )
    np.testing.assert_allclose(losses(found), losses(host), rtol=2e-3)


def test_training_in_bfloat16_on_a_gpu_lowers_the_loss(toy, small):
    with sl.tensor.autocast("float32", allow_slow=True):  # for bfloat16 on a CPU
        run = train(small, toy(), backend=TORCH_DEVICE, epochs=15, precision="bfloat16")
    assert losses(run)[-1] < 0.6 * losses(run)[0]


def test_losses_on_a_jax_gpu_equal_those_on_a_cpu(toy, small):
    cuda_device.backend(cuda_device.JAX)
    found, expected = (
        train(small, toy(), backend=name, epochs=2) for name in (cuda_device.JAX, "numpy")
    )
    np.testing.assert_allclose(losses(found), losses(expected), rtol=2e-3)


@cuda_device.on_cuda
def test_a_training_step_does_not_synchronise_with_the_gpu():
    network = sl.nn.Linear(8, 3).bind(TORCH_DEVICE, 0)
    optimizer, b = sl.optim.AdamW(), network.backend
    x, labels = b.tensor(np.ones((16, 8), "float32")), b.tensor(np.arange(16) % 3)

    def loss_of(network, x, labels):
        return sl.nn.functional.cross_entropy(network(x), labels)

    def step(network):
        loss, grads = sl.nn.value_and_grad(loss_of)(network, x, labels)
        return optimizer.step(1e-2, network, grads), loss

    network, first = step(network)
    last = first
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(3):
            network, last = step(network)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert last.item() < first.item()
