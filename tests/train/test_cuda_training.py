"""Training on a CUDA device: what is learned, what is kept, and where it is used."""

from typing import Any

import numpy as np
import pytest

import seqloom as sl

torch: Any = pytest.importorskip("torch")

pytestmark = [
    pytest.mark.usefixtures("without_pictures"),
    pytest.mark.skipif(
        not torch.cuda.is_available(),
        reason="needs a CUDA device, and this machine has none",
    ),
]

CARD = "torch:cuda"


@pytest.fixture(autouse=True)
def _whole_numbers(monkeypatch):
    """Lets cuDNN compute in whole float32, as a processor does."""
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)


class Stop(sl.train.Progress):
    """Presses Ctrl-C after the second epoch."""

    def on_epoch(self, row):
        if row["epoch"] == 2:
            raise KeyboardInterrupt


def train(model, data, valid=None, **options):
    every: dict[str, Any] = {"epochs": 4, "batch_size": 16, "lr": 1e-2, "report": False}
    return sl.train.fit(model, data, valid, **every | options)


def losses(run):
    return [row["train_loss"] for row in run.history]


TASKS = {"classes": "classify", "gc": "regress", "motifs": "multilabel"}


@pytest.mark.parametrize("is_compiled", [False, True], ids=["eager", "compiled"])
@pytest.mark.parametrize("labels", TASKS)
def test_losses_fall_as_on_the_processor(toy, labels, is_compiled):
    data = toy(labels=labels, task=TASKS[labels])
    outputs = 1 if labels == "gc" else 2
    config = sl.models.SequenceCNNConfig(4, outputs, widths=(8,), kernel_size=5)
    card, host = (
        train(config, data, data, backend=name, compile=is_compiled)
        for name in (CARD, "torch")
    )
    np.testing.assert_allclose(losses(card), losses(host), rtol=2e-3)


def test_a_model_from_a_card_scores_the_same_on_a_processor(toy, small, tmp_path):
    train(small, toy(), toy(30, name="valid"), backend=CARD, out=tmp_path / "run")
    records = toy(40, name="new", labels=None)
    found = {
        name: sl.infer.predict(sl.models.load(tmp_path / "run", backend=name), records)
        for name in (CARD, "torch", "numpy")
    }
    for scores in found.values():
        np.testing.assert_allclose(
            scores.to_numpy(), found["numpy"].to_numpy(), rtol=1e-4, atol=1e-5
        )


def test_a_run_on_a_card_goes_on_to_what_an_unbroken_one_learns(toy, small, tmp_path):
    valid = toy(30, name="valid")
    common: dict[str, Any] = {"backend": CARD, "out": tmp_path / "run"}
    with pytest.raises(KeyboardInterrupt):
        train(small, toy(), valid, progress=Stop(), **common)
    on = train(small, toy(), valid, resume=True, **common)
    whole = train(small, toy(), valid, backend=CARD)
    np.testing.assert_allclose(losses(on), losses(whole), rtol=1e-4)


def test_a_network_of_pytorch_is_trained_on_a_card(toy):
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv1d(4, 8, 5), torch.nn.ReLU(), torch.nn.AdaptiveMaxPool1d(1),
        torch.nn.Flatten(), torch.nn.Linear(8, 2),
    )  # fmt: skip
    run = train(network, toy(), backend=CARD, epochs=15)
    assert losses(run)[-1] < losses(run)[0]
    assert next(network.parameters()).device.type == "cuda"


def test_genotypes_are_learned_on_a_card_as_on_a_processor(cohort):
    data = cohort()
    config = sl.models.GenotypeMLPConfig.for_data(data)
    card, host = (train(config, data, data, backend=name) for name in (CARD, "torch"))
    np.testing.assert_allclose(losses(card), losses(host), rtol=2e-3)


def test_bfloat16_on_a_card_learns_too(toy, small):
    run = train(small, toy(), backend=CARD, epochs=15, precision="bfloat16")
    assert losses(run)[-1] < 0.6 * losses(run)[0]


def test_the_monitor_reads_a_card(toy, small):
    with sl.infer.GPUMonitor(interval=0.05) as monitor:
        train(small, toy(2000), backend=CARD, epochs=5)
    cards = monitor.get_summary()["gpus"]
    assert torch.cuda.get_device_name() in str(cards)
